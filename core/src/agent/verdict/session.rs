//! What the control plane answers to a row of a session.
//!
//! | Answer | Meaning |
//! |---|---|
//! | any 2xx | accepted |
//! | 409 `session_already_revoked`, `session_expired` | the drain signal |
//! | 404 `session_not_found` | no such session, as far as the control plane knows now |
//! | anything else, and none | failed |
//!
//! Specification: "Errors" of the node agent.

use alloc::{format, string::String};

use super::told;
use crate::{
    agent::facts::{Answer, Failure, Lost},
    wire::problem::{self, Code},
};

/// How a row was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reported {
    Accepted,
    /// The session is over; nothing more is told of it.
    Drain(String),
    NotFound(String),
    Failed(String),
}

/// Reads the answer; no body is due, so that one which is too large changes nothing.
pub fn read(answer: &Answer) -> Reported {
    let response = match answer {
        Answer::Failed(Lost { failure: Failure::Oversized { status: 200..=299 }, .. }) => {
            return Reported::Accepted;
        }
        Answer::Failed(lost) => return Reported::Failed(format!("{lost}")),
        Answer::Responded(response) => response,
    };
    if response.is_success() {
        return Reported::Accepted;
    }
    match (response.status, problem::read(response).code) {
        (409, Some(Code::SessionAlreadyRevoked | Code::SessionExpired)) => {
            Reported::Drain(told(response))
        }
        (404, Some(Code::SessionNotFound)) => Reported::NotFound(told(response)),
        _ => Reported::Failed(told(response)),
    }
}
