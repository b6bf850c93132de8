//! One file below `state/` that is written whole: when a change of it is due, and what became of the last one.
//!
//! | Phase | Told | Then |
//! |---|---|---|
//! | idle, or behind a wait | something is not on the disk | a write, with all that came meanwhile |
//! | writing | durable | idle, for as long as the owner wants |
//! | writing | refused | nothing until [`KEEP_RETRY`] is over, and all of it again |
//! | putting aside what was damaged | durable, or refused | idle |
//!
//! One change is under way at a time.

use alloc::string::String;
use core::{mem, time::Duration};

use crate::time::Mono;

/// How long until what the disk refused is given to it again.
pub const KEEP_RETRY: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pen {
    phase: Phase,
    /// Something is not on the disk yet.
    is_dirty: bool,
    /// That the disk refused was told, and it still does.
    is_refused: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Aside,
    Writing,
    /// Nothing until then.
    Resting(Mono),
}

/// What became of a change that is told to be worth a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// A damaged file has kept its name.
    Aside(String),
    /// The first write of several that are refused.
    Write(String),
}

impl Pen {
    /// What is to be written is no longer what is on the disk.
    pub(super) const fn blot(&mut self) {
        self.is_dirty = true;
    }

    /// A damaged file is being put aside.
    pub(super) const fn set_aside(&mut self) {
        self.phase = Phase::Aside;
    }

    /// Whether a write is to be ordered now; it is under way then. One that is urgent does not wait for the spacing, but
    /// for a disk that has refused.
    pub(super) fn takes_up(&mut self, now: Mono, is_urgent: bool) -> bool {
        let is_free = match self.phase {
            Phase::Idle => true,
            Phase::Resting(until) => until <= now || is_urgent && !self.is_refused,
            Phase::Aside | Phase::Writing => false,
        };
        let is_due = self.is_dirty && is_free;
        if is_due {
            self.is_dirty = false;
            self.phase = Phase::Writing;
        }
        is_due
    }

    /// Takes how a change ended; the next write follows this long behind one that went well at the earliest.
    pub(super) fn ended(
        &mut self,
        now: Mono,
        outcome: Result<(), String>,
        spacing: Duration,
    ) -> Option<Failed> {
        match (self.phase, outcome) {
            (Phase::Writing, Ok(())) => {
                self.is_refused = false;
                self.phase = match spacing {
                    Duration::ZERO => Phase::Idle,
                    spacing => Phase::Resting(now.after(spacing)),
                };
                None
            }
            (Phase::Writing, Err(reason)) => {
                self.is_dirty = true;
                self.phase = Phase::Resting(now.after(KEEP_RETRY));
                let is_first = !mem::replace(&mut self.is_refused, true);
                is_first.then_some(Failed::Write(reason))
            }
            (Phase::Aside, outcome) => {
                self.phase = Phase::Idle;
                outcome.err().map(Failed::Aside)
            }
            (Phase::Idle | Phase::Resting(_), _) => None,
        }
    }

    /// Whether a change is under way.
    pub(super) const fn is_moving(&self) -> bool {
        matches!(self.phase, Phase::Aside | Phase::Writing)
    }

    /// When a write is due that waits for the time alone.
    pub(super) fn wakeup(&self) -> Option<Mono> {
        match self.phase {
            Phase::Resting(until) if self.is_dirty => Some(until),
            Phase::Idle | Phase::Aside | Phase::Writing | Phase::Resting(_) => None,
        }
    }
}
