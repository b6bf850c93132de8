//! The control plane's decisions, reached through one [`Plane::step`].
//!
//! The fixture reads a request's head, asks [`body_rule`] how much of the body to read, and hands the whole over as
//! [`Input::Requested`]; it carries out each [`Effect`], in order.

pub mod admit;
mod body;
pub mod capabilities;
pub mod captures;
mod control;
pub mod counters;
pub mod default_snapshot;
pub mod endpoint;
pub mod execution;
pub mod executions;
mod facts;
pub mod faults;
pub mod heartbeat;
pub mod ingest;
pub mod integrity;
pub mod journal;
pub mod manner;
pub mod nonce;
pub mod refusal;
pub mod register;
pub mod release;
pub mod reports;
pub mod rotation;
pub mod route;
pub mod secrets;
mod serve;
pub mod session;
pub mod site;
pub mod snapshot;
pub mod stream;
pub mod upload;

use crate::{
    ids::CallId,
    step::Step,
    time::{Mono, Now},
    wire::http::Response,
};

pub use body::{BodyRule, body_rule};
use capabilities::Capabilities;
use captures::Captures;
use counters::{Counter, Counters};
use endpoint::Endpoints;
use executions::Executions;
pub use facts::{Arrival, Drawn, Effect, Info, Input, KEEP_ALIVE, Listener, Settings};
use faults::Faults;
use heartbeat::Heartbeat;
use journal::Journal;
use nonce::Nonces;
use refusal::Denial;
use rotation::Rotation;
use secrets::Secrets;
use serve::{Asked, Order};
use session::Sessions;
use snapshot::Desired;
use stream::Stream;

/// Everything the control plane knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plane {
    capabilities: Capabilities,
    captures: Captures,
    counters: Counters,
    desired: Desired,
    endpoints: Endpoints,
    executions: Executions,
    faults: Faults,
    heartbeat: Heartbeat,
    journal: Journal,
    nonces: Nonces,
    rotation: Rotation,
    secrets: Secrets,
    sessions: Sessions,
    stream: Stream,
}

impl Plane {
    /// Moves on one input.
    pub fn step(self, settings: &Settings, now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Requested { call, arrival } => self.requested(settings, now, call, arrival),
            Input::Signed { call, signature } => self.signed(settings, now, call, &signature),
            Input::Left { call } => Step::to(self.left(now, call)),
            Input::Ticked => Step::to(self),
        }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        None
    }

    fn requested(
        self,
        settings: &Settings,
        now: Now,
        call: CallId,
        arrival: Arrival,
    ) -> Step<Self, Effect> {
        let path = arrival.request.path.clone();
        let (method, correlation) = (arrival.request.method, arrival.drawn.correlation);
        let answer = |answer: Result<Response, Denial>| {
            let response =
                answer.unwrap_or_else(|denial| denial.response(settings, &path, correlation));
            facts::headless(method, response)
        };
        let Step { state, effects } = self.ordered(settings, now, call, arrival);
        let effects = effects.into_iter().filter_map(|order| facts::effect(call, order, answer));
        Step::to(state).emit_all(effects)
    }

    /// The gate comes before routing: without a good bearer nothing else is looked at.
    fn ordered(
        mut self,
        settings: &Settings,
        now: Now,
        call: CallId,
        arrival: Arrival,
    ) -> Step<Self, Order> {
        let (listener, head) = (arrival.listener, &arrival.request);
        if let Err(refusal) = admit::admit(listener, &head.path, &head.headers) {
            self.counters.count(Counter::Unauthorized);
            return Step::to(self).emit(Order::Answer(Err(refusal.into())));
        }
        match route::route(listener, head.method, &head.path) {
            Ok(route) => self.serve(route, Asked::new(settings, now, call, arrival)),
            Err(miss) => Step::to(self).emit(Order::Answer(Err(miss.into()))),
        }
    }
}
