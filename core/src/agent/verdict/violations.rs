//! What the control plane answers to a batch of integrity violations.
//!
//! | Answer | Meaning |
//! |---|---|
//! | any 2xx with an answer to a batch, 204 | delivered |
//! | 413 | refused: the batch is too large |
//! | 400 and 422 with a code, but `integrity_violations_empty` | refused: a part of the batch is not taken, or there is too much of it |
//! | anything else, and none | failed; 429 and 503 with their `Retry-After` |
//!
//! Which entry it is that a batch was refused for is told in words alone, so it is found by asking again with less.
//!
//! Specification: "POST /v1/nodes/{id}/integrity-violations"; `gaps-control-plane.md` section 1.16.

use alloc::{format, string::String};

use super::{Trouble, decode, told, trouble};
use crate::{
    agent::facts::Answer,
    time::Wall,
    wire::{
        integrity::IntegrityViolationsResponse,
        problem::{self, Code},
    },
};

/// How a batch was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reported {
    /// With how many entries were counted, where that was told.
    Delivered(Option<u64>),
    Refused(String),
    Failed(Trouble),
}

/// Reads the answer.
pub fn read(answer: &Answer, wall: Wall) -> Reported {
    let response = match answer {
        Answer::Responded(response) => response,
        Answer::Failed(lost) => return Reported::Failed(Trouble::of(format!("{lost}"))),
    };
    if response.status == 204 {
        return Reported::Delivered(None);
    }
    if response.is_success() {
        return match decode::<IntegrityViolationsResponse>(response) {
            Some(answer) => Reported::Delivered(Some(answer.violation_count)),
            None => {
                Reported::Failed(Trouble::of("the answer is not JSON of a batch's answer".into()))
            }
        };
    }
    match (response.status, problem::read(response).code) {
        (400, None | Some(Code::IntegrityViolationsEmpty)) | (422, None) => {
            Reported::Failed(trouble(response, wall))
        }
        (400 | 413 | 422, _) => Reported::Refused(told(response)),
        _ => Reported::Failed(trouble(response, wall)),
    }
}
