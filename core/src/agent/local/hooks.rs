//! The answers to a reload of the hooks.
//!
//! Specification: "Local HTTP API"; `gaps-agent.md` section 1.1.

use alloc::{format, string::String, vec::Vec};

use super::{found, refusal, unavailable};
use crate::{
    agent::hooks::Hooks,
    wire::{http::Response, local::Reloaded},
};

/// Answers a reload that came to its end; where nothing was seen, why.
pub fn reloaded(hooks: &Hooks, warnings: Vec<String>, failure: Option<String>) -> Response {
    match failure {
        Some(reason) => refusal(500, &format!("the hooks directory cannot be looked at: {reason}")),
        None => found(&Reloaded { status: "reloaded".into(), hooks: hooks.list(), warnings }),
    }
}

/// Answers a reload that nobody carries out, or for which too many wait.
pub fn not_reloaded(crowded: bool) -> Response {
    unavailable(match crowded {
        true => "too many reloads",
        false => "hook reloader not available",
    })
}
