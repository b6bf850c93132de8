//! What the control plane answers to the report of an endpoint.
//!
//! | Answer | Meaning |
//! |---|---|
//! | 2xx with an object | accepted, until the time that it names |
//! | 400 `endpoint_clock_skew` | the clock of this node is off |
//! | any other 400, 413 | it will not take this |
//! | 401 | not admitted, which heartbeats and pulls judge |
//! | 404 `endpoint_peer_not_found`, 410 `endpoint_peer_gone` | this node is not known |
//! | 429 | too many, with a wait where one is asked for |
//! | anything else, and none | failed |
//!
//! Specification: "PUT /v1/nodes/{id}/endpoint" and "Errors"; `gaps-agent.md` 2.11.

use alloc::{format, string::String};
use core::{fmt, time::Duration};

use super::{Trouble, asked_wait, told};
use crate::{
    agent::facts::Answer,
    time::Wall,
    wire::{
        endpoint::EndpointSeen,
        http::Response,
        json,
        problem::{self, Code},
        retry_after,
        timestamp::Timestamp,
    },
};

/// How a report was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reported {
    Accepted(Lease),
    ClockSkew { reason: String, apart: Option<Apart> },
    Stranger(String),
    Unacceptable(String),
    Unauthorized(String),
    Limited(Trouble),
    Failed(String),
}

/// For how long an endpoint counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    pub accepted_at: Option<Timestamp>,
    /// Absent also where it is the zero timestamp.
    pub stale_after: Option<Timestamp>,
}

impl Lease {
    /// How long it lasts, by the clock of the control plane alone.
    pub fn lasts(&self) -> Option<Duration> {
        Some(self.stale_after?.since(self.accepted_at?))
    }
}

/// How far the clock of this node is from the one of the control plane, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    pub is_behind: bool,
    pub by: Duration,
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.is_behind { "behind" } else { "ahead of" };
        write!(f, "about {} s {side} the control plane's", self.by.as_secs())
    }
}

/// Reads the answer; `wall` is when it came.
pub fn read(answer: &Answer, wall: Wall) -> Reported {
    let response = match answer {
        Answer::Failed(lost) => return Reported::Failed(format!("{lost}")),
        Answer::Responded(response) => response,
    };
    if response.is_success() {
        return accepted(response);
    }
    match (response.status, problem::read(response).code) {
        (400, Some(Code::EndpointClockSkew)) => {
            Reported::ClockSkew { reason: told(response), apart: apart(response, wall) }
        }
        (400 | 413, _) => Reported::Unacceptable(told(response)),
        (401, _) => Reported::Unauthorized(told(response)),
        (404, Some(Code::EndpointPeerNotFound)) | (410, Some(Code::EndpointPeerGone)) => {
            Reported::Stranger(told(response))
        }
        (429, _) => Reported::Limited(Trouble {
            reason: told(response),
            retry_after: asked_wait(response, wall),
        }),
        _ => Reported::Failed(told(response)),
    }
}

fn accepted(response: &Response) -> Reported {
    match json::decode_tolerant::<EndpointSeen>(&response.body) {
        Ok(seen) => Reported::Accepted(Lease {
            accepted_at: seen.accepted_at(),
            stale_after: seen.stale_after(),
        }),
        Err(fault) => Reported::Failed(format!("the answer is unusable: {fault}")),
    }
}

/// By the date that the answer was given one, if it was.
fn apart(response: &Response, wall: Wall) -> Option<Apart> {
    let at = retry_after::http_date(response.headers.first("date")?)?;
    Some(Apart { is_behind: at.is_after(wall), by: at.skew(wall) })
}
