//! The control plane's decisions, reached through one [`Plane::step`].
//!
//! The fixture reads a request's head, asks [`body_rule`] how much of the body to read, and hands the whole over as
//! [`Input::Requested`]; it sends what [`Effect::Reply`] holds.

pub mod admit;
mod body;
pub mod captures;
mod control;
pub mod counters;
pub mod default_snapshot;
pub mod execution;
pub mod executions;
pub mod heartbeat;
pub mod nonce;
pub mod refusal;
pub mod register;
pub mod rotation;
pub mod route;
mod serve;
pub mod site;
pub mod snapshot;
pub mod upload;

use alloc::string::{String, ToString as _};

use crate::{
    ids::{CallId, CorrelationId},
    step::Step,
    time::Now,
    wire::http::{Method, Request, Response},
};

pub use body::{BodyRule, body_rule};
use captures::Captures;
use counters::{Counter, Counters};
use executions::Executions;
use heartbeat::Heartbeat;
use nonce::Nonces;
use refusal::Denial;
use rotation::Rotation;
use snapshot::Desired;

/// What stays the same while a plane runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What stands before the code in a problem's `type`, without a slash at its end.
    pub problem_base_url: String,
    /// The prefix of the contract's own headers, such as `X-Service`.
    pub header_prefix: String,
    /// Base64 of the Ed25519 key that signs events, made at start.
    pub signing_public_key: String,
    /// The certificate of the TLS listener, as PEM.
    pub tls_certificate: String,
    pub info: Info,
}

/// What `GET /test/info` tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pub addr: String,
    pub tls_addr: String,
    pub pid: u32,
    pub version: String,
    pub started_at: String,
}

/// The listener a request came in by; each serves its own routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listener {
    #[default]
    Main,
    Tls,
}

/// A fact for the plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A request came, its body read by the [`BodyRule`] of its head.
    Requested { call: CallId, listener: Listener, request: Request, correlation: CorrelationId },
}

/// An order of the plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Reply { call: CallId, response: Response },
}

/// Everything the control plane knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plane {
    captures: Captures,
    counters: Counters,
    desired: Desired,
    executions: Executions,
    heartbeat: Heartbeat,
    nonces: Nonces,
    rotation: Rotation,
}

impl Plane {
    /// Moves on one input.
    pub fn step(self, settings: &Settings, now: Now, input: Input) -> Step<Self, Effect> {
        let Input::Requested { call, listener, request, correlation } = input;
        let path = request.path.clone();
        let method = request.method;
        let Step { state, effects } = self.answer(settings, now, (listener, request));
        let responses = effects.into_iter().map(|answer| {
            let mut response = match answer {
                Ok(response) => response,
                Err(denial) => denial.response(settings, &path, correlation),
            };
            if method == Method::Head {
                response.headers.push("content-length", &response.body.len().to_string());
                response.body.clear();
            }
            Effect::Reply { call, response }
        });
        Step::to(state).emit_all(responses)
    }

    /// The gate comes before routing: without a good bearer nothing else is looked at.
    fn answer(
        mut self,
        settings: &Settings,
        now: Now,
        (listener, request): (Listener, Request),
    ) -> Step<Self, Result<Response, Denial>> {
        if let Err(refusal) = admit::admit(listener, &request.path, &request.headers) {
            self.counters.count(Counter::Unauthorized);
            return Step::to(self).emit(Err(refusal.into()));
        }
        match route::route(listener, request.method, &request.path) {
            Ok(call) => self.serve(call, serve::Asked::new(settings, now, request)),
            Err(miss) => Step::to(self).emit(Err(miss.into())),
        }
    }
}
