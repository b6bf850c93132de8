//! What a spool holds on its way to the disk and back, and what more it takes.

use alloc::vec::Vec;
use core::{mem, ops::Range};

use super::phase::Phase;
use crate::{
    agent::voice::{
        buffer::{BUFFER_BYTES_MAX, Record, room_beside},
        effect::Desk,
        marks::Mark,
    },
    time::Mono,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Spool {
    pub(super) phase: Phase,
    /// What is to be appended next, and where their sources go on.
    pub(super) incoming: Vec<Record>,
    pub(super) marks: Vec<Mark>,
    /// What is being appended.
    pub(super) appending: Appending,
    /// How many records the disk holds, those included that are loaded.
    pub(super) waiting: u64,
    /// More of them would soon make the oldest give way.
    pub(super) is_full: bool,
    /// Records in front of this number may be in memory alone: no source goes on before they are done with.
    pub(super) fence: u64,
    /// The numbers in the buffer of what was read last, of which nothing is settled.
    pub(super) loaded: Range<u64>,
    /// All that waits is to go, until something fails.
    pub(in super::super) is_wanted: bool,
    pub(super) is_refusing: bool,
    /// The disk had no room for some of what it was offered last.
    pub(super) is_crowded: bool,
    /// When what it did not take is offered again in any case.
    pub(super) again: Mono,
    /// What waits could not be read last.
    pub(super) is_stuck: bool,
}

/// What is on its way to the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Appending {
    pub(super) records: usize,
    pub(super) bytes: usize,
    /// Where their sources go on.
    pub(super) marks: Vec<Mark>,
}

impl Spool {
    /// How many records are held here and not in the buffer.
    pub(in super::super) fn held(&self) -> u64 {
        let loaded = self.loaded.end - self.loaded.start;
        self.waiting - loaded.min(self.waiting) + self.unkept() as u64
    }

    /// How many of the loaded records are done with, where those in front of this number are.
    pub(super) fn done(&self, oldest: u64) -> u64 {
        oldest.clamp(self.loaded.start, self.loaded.end) - self.loaded.start
    }

    /// What the pipeline waited for before it was closed has come.
    pub(in super::super) fn ends(&mut self) -> bool {
        let has_ended = self.phase == Phase::Closing;
        if has_ended {
            self.phase = Phase::Shut;
        }
        has_ended
    }

    /// Ends it, with so many of the loaded records done with: what is on the disk stays there.
    pub(super) fn close(&mut self, done: u64) -> Self {
        let left = Self {
            phase: self.phase.closed(),
            waiting: self.waiting.saturating_sub(done),
            ..Self::default()
        };
        mem::replace(self, left)
    }

    /// How many records wait for the disk, or are on their way to it.
    pub(super) const fn unkept(&self) -> usize {
        self.incoming.len() + self.appending.records
    }

    /// What those take in memory, in bytes.
    pub(in super::super) fn bytes(&self) -> usize {
        self.incoming.iter().map(Record::bytes).sum::<usize>() + self.appending.bytes
    }

    /// Whether a mark of a place waits for the disk.
    pub(in super::super) fn holds_mark(&self, place: &str) -> bool {
        self.marks.iter().chain(&self.appending.marks).any(|(name, _)| name == place)
    }

    /// Whether what comes goes to the disk.
    pub(in super::super) fn takes(&self, desk: &Desk<'_>) -> bool {
        desk.settings.spool && !self.phase.is_without_disk()
    }

    /// How many records more may wait for the disk: none that would make others give way there, and no more than there is
    /// room for in memory where it refuses.
    pub(in super::super) fn room(&self, most: usize, in_memory: usize) -> usize {
        let room = most.saturating_sub(self.unkept()).min(room_beside(self.bytes()));
        // Where nothing waits any more, as on a disk whose files were spoilt, there is room whatever was told last.
        match ((self.is_full || self.is_crowded) && self.waiting > 0, self.is_refusing) {
            (true, _) => 0,
            (false, true) => room.min(in_memory),
            (false, false) => room,
        }
    }

    /// Whether everything is on the disk that should be, and nothing that is wanted can be read from it.
    pub(in super::super) fn is_idle(&self) -> bool {
        match self.phase {
            Phase::Shut | Phase::Opening | Phase::Failed(_) | Phase::Reopening => {
                self.incoming.is_empty()
            }
            Phase::Resting => {
                let is_kept = self.incoming.is_empty() || self.is_crowded;
                is_kept && !(self.is_wanted && self.waiting > 0)
            }
            Phase::Appending | Phase::Reading | Phase::Settling(_) | Phase::Closing => false,
        }
    }

    /// When it is to be opened again, or offered what it refused.
    pub(in super::super) const fn wakeup(&self) -> Option<Mono> {
        match self.phase {
            Phase::Failed(until) => Some(until),
            Phase::Resting if self.is_offered_later() => Some(self.again),
            Phase::Shut
            | Phase::Opening
            | Phase::Resting
            | Phase::Appending
            | Phase::Reading
            | Phase::Settling(_)
            | Phase::Reopening
            | Phase::Closing => None,
        }
    }

    const fn is_offered_later(&self) -> bool {
        (self.is_refusing || self.is_crowded) && !self.incoming.is_empty()
    }

    /// Whether more waits than may, so that the oldest on the disk give way to it.
    pub(super) fn gives_way(&self, desk: &Desk<'_>) -> bool {
        self.incoming.len() > desk.records_max() || self.bytes() > BUFFER_BYTES_MAX
    }
}
