//! Whether the files of this node are what they were when they were seen first: the program, the hooks, the host key.
//!
//! | Seen | Baseline | Then |
//! |---|---|---|
//! | a hook, a host key | none, or of another file | it becomes the baseline |
//! | the program | none, or of another path or version | the digest of the running image becomes the baseline |
//! | the same | as the baseline | nothing |
//! | another | another | a violation, once for each digest and process; the baseline stays |
//! | nothing, as it is not there | any | nothing but a warning of a configured host key; what comes back is held to it |
//! | nothing, as it cannot be read | any | told once as long as it lasts |
//!
//! | When | Told as detected by |
//! |---|---|
//! | armed, and each `verify_interval` from then on; any look that nothing stirred | `startup_scan` |
//! | a look at the hooks that something stirred, where `watch_enabled` | `inotify` |
//! | the begin of a run, which is then refused | `pre_dispatch` |
//!
//! A hook is held to the digest of its first discovery by this process when it runs (`hooks/`), and to its baseline
//! here, which outlives the process.
//!
//! Specification: "Integrity violations"; `gaps-agent.md` section 2.12; `decisions.md` section 8 (Integrity).

mod baseline;
mod judge;
mod outbox;
mod reported;

use alloc::{boxed::Box, collections::BTreeSet, string::String, vec::Vec};

pub use baseline::BASELINES_MAX;
pub use outbox::{BACKOFF, QUEUE_MAX, SPLIT_WAIT};
pub use reported::REPORTED_MAX;

use self::{baseline::Baselines, judge::Artifact, outbox::Outbox, reported::Reported};
use super::{
    facts::{Change, FoundContent, IntegritySettings, Measured},
    hooks::Hooks,
    notice::{Notice, streak::Streak},
    verdict::violations,
};
use crate::{
    backoff::Jitter,
    step::Step,
    time::{Mono, Now},
    wire::{grammar::Checksum, integrity::IntegrityViolation},
};

/// The longest name of an artifact, in bytes: as long as a path can be.
pub const ARTIFACT_ID_MAX: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Integrity {
    baselines: Baselines,
    reported: Reported,
    outbox: Outbox,
    /// Looks in a row that met more than there is room for.
    crowded: Streak,
    /// What could not be read at the last look.
    unread: BTreeSet<Artifact>,
    /// When everything is looked at next; absent while the identity rests.
    due: Option<Mono>,
}

/// What the machine decides by.
#[derive(Clone, Copy, Debug)]
pub struct Kit<'k> {
    pub settings: &'k IntegritySettings,
    pub hooks: &'k Hooks,
    /// Of the running program.
    pub version: &'k str,
    /// Of the running image.
    pub image: Checksum,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// What a start found of the baselines on the disk.
    Loaded(FoundContent),
    Armed,
    /// There was a look at the hooks.
    Looked,
    /// There was a look at the program and the host key.
    Measured(Box<Measured>),
    /// A run was refused, because the hook has this digest by now.
    Differs {
        hook: String,
        observed: Checksum,
    },
    /// A change of the file of the baselines is durable, or was refused.
    Kept(Result<(), String>),
    Answered {
        verdict: violations::Reported,
        jitter: Jitter,
    },
    Quieted,
    Retimed,
    /// The process ends.
    Closed,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Look at the program and the host key.
    Measure,
    /// Look at the hooks.
    Look,
    /// Change the file of the baselines.
    Keep(Change),
    Post(Vec<IntegrityViolation>),
    Tell(Notice),
}

impl Integrity {
    /// Moves on one input.
    pub fn step(mut self, kit: Kit<'_>, now: Now, input: Input) -> Step<Self, Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Loaded(content) => self.baselines.load(now.wall, content, &mut effects),
            Input::Armed => self.armed(kit, now.mono, &mut effects),
            Input::Looked => self.looked(kit, now.mono, &mut effects),
            Input::Measured(measured) => self.measured(kit, now.mono, *measured, &mut effects),
            Input::Differs { hook, observed } => {
                self.differs(kit, now.mono, (hook, observed), &mut effects);
            }
            Input::Kept(outcome) => self.baselines.kept(now.mono, outcome, &mut effects),
            Input::Answered { verdict, jitter } => {
                self.outbox.answered(now.mono, verdict, jitter, &mut effects);
            }
            Input::Quieted => {
                self.due = None;
                self.outbox.quiet();
            }
            Input::Retimed => self.retime(kit, now.mono),
            Input::Closed => self.outbox.close(&mut effects),
            Input::Ticked if self.due.is_some_and(|due| due <= now.mono) => {
                self.verify(kit, now.mono, &mut effects);
            }
            Input::Ticked => {}
        }
        self.baselines.keep(now.mono, &mut effects);
        self.outbox.send(now.mono, &mut effects);
        Step { state: self, effects }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        [self.due, self.baselines.wakeup(), self.outbox.wakeup()].into_iter().flatten().min()
    }
}
