//! The table of reports: what co-located programs write, kept on disk before it is answered, until the control plane
//! has it.
//!
//! What is served and sent is what is durable. Of one key one change is under way; what is asked meanwhile waits, so
//! that `If-Match` is judged against what a crash would leave. Every durable write gets a generation of its key, and
//! only a delivery of that generation takes the key off the list of what is not delivered.
//!
//! Specification: "Local entries", "Report write rules" and "Report sync"; `decisions.md` section 5 (Report sync after
//! a restart) and section 8 (Report payload).

mod load;
mod mends;
mod slot;
mod write;

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use super::{
    facts::{Change, FoundFile, StateFile},
    notice::Notice,
};
use crate::{
    ids::CallId,
    step::Step,
    time::Now,
    wire::{
        grammar::{Name, ReportKey},
        local::{KeySummary, ReportEntry},
    },
};
pub use mends::MENDS_MAX;
use mends::Mends;
use slot::{Slot, Wish};
pub use write::{Done, Draft, Refusal};

/// How many keys there may be, those of reports that were deleted and not delivered yet among them.
pub const REPORTS_MAX: usize = 4096;

/// How many writes of programs may be asked for and not done.
pub const WRITES_MAX: usize = 256;

/// What the control plane has not been told, with the generation of each; keys of an earlier grammar are deleted there.
pub type Unsynced = BTreeMap<Name, u64>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reports {
    slots: BTreeMap<ReportKey, Slot>,
    unsynced: Unsynced,
    mends: Mends,
    /// Who this node is; what was delivered for another is not delivered.
    node: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// What a start found on the disk.
    Loaded(Vec<FoundFile>),
    Put {
        asker: CallId,
        key: ReportKey,
        draft: Draft,
        if_match: Option<i64>,
    },
    Delete {
        asker: CallId,
        key: ReportKey,
    },
    /// The agent itself reports; nothing is written where it stands already.
    Published {
        key: ReportKey,
        draft: Draft,
    },
    /// A change of a file is durable, or was refused.
    Kept {
        file: StateFile,
        outcome: Result<(), String>,
    },
    /// This is who the node is from now on.
    Armed {
        node: String,
    },
    /// The control plane has this generation of a key, or will never take it.
    Settled {
        key: Name,
        generation: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Keep {
        file: StateFile,
        change: Change,
    },
    Answer {
        asker: CallId,
        outcome: Result<Done, Refusal>,
    },
    /// What stands under this key is new and durable: to be delivered, and told of.
    Changed(ReportKey),
    Tell(Notice),
}

impl Reports {
    /// Moves on one input.
    pub fn step(mut self, now: Now, input: Input) -> Step<Self, Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Loaded(files) => self.loaded(now, files, &mut effects),
            Input::Put { asker, key, draft, if_match } => {
                let wish = Wish::Put { asker: Some(asker), draft, if_match };
                self.wished(now, &key, wish, &mut effects);
            }
            Input::Delete { asker, key } => {
                self.wished(now, &key, Wish::Delete { asker }, &mut effects);
            }
            Input::Published { key, draft } => self.published(now, &key, draft, &mut effects),
            Input::Kept { file, outcome } => self.kept(now, &file, outcome, &mut effects),
            Input::Armed { node } => self.armed(node),
            Input::Settled { key, generation } => self.settled(now, &key, generation, &mut effects),
        }
        Step { state: self, effects }
    }

    /// The report of a key, as it is on the disk.
    pub fn get(&self, key: &ReportKey) -> Option<&ReportEntry> {
        self.slots.get(key)?.entry.as_ref()
    }

    /// The report of a key as the control plane is told it.
    pub fn named(&self, key: &Name) -> Option<&ReportEntry> {
        ReportKey::parse(key.as_str()).ok().and_then(|key| self.get(&key))
    }

    /// Every report without its payload, sorted by key.
    pub fn summaries(&self) -> impl Iterator<Item = KeySummary> {
        let entries = self.slots.values().filter_map(|slot| slot.entry.as_ref());
        entries.map(|entry| KeySummary { key: entry.key.clone(), version: entry.version })
    }

    pub const fn unsynced(&self) -> &Unsynced {
        &self.unsynced
    }

    /// How many changes are not done, asked for or due.
    pub fn writing(&self) -> usize {
        let open = |slot: &Slot| usize::from(slot.is_busy()) + slot.queue.len();
        self.slots.values().map(open).sum::<usize>() + self.mends.due()
    }
}
