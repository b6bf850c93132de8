//! The agent's requests: route, headers, body, and the bearer once there is an identity.
//!
//! Specification: "Authentication" of the node agent, rule 5.

use alloc::{format, vec::Vec};

use super::facts::Settings;
use crate::wire::{
    call::Call,
    http::{Body, Headers, Request},
    identity::Identity,
};

/// The `<env>` of the agent's bearer.
pub const BEARER_ENV: &str = "meshward";

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
