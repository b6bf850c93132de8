//! The control plane's decisions, reached through one [`Plane::step`].
//!
//! The fixture reads a request's head, asks [`body_rule`] how much of the body to read, and hands the whole over as
//! [`Input::Requested`]; it sends what [`Effect::Reply`] holds.

pub mod site;

use alloc::string::String;

use crate::{
    ids::{CallId, CorrelationId},
    step::Step,
    time::Now,
    wire::http::{Request, Response},
};

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

/// How the body of a request is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyRule {
    /// The longest body, in bytes, after inflating where that applies; one byte more makes it oversized.
    pub cap: usize,
    /// Whether a body announced as gzip is inflated.
    pub inflate: bool,
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

/// Tells from the head alone how the body is to be read; a request that the bearer gate refuses is not read at all.
pub fn body_rule(_settings: &Settings, _listener: Listener, _head: &Request) -> BodyRule {
    BodyRule { cap: 16 << 20, inflate: false }
}

/// Everything the control plane knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plane {}

impl Plane {
    /// Moves on one input.
    pub fn step(self, _settings: &Settings, _now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Requested { call, .. } => {
                Step::to(self).emit(Effect::Reply { call, response: Response::empty(500) })
            }
        }
    }
}
