//! What the operator is told of events that do not count, and of kinds that nobody knows: never more for being many.

use alloc::{collections::BTreeSet, format, string::String};
use core::time::Duration;

use super::Refused;
use crate::{agent::notice::Notice, time::Mono};

/// After the first refusal for a reason, those that follow for it are told together, and no more often than this.
pub const TOLD_EVERY: Duration = Duration::from_secs(3600);

/// How many unknown kinds are remembered; more are not told.
pub const KINDS_MAX: usize = 32;

/// So much is remembered and told of a kind, in characters.
pub const KIND_SHOWN_MAX: usize = 64;

/// How many reasons there are.
const REASONS: usize = 11;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Refusals {
    tallies: [Tally; REASONS],
    kinds: BTreeSet<String>,
}

/// Of one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Tally {
    told: Option<Mono>,
    /// How many were not told since.
    untold: u64,
}

impl Refusals {
    pub(super) fn refused(&mut self, now: Mono, refused: &Refused) -> Option<Notice> {
        let tally = &mut self.tallies[reason(refused)];
        match tally.told {
            None => {
                tally.told = Some(now);
                Some(Notice::error(format!("an event is refused and has no effect: {refused}")))
            }
            Some(told) if now.since(told) >= TOLD_EVERY => {
                let count = core::mem::take(&mut tally.untold).saturating_add(1);
                tally.told = Some(now);
                Some(Notice::error(format!(
                    "events are refused and have no effect, {count} since this was told last: {refused}"
                )))
            }
            Some(_) => {
                tally.untold = tally.untold.saturating_add(1);
                None
            }
        }
    }

    pub(super) fn unknown(&mut self, kind: &str) -> Option<Notice> {
        let kind: String = kind.chars().take(KIND_SHOWN_MAX).collect();
        if self.kinds.len() >= KINDS_MAX || self.kinds.contains(&kind) {
            return None;
        }
        let notice = format!("events of the type {kind} lead to nothing: it is not known");
        self.kinds.insert(kind);
        Some(Notice::debug(notice))
    }
}

/// The place of its tally.
const fn reason(refused: &Refused) -> usize {
    match refused {
        Refused::Malformed(_) => 0,
        Refused::MissingId => 1,
        Refused::MissingType => 2,
        Refused::MissingSignature => 3,
        Refused::MissingIssuedAt => 4,
        Refused::NotCanonical => 5,
        Refused::Stale => 6,
        Refused::Future => 7,
        Refused::UnknownKey => 8,
        Refused::Signature => 9,
        Refused::Rotation(_) => 10,
    }
}
