//! What the control plane answers to a request for its stream of events.
//!
//! | Answer | Meaning |
//! |---|---|
//! | 200 with the content type `text/event-stream` | a stream |
//! | 501 `signed_event_bus_not_provisioned` | there is none |
//! | 400 | not from there: the cursor, where one was sent, is of no more use |
//! | 401, 403, 404 | this node does not get it |
//! | 429 | not now |
//! | anything else, another 2xx and a redirect among them | failed |
//!
//! Specification: "GET /v1/nodes/{id}/events"; `decisions.md` section 5 (SSE refusals) and section 8 (Stream).

use alloc::{format, string::String};

use super::{Trouble, asked_wait, told};
use crate::{
    time::Wall,
    wire::{
        http::Response,
        problem::{self, Code},
    },
};

/// How a request for the stream was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Streamed {
    Opened,
    NotProvisioned(String),
    /// What was asked cannot be answered.
    Unacceptable(String),
    Refused(String),
    Throttled(Trouble),
    Failed(String),
}

/// The content type of a stream.
const EVENT_STREAM: &str = "text/event-stream";

/// How much of another content type is told, in characters.
const KIND_MAX: usize = 100;

/// Reads the head of the answer, with the body of one that is no success.
pub fn read(response: &Response, wall: Wall) -> Streamed {
    match (response.status, problem::read(response).code) {
        (200, _) if is_stream(response) => Streamed::Opened,
        (200, _) => Streamed::Failed(no_stream(response)),
        (501, Some(Code::SignedEventBusNotProvisioned)) => Streamed::NotProvisioned(told(response)),
        (400, _) => Streamed::Unacceptable(told(response)),
        (401 | 403 | 404, _) => Streamed::Refused(told(response)),
        (429, _) => Streamed::Throttled(Trouble {
            reason: told(response),
            retry_after: asked_wait(response, wall),
        }),
        _ => Streamed::Failed(told(response)),
    }
}

fn is_stream(response: &Response) -> bool {
    let mut kinds = response.headers.all("content-type");
    let essence = kinds.next().and_then(|kind| kind.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(EVENT_STREAM) && kinds.next().is_none()
}

fn no_stream(response: &Response) -> String {
    let kind = response.headers.first("content-type").unwrap_or_default();
    let kind: String = kind.chars().take(KIND_MAX).collect();
    format!("the answer is no stream of events, but of the content type {kind:?}")
}
