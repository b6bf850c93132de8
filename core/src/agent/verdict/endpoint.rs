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
use core::time::Duration;

use super::{Trouble, asked_wait, date, told};
use crate::{
    agent::{
        facts::Answer,
        heartbeat::skew::{DATE_PRECISION, Skew},
    },
    time::Wall,
    wire::{
        endpoint::EndpointSeen,
        http::Response,
        json,
        problem::{self, Code},
        timestamp::Timestamp,
    },
};

/// How a report was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reported {
    Accepted(Lease),
    /// With how far the clocks are apart, where the answer has a date.
    ClockSkew {
        reason: String,
        skew: Skew,
    },
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
            let measure = |at| Skew::measured(wall, wall, at, DATE_PRECISION);
            let skew = date(answer).map_or(Skew::None, measure);
            Reported::ClockSkew { reason: told(response), skew }
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
