//! Rotation of the mesh key: one staged key at a time, kept until the control plane has decided on it.
//!
//! | state | input | next | also |
//! |---|---|---|---|
//! | idle | restarted with a staged key | posting | |
//! | idle | signalled | staging | a heartbeat's flag rests for five minutes after a commit |
//! | staging | staged | posting | the key is on disk before any request |
//! | staging | failed | waiting to stage | |
//! | posting | completed | committing | private key, then `last_rotation`, then the staged file |
//! | posting | unchanged | committing | the receipt stays what it was |
//! | posting | nothing pending | idle | put the key aside: it is the next to be staged |
//! | posting | refused | idle | discard |
//! | idle | putting aside or discard failed | leaving | |
//! | leaving | ticked | idle | the same again |
//! | leaving | signalled | staging | discard first, so that a refused key is not offered again |
//! | posting | undecided | waiting | |
//! | waiting | ticked | posting | the same key |
//! | committing | committed | idle | the tunnel device is to take the key |
//! | committing | failed | committing, later | |
//!
//! A key that was offered and not expected is kept and offered again, because the request may still be under way and put
//! it into force. An answer that names another key than the one in hand is ignored. Specification: "Mesh key rotation".

use alloc::{format, string::String};
use core::time::Duration;

use super::{facts::StagedFile, notice::Notice, verdict::Rotated};
use crate::{
    backoff::{Backoff, Jitter},
    step::Step,
    time::{Mono, Now},
    wire::{grammar::PublicKey, rotation::Receipt},
};

/// "Resubmitted for the life of the process with backoff from 5 s doubling to 2 minutes".
pub const BACKOFF: Backoff = Backoff {
    base: Duration::from_secs(5),
    factor: 2,
    cap: Duration::from_secs(120),
    jitter_percent: 0,
};

/// How long the heartbeat's flag is ignored after a commit.
pub const COOL_DOWN: Duration = Duration::from_secs(300);

/// More failures than lead to the longest wait are not counted.
const FAILURES_MAX: u32 = 6;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rotation {
    phase: Phase,
    /// When this process last committed a key.
    rested: Option<Mono>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Idle,
    /// A key that is given up is still where the staged one is.
    Leaving {
        due: Mono,
        refused: bool,
    },
    Staging {
        failures: u32,
    },
    Unstaged {
        failures: u32,
        due: Mono,
    },
    Posting {
        key: PublicKey,
        failures: u32,
    },
    Waiting {
        key: PublicKey,
        failures: u32,
        due: Mono,
    },
    Committing {
        key: PublicKey,
        receipt: Option<Receipt>,
        failures: u32,
        due: Option<Mono>,
    },
}

/// Who asked for a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Event,
    Heartbeat,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The process is armed; this is what it found on disk.
    Armed(StagedFile),
    Signalled(Source),
    Staged(PublicKey),
    StageFailed {
        reason: String,
        jitter: Jitter,
    },
    Answered {
        key: PublicKey,
        verdict: Rotated,
        jitter: Jitter,
    },
    Committed,
    CommitFailed {
        reason: String,
        jitter: Jitter,
    },
    DiscardFailed {
        reason: String,
    },
    ShelveFailed {
        reason: String,
    },
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Stage,
    Post(PublicKey),
    /// Make the staged key the current one; `None` keeps the receipt that is there.
    Commit(Option<Receipt>),
    Discard,
    /// Put the staged key aside, to be staged again.
    Shelve,
    /// Let the tunnel device take the key that is in force now.
    Install(PublicKey),
    Tell(Notice),
}

