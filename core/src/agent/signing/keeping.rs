//! The file of the keys: one change of it at a time, tried again for as long as the disk refuses.

use alloc::{format, string::ToString as _, vec::Vec};
use core::time::Duration;

use super::Effect;
use crate::{
    agent::{
        facts::{Change, Content, FoundContent},
        notice::Notice,
    },
    backoff::{Backoff, Jitter},
    time::{Mono, Now},
    wire::{
        kept::{self, SIGNING_KEYS},
        signing_keys::KeySet,
        timestamp::Timestamp,
    },
};

/// The waits between tries to write the file.
pub const BACKOFF: Backoff = Backoff {
    base: Duration::from_secs(5),
    factor: 2,
    cap: Duration::from_secs(300),
    jitter_percent: 0,
};

/// More failures than lead to the longest wait are not counted.
const FAILURES_MAX: u32 = 7;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Keeping {
    phase: Phase,
    /// The keys are not those of the last write.
    is_due: bool,
    /// In a row.
    failures: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Idle,
    SettingAside,
    Writing,
    Waiting(Mono),
}

impl Keeping {
    /// Reads what a start found; what is damaged is put aside.
    pub(super) fn read(
        &mut self,
        now: Now,
        content: FoundContent,
        effects: &mut Vec<Effect>,
    ) -> Option<KeySet> {
        let reason = match content {
            FoundContent::Bytes(Content(bytes)) => match KeySet::decode(&bytes) {
                Ok(keys) => return Some(keys),
                Err(damage) => damage.to_string(),
            },
            FoundContent::Foreign(kind) => format!("it is {kind}"),
        };
        let aside = kept::damaged_name(SIGNING_KEYS, Timestamp::from(now.wall.second()))?;
        effects.push(Effect::Tell(Notice::warn(format!(
            "state/{SIGNING_KEYS} holds no signing keys, {reason}; it is kept beside as {aside}, and the key of the \
             registration counts"
        ))));
        effects.push(Effect::Keep(Change::Rename(aside)));
        self.phase = Phase::SettingAside;
        None
    }

    pub(super) const fn changed(&mut self) {
        self.is_due = true;
    }

    /// Orders a write where one is due and none is under way.
    pub(super) fn advance(&mut self, keys: &KeySet) -> Option<Effect> {
        if !self.is_due || self.phase != Phase::Idle {
            return None;
        }
        (self.phase, self.is_due) = (Phase::Writing, false);
        Some(Effect::Keep(Change::Write(Content(keys.encode()))))
    }

    /// A change is durable, or was refused.
    pub(super) fn kept(&mut self, now: Mono, outcome: Result<(), &str>) -> Option<Notice> {
        match (self.phase, outcome) {
            (Phase::Writing, Ok(())) => {
                let before = core::mem::take(&mut self.failures);
                self.phase = Phase::Idle;
                (before > 0).then(|| Notice::info("the signing keys are written"))
            }
            (Phase::Writing, Err(reason)) => {
                let before = self.failures;
                self.failures = FAILURES_MAX.min(before + 1);
                self.is_due = true;
                self.phase = Phase::Waiting(now.after(BACKOFF.wait(self.failures, Jitter::NONE)));
                (before == 0).then(|| {
                    Notice::error(format!(
                        "the signing keys cannot be written: {reason}; they count all the same, and are written as \
                         soon as that is possible"
                    ))
                })
            }
            (Phase::SettingAside, outcome) => {
                self.phase = Phase::Idle;
                let reason = outcome.err()?;
                Some(Notice::warn(format!(
                    "state/{SIGNING_KEYS} cannot be renamed: {reason}; the next rotation of the signing key replaces it"
                )))
            }
            (Phase::Idle | Phase::Waiting(_), _) => None,
        }
    }

    pub(super) fn ticked(&mut self, now: Mono) {
        if self.due().is_some_and(|due| due <= now) {
            self.phase = Phase::Idle;
        }
    }

    pub(super) const fn due(&self) -> Option<Mono> {
        match self.phase {
            Phase::Waiting(due) => Some(due),
            Phase::Idle | Phase::SettingAside | Phase::Writing => None,
        }
    }

    /// Whether a change is under way.
    pub(super) const fn is_changing(&self) -> bool {
        matches!(self.phase, Phase::SettingAside | Phase::Writing)
    }
}
