//! What this node runs and offers, told to the control plane.
//!
//! | State | Fact | Next | also |
//! |---|---|---|---|
//! | dormant | armed | waiting, or sending where all is known | measure, where a host key is configured |
//! | waiting | the hooks were seen, and the host key read, for the first time | sending | put |
//! | resting | what is to be declared differs from what was accepted | due after [`CHANGE_WAIT`] | |
//! | due | the time has come, and it still differs | sending | put |
//! | sending | accepted | resting, or due where it differs by now | |
//! | sending | a hook is not taken | due after [`CHANGE_WAIT`], without that hook | tell |
//! | sending | failed | due after a wait that doubles, with the newest content, whatever was accepted before | tell by the rule of `notice/streak` |
//! | any | quieted | dormant | |
//!
//! Specification: "Capabilities"; `decisions.md` section 8 (Capability manifest); `gaps-agent.md` sections 2.8 and 7.

mod content;

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use core::time::Duration;

use super::{
    hooks::Hooks,
    notice::{Notice, streak::Streak},
    verdict::manifest::Declared,
};
use crate::{
    backoff::{Backoff, Jitter},
    step::Step,
    time::{Mono, Now},
    wire::{
        capabilities::CapabilityManifestRequest,
        grammar::{Checksum, Fingerprint},
    },
};

/// How long changes are gathered before they are told.
pub const CHANGE_WAIT: Duration = Duration::from_secs(1);

/// The waits between tries.
pub const BACKOFF: Backoff = Backoff {
    base: Duration::from_secs(2),
    factor: 2,
    cap: Duration::from_secs(60),
    jitter_percent: 0,
};

/// The longest manifest, in bytes: "413 over 32 KiB" of the public contract.
pub const BODY_MAX: usize = 32 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    phase: Phase,
    /// As it was read last.
    fingerprint: Option<Fingerprint>,
    /// There was a look at the host key.
    measured: bool,
    /// What is to be declared; absent while it is not known.
    wanted: Option<CapabilityManifestRequest>,
    /// What this identity has declared, unless something that failed may be in its place.
    accepted: Option<CapabilityManifestRequest>,
    /// Hooks that the control plane does not take, with the digests that they are held to.
    unfit: BTreeMap<String, Checksum>,
    /// What was wrong at the last look.
    wrong: BTreeSet<String>,
    /// Tries in a row that failed.
    streak: Streak,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Dormant,
    Resting {
        due: Option<Mono>,
    },
    Sending(Box<CapabilityManifestRequest>),
}

/// What the machine decides by.
#[derive(Clone, Copy, Debug)]
pub struct Kit<'k> {
    pub hooks: &'k Hooks,
    /// Whether a host key is configured.
    pub host_key: bool,
    pub version: &'k str,
    pub checksum: Checksum,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    /// There was a look at the hooks.
    Looked,
    /// There was a look at the host key; absent where there is none, an error where that cannot be told.
    Measured(Result<Option<Fingerprint>, ()>),
    Answered {
        verdict: Declared,
        jitter: Jitter,
    },
    Quieted,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Put(Box<CapabilityManifestRequest>),
    /// Look at the host key.
    Measure,
    Tell(Notice),
}

impl Manifest {
    /// Moves on one input.
    pub fn step(mut self, kit: Kit<'_>, now: Now, input: Input) -> Step<Self, Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Armed => self.armed(kit, &mut effects),
            Input::Looked => self.renew(kit, &mut effects),
            Input::Measured(outcome) => {
                self.measured = true;
                if let Ok(fingerprint) = outcome {
                    self.fingerprint = fingerprint;
                }
                self.renew(kit, &mut effects);
            }
            Input::Answered { verdict, jitter } => {
                self.answered(kit, now.mono, (verdict, jitter), &mut effects);
            }
            Input::Quieted => self.phase = Phase::Dormant,
            Input::Ticked => {}
        }
        self.advance(now.mono, &mut effects);
        Step { state: self, effects }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match self.phase {
            Phase::Resting { due } => due,
            Phase::Dormant | Phase::Sending(_) => None,
        }
    }
}