impl Rotation {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Armed(staged) => self.armed(staged),
            Input::Signalled(source) => self.signalled(source, now),
            Input::Staged(key) => self.staged(key),
            Input::StageFailed { reason, jitter } => self.stage_failed(&reason, now, jitter),
            Input::Answered { key, verdict, jitter } => self.answered(key, verdict, now, jitter),
            Input::Committed => self.committed(now),
            Input::CommitFailed { reason, jitter } => self.commit_failed(&reason, now, jitter),
            Input::DiscardFailed { reason } => self.still_there(true, &reason, now),
            Input::ShelveFailed { reason } => self.still_there(false, &reason, now),
            Input::Ticked => self.ticked(now),
        }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match &self.phase {
            Phase::Leaving { due, .. }
            | Phase::Unstaged { due, .. }
            | Phase::Waiting { due, .. } => Some(*due),
            Phase::Committing { due, .. } => *due,
            Phase::Idle | Phase::Staging { .. } | Phase::Posting { .. } => None,
        }
    }

    /// Whether no key is in hand but one that was refused and is still to be removed.
    pub const fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Leaving { .. })
    }

    /// Whether the disk is about to hold a key that the control plane has accepted.
    pub const fn is_committing(&self) -> bool {
        matches!(self.phase, Phase::Committing { .. })
    }

    fn to(self, phase: Phase) -> Step<Self, Effect> {
        Step::to(Self { phase, ..self })
    }

    fn post(self, key: PublicKey, failures: u32) -> Step<Self, Effect> {
        self.to(Phase::Posting { key, failures }).emit(Effect::Post(key))
    }

    fn armed(self, staged: StagedFile) -> Step<Self, Effect> {
        match (&self.phase, staged) {
            (Phase::Idle, StagedFile::Key(key)) => {
                let told =
                    Notice::info("a key rotation was under way; it goes on with the staged key");
                self.post(key, 0).emit(Effect::Tell(told))
            }
            (Phase::Idle, StagedFile::Broken(flaw)) => {
                let told = Notice::warn(format!(
                    "rotation_pending_key {flaw}, so the key in it was never sent; it is discarded"
                ));
                Step::to(self).emit(Effect::Tell(told)).emit(Effect::Discard)
            }
            (Phase::Idle, StagedFile::Missing)
            | (
                Phase::Leaving { .. }
                | Phase::Staging { .. }
                | Phase::Unstaged { .. }
                | Phase::Posting { .. }
                | Phase::Waiting { .. }
                | Phase::Committing { .. },
                StagedFile::Key(_) | StagedFile::Broken(_) | StagedFile::Missing,
            ) => Step::to(self),
        }
    }

    fn signalled(self, source: Source, now: Now) -> Step<Self, Effect> {
        let cool = self.rested.is_none_or(|committed| now.mono.since(committed) >= COOL_DOWN);
        match self.phase {
            Phase::Idle if cool || source == Source::Event => {
                self.to(Phase::Staging { failures: 0 }).emit(Effect::Stage)
            }
            Phase::Leaving { refused, .. } if cool || source == Source::Event => self
                .to(Phase::Staging { failures: 0 })
                .emit_all(refused.then_some(Effect::Discard))
                .emit(Effect::Stage),
            Phase::Idle | Phase::Leaving { .. } => Step::to(self).emit(Effect::Tell(Notice::debug(
                "the heartbeat asks for a rotation within five minutes of the last one: not yet",
            ))),
            Phase::Staging { .. }
            | Phase::Unstaged { .. }
            | Phase::Posting { .. }
            | Phase::Waiting { .. }
            | Phase::Committing { .. } => Step::to(self),
        }
    }

    fn staged(self, key: PublicKey) -> Step<Self, Effect> {
        match self.phase {
            Phase::Staging { .. } => self.post(key, 0),
            Phase::Idle
            | Phase::Leaving { .. }
            | Phase::Unstaged { .. }
            | Phase::Posting { .. }
            | Phase::Waiting { .. }
            | Phase::Committing { .. } => Step::to(self),
        }
    }

    fn stage_failed(self, reason: &str, now: Now, jitter: Jitter) -> Step<Self, Effect> {
        let Phase::Staging { failures } = self.phase else { return Step::to(self) };
        let failures = counted(failures);
        let told =
            Notice::error(format!("a new mesh key cannot be written: {reason}; trying again"));
        self.to(Phase::Unstaged { failures, due: now.mono.after(BACKOFF.wait(failures, jitter)) })
            .emit(Effect::Tell(told))
    }

    fn answered(
        self,
        answered: PublicKey,
        verdict: Rotated,
        now: Now,
        jitter: Jitter,
    ) -> Step<Self, Effect> {
        match self.phase {
            Phase::Posting { key, failures } if key == answered => {
                let failures = counted(failures);
                let due = now.mono.after(BACKOFF.wait(failures, jitter));
                self.judge(key, verdict, Phase::Waiting { key, failures, due })
            }
            Phase::Idle
            | Phase::Leaving { .. }
            | Phase::Staging { .. }
            | Phase::Unstaged { .. }
            | Phase::Posting { .. }
            | Phase::Waiting { .. }
            | Phase::Committing { .. } => Step::to(self),
        }
    }

    fn judge(self, key: PublicKey, verdict: Rotated, retry: Phase) -> Step<Self, Effect> {
        match verdict {
            Rotated::Completed(receipt) => self.commit(key, Some(receipt)),
            Rotated::Unchanged => self.commit(key, None),
            Rotated::NothingPending => {
                let told = Notice::warn(
                    "the control plane has no pending key rotation; the staged key is put aside for the next one",
                );
                self.to(Phase::Idle).emit(Effect::Tell(told)).emit(Effect::Shelve)
            }
            Rotated::Refused(reason) => {
                let told = Notice::error(format!(
                    "the new mesh key was refused and is discarded: {reason}"
                ));
                self.to(Phase::Idle).emit(Effect::Tell(told)).emit(Effect::Discard)
            }
            Rotated::Undecided(reason) => {
                let told = Notice::warn(format!(
                    "the key rotation is undecided and goes on with the same key: {reason}"
                ));
                self.to(retry).emit(Effect::Tell(told))
            }
        }
    }

    fn commit(self, key: PublicKey, receipt: Option<Receipt>) -> Step<Self, Effect> {
        let again = receipt.clone();
        self.to(Phase::Committing { key, receipt, failures: 0, due: None })
            .emit(Effect::Commit(again))
    }

    fn committed(self, now: Now) -> Step<Self, Effect> {
        match self.phase {
            Phase::Committing { key, receipt, .. } => {
                Step::to(Self { phase: Phase::Idle, rested: Some(now.mono) })
                    .emit(Effect::Tell(rotated(receipt.as_ref())))
                    .emit(Effect::Install(key))
            }
            Phase::Idle
            | Phase::Leaving { .. }
            | Phase::Staging { .. }
            | Phase::Unstaged { .. }
            | Phase::Posting { .. }
            | Phase::Waiting { .. } => Step::to(self),
        }
    }

    fn commit_failed(self, reason: &str, now: Now, jitter: Jitter) -> Step<Self, Effect> {
        let rested = self.rested;
        let Phase::Committing { key, receipt, failures, .. } = self.phase else {
            return Step::to(self);
        };
        let failures = counted(failures);
        let due = Some(now.mono.after(BACKOFF.wait(failures, jitter)));
        let told = Notice::error(format!(
            "the rotated mesh key cannot be written: {reason}; trying again"
        ));
        Step::to(Self { phase: Phase::Committing { key, receipt, failures, due }, rested })
            .emit(Effect::Tell(told))
    }

    /// A failure that comes when another rotation is under way concerns a key that is none of its own.
    fn still_there(self, refused: bool, reason: &str, now: Now) -> Step<Self, Effect> {
        let doing = if refused {
            "the refused mesh key cannot be removed"
        } else {
            "the staged mesh key cannot be put aside"
        };
        let told = Notice::warn(format!("{doing}: {reason}; trying again"));
        match self.phase {
            Phase::Idle => self
                .to(Phase::Leaving { due: now.mono.after(BACKOFF.cap), refused })
                .emit(Effect::Tell(told)),
            Phase::Leaving { .. }
            | Phase::Staging { .. }
            | Phase::Unstaged { .. }
            | Phase::Posting { .. }
            | Phase::Waiting { .. }
            | Phase::Committing { .. } => Step::to(self).emit(Effect::Tell(told)),
        }
    }

    fn ticked(self, now: Now) -> Step<Self, Effect> {
        if self.wakeup().is_none_or(|due| due > now.mono) {
            return Step::to(self);
        }
        let rested = self.rested;
        let to = |phase| Step::to(Self { phase, rested });
        match self.phase {
            Phase::Leaving { refused: true, .. } => to(Phase::Idle).emit(Effect::Discard),
            Phase::Leaving { refused: false, .. } => to(Phase::Idle).emit(Effect::Shelve),
            Phase::Unstaged { failures, .. } => to(Phase::Staging { failures }).emit(Effect::Stage),
            Phase::Waiting { key, failures, .. } => {
                to(Phase::Posting { key, failures }).emit(Effect::Post(key))
            }
            Phase::Committing { key, receipt, failures, .. } => {
                let again = receipt.clone();
                to(Phase::Committing { key, receipt, failures, due: None })
                    .emit(Effect::Commit(again))
            }
            phase @ (Phase::Idle | Phase::Staging { .. } | Phase::Posting { .. }) => to(phase),
        }
    }
}

/// Named as the control plane names it, unless the key was in force already.
fn rotated(receipt: Option<&Receipt>) -> Notice {
    match receipt {
        Some(receipt) => {
            Notice::info(format!("the mesh key is rotated (rotation id {})", receipt.rotation_id))
        }
        None => Notice::info("the mesh key is rotated"),
    }
}

fn counted(failures: u32) -> u32 {
    FAILURES_MAX.min(failures + 1)
}
