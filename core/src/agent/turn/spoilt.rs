//! What of a pull could not be read: told once while it lasts, and passed over.

use alloc::{format, string::String, vec::Vec};

use sha2::{Digest as _, Sha256};

use super::Turn;
use crate::{
    agent::{facts::Effect, notice::Notice},
    wire::pulled::Spoilt,
};

/// How many of one pull are told one by one.
const TOLD_MAX: usize = 8;

/// Of how many it is kept that they were told; more of them are told as a number.
const KEPT_MAX: usize = 256;

impl Turn<'_> {
    pub(super) fn tell_spoilt(&mut self, spoilt: &[Spoilt]) {
        let (known, beyond) = spoilt.split_at(spoilt.len().min(KEPT_MAX));
        let told = &self.agent.last_pull.told.spoilt;
        let new: Vec<_> = known.iter().filter(|one| !told.contains(&mark(one))).collect();
        let is_news = !beyond.is_empty() && !self.agent.last_pull.told.is_crowded;
        self.agent.last_pull.told.spoilt = known.iter().map(mark).collect();
        self.agent.last_pull.told.is_crowded = !beyond.is_empty();
        for one in new.iter().take(TOLD_MAX) {
            self.warn_of_pull(described(one));
        }
        let more = new.len().saturating_sub(TOLD_MAX) + if is_news { beyond.len() } else { 0 };
        if more > 0 {
            self.warn_of_pull(format!("{more} more entries of the pull cannot be read"));
        }
    }

    /// A policy without a fingerprint cannot be compared.
    pub(super) fn tell_unmarked(&mut self, is_unmarked: bool) {
        if is_unmarked && !self.agent.last_pull.told.is_unmarked {
            self.warn_of_pull(
                "the policy of the pull has no fingerprint, so each pull counts as a change of it"
                    .into(),
            );
        }
        self.agent.last_pull.told.is_unmarked = is_unmarked;
    }

    fn warn_of_pull(&mut self, text: String) {
        self.effects.push(Effect::Tell(Notice::warn(text)));
    }
}

fn described(Spoilt { block, index, id, fault }: &Spoilt) -> String {
    let block = block.as_str();
    match index {
        Some(index) => {
            let named = id.as_ref().map(|id| format!(" ({id:?})")).unwrap_or_default();
            format!(
                "entry {index}{named} of the pulled {block} cannot be read and is passed over: {fault}"
            )
        }
        None => format!("the pulled {block} cannot be read, what is known of it is kept: {fault}"),
    }
}

/// Which one it is, by its id where it has one: its place moves when others come and go.
fn mark(Spoilt { block, index, id, fault }: &Spoilt) -> [u8; 16] {
    let place = if id.is_some() { None } else { *index };
    let text = format!("{block:?} {place:?} {id:?} {fault}");
    let digest: [u8; 32] = Sha256::digest(text).into();
    core::array::from_fn(|at| digest[at])
}
