//! What the control plane answers to a capability manifest.
//!
//! | Answer | Meaning |
//! |---|---|
//! | any 2xx with an answer to a manifest, 204 | accepted |
//! | 400 `declared_hook_invalid`, `declared_hook_duplicate`, whose detail names `declared_hooks[N]` | that hook is not taken |
//! | anything else, and none | failed; 429 and 503 with their `Retry-After` |
//!
//! Specification: "PUT /v1/nodes/{id}/capabilities"; `gaps-control-plane.md` section 1.7.

use alloc::format;

use super::{Trouble, decode, told, trouble};
use crate::{
    agent::facts::Answer,
    time::Wall,
    wire::{
        capabilities::CapabilityManifestResponse,
        problem::{self, Code},
    },
};

/// How a manifest was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    /// With the members that changed, where that was told.
    Accepted(Option<CapabilityManifestResponse>),
    /// The hook at this place of the list is one that no manifest can have.
    Unfit {
        at: usize,
        trouble: Trouble,
    },
    Failed(Trouble),
}

/// Reads the answer.
pub fn read(answer: &Answer, wall: Wall) -> Declared {
    let response = match answer {
        Answer::Responded(response) => response,
        Answer::Failed(lost) => return Declared::Failed(Trouble::of(format!("{lost}"))),
    };
    if response.status == 204 {
        return Declared::Accepted(None);
    }
    if response.is_success() {
        return match decode(response) {
            Some(accepted) => Declared::Accepted(Some(accepted)),
            None => Declared::Failed(Trouble::of(
                "the answer is not JSON of a manifest's answer".into(),
            )),
        };
    }
    let seen = problem::read(response);
    match (response.status, &seen.code) {
        (400, Some(Code::DeclaredHookInvalid | Code::DeclaredHookDuplicate)) => {
            match place(&seen.detail) {
                Some(at) => Declared::Unfit { at, trouble: Trouble::of(told(response)) },
                None => Declared::Failed(trouble(response, wall)),
            }
        }
        _ => Declared::Failed(trouble(response, wall)),
    }
}

/// The place in the list that a text names.
fn place(detail: &str) -> Option<usize> {
    let (_, behind) = detail.split_once("declared_hooks[")?;
    behind.split_once(']')?.0.parse().ok()
}
