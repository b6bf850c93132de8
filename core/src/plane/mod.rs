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
mod exchange;
pub mod execution;
pub mod executions;
mod facts;
pub mod faults;
pub mod heartbeat;
pub mod ingest;
pub mod integrity;
pub mod journal;
pub mod manner;
pub mod mask;
pub mod nonce;
pub mod origin;
pub mod pattern;
mod pulled;
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
pub mod verify;

use crate::{
    ids::CallId,
    step::Step,
    time::{Mono, Now},
};

pub use body::{BodyRule, body_rule};
use capabilities::Capabilities;
use captures::Captures;
use counters::Counters;
use endpoint::Endpoints;
use executions::Executions;
pub use facts::{Arrival, Documents, Drawn, Effect, Info, Input, KEEP_ALIVE, Listener, Settings};
use faults::Faults;
use heartbeat::Heartbeat;
use journal::Journal;
use nonce::Nonces;
use pulled::Pulled;
use rotation::Rotation;
use secrets::Secrets;
use session::Sessions;
use snapshot::Desired;
use stream::Stream;
use verify::Verifies;

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
    /// Dropped whenever the desired state or an execution moves.
    pulled: Option<Pulled>,
    rotation: Rotation,
    secrets: Secrets,
    sessions: Sessions,
    stream: Stream,
    verifies: Verifies,
}

impl Plane {
    /// Moves on one input.
    pub fn step(self, settings: &Settings, now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Requested { call, arrival } => self.requested(settings, now, call, arrival),
            Input::Refused { call, arrival, flaw } => {
                self.refused(settings, now, call, arrival, flaw)
            }
            Input::Signed { call, signature } => self.signed(settings, now, call, &signature),
            Input::Left { call } => Step::to(self.left(now, call)),
            Input::Ticked => self.ticked(settings, now),
        }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        self.verifies.wakeup()
    }

    fn left(mut self, now: Now, call: CallId) -> Self {
        self.verifies.forget(call);
        self.faults.left(call);
        Self { stream: self.stream.step(now, stream::Input::Left { call }).state, ..self }
    }

    fn ticked(mut self, settings: &Settings, now: Now) -> Step<Self, Effect> {
        let settled = self.settle(settings, now);
        Step::to(self).emit_all(settled)
    }
}
