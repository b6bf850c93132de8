//! The hooks of this node: which were discovered, and the digest that each is held to as long as this process lives.
//!
//! | state | input | next | also |
//! |---|---|---|---|
//! | off | started | looking | look |
//! | resting | reload, verification, or the time has come | looking | look |
//! | resting | stirred | resting, until nothing has stirred for [`DEBOUNCE`], at most [`DEBOUNCE_MAX`] | |
//! | looking | reload | looking, and once more behind it | |
//! | looking | stirred | looking | |
//! | looking | scanned | resting; looking where a reload came meanwhile | answer the reloads that came before |
//! | any | quieted | off | refuse all reloads |
//!
//! A look that cannot be followed by a watch, or that failed, is repeated after [`RESCAN`]; one that met a file which
//! was changed a moment ago, after [`SETTLE`]. Each fault of a file is told once as long as it lasts. What a run executes
//! is judged once more when it begins, by the same rules, on the open file (`trust.rs`, `refused.rs`).
//! Specification: "Built-in actions" (hook runs) of the node agent; `gaps-agent.md` section 2.8; `docs/deviations.md`.

mod known;
mod look;
mod name;
mod refused;
mod scan;
pub mod trust;

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use core::time::Duration;

pub use name::{NAME_MAX, Named, SIDECAR_SUFFIX, is_legal, named};
pub use refused::Refused;
pub use scan::is_settled;

use super::{facts::Scan, notice::Notice};
use crate::{
    ids::CallId,
    step::Step,
    time::Now,
    wire::{grammar::Checksum, local::HookInfo},
};
use look::Phase;

/// How long nothing stirs in the directory before it is looked at again.
pub const DEBOUNCE: Duration = Duration::from_millis(200);
/// How long a directory that never rests puts a look off.
pub const DEBOUNCE_MAX: Duration = Duration::from_secs(5);
/// How long a file is left alone before its content counts: who copies a file is still writing it.
pub const SETTLE: Duration = Duration::from_millis(200);
/// How long until the next look where changes are not told.
pub const RESCAN: Duration = Duration::from_secs(60);
/// How many names of the directory are looked at.
pub const ENTRIES_MAX: usize = 1024;
/// How many hooks there are at once.
pub const HOOKS_MAX: usize = 256;
/// How many digests are remembered of hooks that came and went.
pub const PINS_MAX: usize = 4096;
/// The longest hook, in bytes: a run holds it in memory.
pub const HOOK_MAX: usize = 32 << 20;
/// How many reloads wait at once.
pub const RELOADS_MAX: usize = 16;
/// How many looks answer a reload at most: who has just copied a hook gets it told.
pub const RELOAD_LOOKS_MAX: u32 = 5;

/// The hooks that may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// The digest of each at its first discovery.
    pins: BTreeMap<String, Checksum>,
    listed: BTreeMap<String, Listed>,
    /// Whose content was not to be told at the last look.
    unsettled: BTreeSet<String>,
    /// What was wrong at the last look.
    wrong: BTreeSet<String>,
    phase: Phase,
    /// There has been a look.
    looked: bool,
    /// The last look, or the one under way, is owed to something that stirred.
    stirred: bool,
    /// Reloads that the look under way answers.
    asking: Vec<CallId>,
    /// How many looks these have waited for.
    looks: u32,
    /// Reloads that came during it.
    queued: Vec<CallId>,
}

/// A hook as it was seen last.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    info: HookInfo,
    digest: Checksum,
    timeout: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Started,
    Scanned(Scan),
    Stirred,
    Reload(CallId),
    /// It is time to look whether everything still is what it was.
    Verify,
    /// The process ends.
    Quieted,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Look,
    /// A look that these had asked for ended; what was wrong, and why nothing was seen.
    Answer {
        askers: Vec<CallId>,
        wrong: Vec<String>,
        failure: Option<String>,
    },
    /// There is nobody who looks, or too many wait for it.
    Refuse {
        asker: CallId,
        crowded: bool,
    },
    Tell(Notice),
}

impl Hooks {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Started if self.phase == Phase::Off => self.look(),
            Input::Scanned(scan) if matches!(self.phase, Phase::Looking { .. }) => {
                self.scanned(now, scan)
            }
            Input::Stirred => Step::to(self.stir(now.mono)),
            Input::Reload(asker) => self.reload(asker),
            Input::Verify if matches!(self.phase, Phase::Resting { .. }) => self.look(),
            Input::Quieted => self.quieted(),
            Input::Ticked if self.wakeup().is_some_and(|due| due <= now.mono) => self.look(),
            Input::Started | Input::Scanned(_) | Input::Verify | Input::Ticked => Step::to(self),
        }
    }
}
