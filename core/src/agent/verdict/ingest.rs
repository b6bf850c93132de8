//! What the control plane answers to a batch of metrics, lines or audited events.
//!
//! | Answer | Meaning |
//! |---|---|
//! | any 2xx | taken |
//! | 400 `ingest_batch_malformed` | malformed: the batch is dropped |
//! | 413 | too large: the batch is halved, a single record is dropped |
//! | 501 `observability_ingest_not_provisioned` | not provisioned: the batch is dropped quietly |
//! | 401 | unauthorized: the batch is kept |
//! | 400 `ingest_sent_at_invalid`, 415, anything else, and none | failed: the batch is kept; a `Retry-After` changes nothing |
//!
//! Specification: "Agent-side conversion rules for ingest" (sending behaviour on ingest errors); `decisions.md` section 8
//! (Success).

use alloc::{format, string::String};

use super::told;
use crate::{
    agent::facts::{Answer, Failure, Lost},
    wire::problem::{self, Code},
};

/// How a batch was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shipped {
    Taken,
    Malformed(String),
    TooLarge(String),
    NotProvisioned,
    Unauthorized(String),
    Failed(String),
}

/// Reads the answer; the receipt tells nothing that is needed, so a body that cannot be read changes nothing.
pub fn read(answer: &Answer) -> Shipped {
    let response = match answer {
        Answer::Failed(Lost { failure: Failure::Oversized { status: 200..=299 }, .. }) => {
            return Shipped::Taken;
        }
        Answer::Failed(Lost { failure: Failure::Oversized { status: 413 }, .. }) => {
            return Shipped::TooLarge("413".into());
        }
        Answer::Failed(lost) => return Shipped::Failed(format!("{lost}")),
        Answer::Responded(response) => response,
    };
    if response.is_success() {
        return Shipped::Taken;
    }
    match (response.status, problem::read(response).code) {
        (400, Some(Code::IngestBatchMalformed)) => Shipped::Malformed(told(response)),
        (401, _) => Shipped::Unauthorized(told(response)),
        (413, _) => Shipped::TooLarge(told(response)),
        (501, Some(Code::ObservabilityIngestNotProvisioned)) => Shipped::NotProvisioned,
        _ => Shipped::Failed(told(response)),
    }
}

/// Reads the answer of a local endpoint, whose status alone matters.
pub fn delivered(answer: &Answer) -> Result<(), String> {
    match answer {
        Answer::Responded(response) if response.is_success() => Ok(()),
        Answer::Failed(Lost { failure: Failure::Oversized { status: 200..=299 }, .. }) => Ok(()),
        Answer::Responded(response) => Err(format!("it answered {}", response.status)),
        Answer::Failed(Lost { failure, cause }) => {
            let what = match failure {
                Failure::Unreachable => "it cannot be reached",
                Failure::TimedOut => "it did not answer in time",
                Failure::Oversized { .. } => "it answered too much",
            };
            let colon = if cause.is_empty() { "" } else { ": " };
            Err(format!("{what}{colon}{cause}"))
        }
    }
}
