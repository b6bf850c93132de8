//! The tunnel device takes the rotated key over: tried for about two minutes, then given up until the next start.
//!
//! | state | input | next | also |
//! |---|---|---|---|
//! | idle | committed | installing | |
//! | installing, waiting | committed with another key | installing | the newest key wins, with all its tries |
//! | installing | installed | idle | reconcile |
//! | installing | failed | waiting | |
//! | installing | failed for the eighth time | idle | tell, reconcile |
//! | waiting | ticked | installing | |
//!
//! An outcome names its key, and one of another key than the newest decides nothing. The reconcile comes behind it
//! whether the device took the key or not. Specification: "Mesh key rotation", step 3; `gaps-agent.md` 2.7.

use alloc::{format, string::String};
use core::time::Duration;

use super::notice::Notice;
use crate::{
    backoff::{Backoff, Jitter},
    step::Step,
    time::{Mono, Now},
    wire::grammar::PublicKey,
};

/// How often one key is tried.
pub const TRIES_MAX: u32 = 8;

/// "8 tries, 1 s doubling (about 2 min)".
pub const BACKOFF: Backoff = Backoff {
    base: Duration::from_secs(1),
    factor: 2,
    cap: Duration::from_secs(64),
    jitter_percent: 0,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    #[default]
    Idle,
    Installing {
        key: PublicKey,
        failures: u32,
    },
    Waiting {
        key: PublicKey,
        failures: u32,
        due: Mono,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A rotation was committed.
    Committed(PublicKey),
    Installed(PublicKey),
    Failed {
        key: PublicKey,
        reason: String,
    },
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Install(PublicKey),
    Reconcile,
    Tell(Notice),
}

impl Device {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        match (self, input) {
            (
                Self::Idle | Self::Installing { .. } | Self::Waiting { .. },
                Input::Committed(key),
            ) => install(key, 0),
            (Self::Installing { key, .. }, Input::Installed(installed)) if key == installed => {
                Step::to(Self::Idle).emit(Effect::Reconcile)
            }
            (Self::Installing { key, failures }, Input::Failed { key: failed, reason })
                if key == failed =>
            {
                self::failed(key, failures + 1, &reason, now)
            }
            (Self::Waiting { key, failures, due }, Input::Ticked) if due <= now.mono => {
                install(key, failures)
            }
            (
                Self::Idle | Self::Installing { .. } | Self::Waiting { .. },
                Input::Installed(_) | Input::Failed { .. } | Input::Ticked,
            ) => Step::to(self),
        }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match self {
            Self::Waiting { due, .. } => Some(*due),
            Self::Idle | Self::Installing { .. } => None,
        }
    }
}

fn install(key: PublicKey, failures: u32) -> Step<Device, Effect> {
    Step::to(Device::Installing { key, failures }).emit(Effect::Install(key))
}

fn failed(key: PublicKey, failures: u32, reason: &str, now: Now) -> Step<Device, Effect> {
    if failures >= TRIES_MAX {
        let told = Notice::error(format!(
            "the tunnel device does not take the rotated mesh key: {reason}; this node stays off the mesh until the \
             agent is started again"
        ));
        return Step::to(Device::Idle).emit(Effect::Tell(told)).emit(Effect::Reconcile);
    }
    let told = Notice::warn(format!(
        "the tunnel device does not take the rotated mesh key: {reason}; trying again"
    ));
    let due = now.mono.after(BACKOFF.wait(failures, Jitter::NONE));
    Step::to(Device::Waiting { key, failures, due }).emit(Effect::Tell(told))
}
