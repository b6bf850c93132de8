//! The agent's requests: route, headers, body, and the bearer once there is an identity.
//!
//! Specification: "Authentication" of the node agent, rule 5.

use alloc::{format, vec::Vec};

use super::facts::Settings;
use crate::wire::{
    call::Call,
    http::{Body, Headers, Request},
    identity::Identity,
    secret::ENVELOPE_MAX,
};

/// The `<env>` of the agent's bearer.
pub const BEARER_ENV: &str = "meshward";

/// The longest answer that lists what a mesh holds, in bytes.
const LIST_MAX: usize = 10 << 20;

/// The longest answer of any other kind, in bytes; it leaves room for the page of an error that a gateway sends.
const ANSWER_MAX: usize = 256 << 10;

/// How much of the answer to a call is kept, in bytes.
pub const fn answer_max(call: &Call) -> usize {
    match call {
        Call::Register | Call::State { .. } => LIST_MAX,
        Call::Secret { .. } => ENVELOPE_MAX,
        Call::Health
        | Call::Heartbeat { .. }
        | Call::RotateKeys
        | Call::Capabilities { .. }
        | Call::Endpoint { .. }
        | Call::Reachability { .. }
        | Call::Events { .. }
        | Call::Execution { .. }
        | Call::ExecOutput { .. }
        | Call::Session { .. }
        | Call::PutReport { .. }
        | Call::DeleteReport { .. }
        | Call::Ingest { .. }
        | Call::IntegrityViolations { .. }
        | Call::Local(_)
        | Call::Release { .. }
        | Call::OpenApi
        | Call::Test(_) => ANSWER_MAX,
    }
}

/// Builds the request of a call; a registration carries no `Authorization`.
pub fn request(
    settings: &Settings,
    call: &Call,
    body: Vec<u8>,
    identity: Option<&Identity>,
) -> Request {
    let mut headers = Headers::new()
        .with("accept", "application/json")
        .with("user-agent", &format!("meshward/{}", settings.binary_version));
    if !body.is_empty() {
        headers.push("content-type", "application/json");
    }
    if let Some(identity) = identity {
        headers.push(
            "authorization",
            &format!("Bearer {}", identity.credential().envelope(BEARER_ENV).expose()),
        );
    }
    Request {
        method: call.method(),
        path: call.path(),
        query: None,
        headers,
        body: Body::Whole(body),
    }
}
