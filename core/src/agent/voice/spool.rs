//! Records that wait on the disk: what is collected goes there first, and comes back batch by batch.
//!
//! | Phase | Told | Then |
//! |---|---|---|
//! | shut | the pipeline moves | it is opened |
//! | opening | opened | what an earlier process left is held |
//! | opening, any order of a disk without its thread | failed | records are held in memory alone |
//! | failed | [`REOPEN_INTERVAL`] has passed | it is opened again |
//! | reopening | opened | as in the beginning, behind what is held in memory |
//! | reopening | failed | as before, without a word |
//! | resting | records have come | they are appended |
//! | appending | appended | their sources go on behind them |
//! | appending | refused | as many of them are held in memory as there is room for; the others are offered again once there is more of it, or [`APPEND_RETRY`] has passed |
//! | resting | wanted, nothing is loaded | a batch is read |
//! | reading | read | it is sent as any other |
//! | reading | unread | it stays on the disk, and is read at the next report tick at the earliest |
//! | resting | of what was loaded nothing is left | it is settled, and removed from the disk |
//!
//! One order is under way at a time. What a batch was read for is on the disk until it is settled, so that a process
//! that is killed sends it once more.
//!
//! Specification: "Buffers" of the node agent.

mod phase;

use alloc::{format, string::String, vec::Vec};
use core::{mem, time::Duration};

use super::{
    accounting::Reason,
    buffer::{BUFFER_BYTES_MAX, Record, each, together},
    effect::{Desk, Effect},
    marks::Mark,
    pipeline::Pipeline,
};
use crate::{
    agent::{
        facts::{Records, SpoolOrder, Spooled},
        notice::{Notice, one_line},
    },
    time::Mono,
    wire::spool::Place,
};
use phase::Phase;

/// How many records wait for the disk at most, beside [`BUFFER_BYTES_MAX`]; more of them are held in memory.
const INCOMING_MAX: usize = 20_000;

/// How long records that the disk refused, and for which there is no room in memory, wait before it is offered them again.
pub const APPEND_RETRY: Duration = Duration::from_secs(10);

/// How long records are held in memory alone before the disk is tried again that could not be reached.
pub const REOPEN_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spool {
    phase: Phase,
    /// What is to be appended next, and where their sources go on.
    incoming: Vec<Record>,
    marks: Vec<Mark>,
    /// What is being appended.
    appending: (usize, Vec<Mark>),
    /// How many records the disk holds, those included that are loaded.
    waiting: u64,
    /// More of them would soon make the oldest give way.
    is_full: bool,
    /// Records in front of this number may be in memory alone: no source goes on before they are done with.
    fence: u64,
    /// What was read last.
    loaded: Option<(Place, u64)>,
    /// All that waits is to go, until something fails.
    pub(super) is_wanted: bool,
    is_refusing: bool,
    /// When what was refused is offered again in any case.
    again: Mono,
    /// What waits could not be read last.
    is_stuck: bool,
}

impl Spool {
    /// How many records are held here and not in the buffer.
    pub(super) fn held(&self) -> u64 {
        let loaded = self.loaded.map_or(0, |(_, records)| records);
        self.waiting - loaded.min(self.waiting) + (self.incoming.len() + self.appending.0) as u64
    }

    /// What waits for the disk, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.incoming.iter().map(Record::bytes).sum()
    }

    /// Whether a mark of a place waits for the disk.
    pub(super) fn holds_mark(&self, place: &str) -> bool {
        self.marks.iter().chain(&self.appending.1).any(|(name, _)| name == place)
    }

    /// Whether what comes goes to the disk.
    pub(super) fn takes(&self, desk: &Desk<'_>) -> bool {
        desk.settings.spool && !self.phase.is_without_disk()
    }

    /// How many records more may wait for the disk: none that would make others give way there, and no more than there is
    /// room for in memory where it refuses.
    pub(super) fn room(&self, most: usize, in_memory: usize) -> usize {
        let room = most.saturating_sub(self.incoming.len() + self.appending.0);
        // Where nothing waits any more, as on a disk whose files were spoilt, there is room whatever was told last.
        match (self.is_full && self.waiting > 0, self.is_refusing) {
            (true, _) => 0,
            (false, true) => room.min(in_memory),
            (false, false) => room,
        }
    }

    /// Whether everything is on the disk that should be, and nothing that is wanted can be read from it.
    pub(super) fn is_idle(&self) -> bool {
        match self.phase {
            Phase::Shut | Phase::Opening | Phase::Failed(_) | Phase::Reopening => {
                self.incoming.is_empty()
            }
            Phase::Resting => self.incoming.is_empty() && !(self.is_wanted && self.waiting > 0),
            Phase::Appending | Phase::Reading | Phase::Settling => false,
        }
    }

    /// When it is to be opened again, or offered what it refused.
    pub(super) const fn wakeup(&self) -> Option<Mono> {
        match self.phase {
            Phase::Failed(until) => Some(until),
            Phase::Resting if self.is_refusing && !self.incoming.is_empty() => Some(self.again),
            Phase::Shut
            | Phase::Opening
            | Phase::Resting
            | Phase::Appending
            | Phase::Reading
            | Phase::Settling
            | Phase::Reopening => None,
        }
    }
}

impl Pipeline {
    /// Takes records that were kept by the filter, and where their source goes on.
    pub(super) fn hold(&mut self, desk: &Desk<'_>, records: Vec<Record>, marks: Vec<Mark>) {
        if !self.spool.takes(desk) {
            records.into_iter().for_each(|record| self.buffer.push(record));
            return self.marks.push(self.buffer.next(), marks);
        }
        let is_clear = self.spool.incoming.is_empty() && self.spool.appending.0 == 0;
        if records.is_empty() && is_clear {
            // All in front of it is on the disk, or behind the fence.
            return self.marks.push(self.spool.fence, marks);
        }
        // None of them counts before those that came earlier are on the disk.
        self.spool.marks.extend(marks);
        let bytes = self.spool.bytes() + records.iter().map(Record::bytes).sum::<usize>();
        let count = self.spool.incoming.len() + records.len();
        let most = if self.spool.is_refusing { desk.records_max() } else { INCOMING_MAX };
        if count <= most && bytes <= BUFFER_BYTES_MAX {
            self.spool.incoming.extend(records);
            return;
        }
        records.into_iter().for_each(|record| self.buffer.push(record));
        self.spool.fence = self.buffer.next();
    }

    /// Gives the next order, where there is one and none is under way.
    pub(super) fn spool(&mut self, desk: &mut Desk<'_>) {
        if !desk.settings.spool {
            return;
        }
        if self.spool.phase.opens(desk.now.mono) {
            let order = SpoolOrder::Open;
            desk.effects.push(Effect::Spool { pipe: desk.pipe, order });
        }
        if self.spool.phase != Phase::Resting {
            return;
        }
        let is_done = self.buffer.records() == 0;
        let order = if self.offers(desk) {
            self.append()
        } else if let Some((place, _)) = self.spool.loaded.filter(|_| is_done) {
            self.spool.phase = Phase::Settling;
            SpoolOrder::Settle(place)
        } else if is_done && self.spool.waiting > 0 && self.wants(desk) {
            self.spool.phase = Phase::Reading;
            SpoolOrder::Read { most: desk.settings.batch_size }
        } else {
            return;
        };
        desk.effects.push(Effect::Spool { pipe: desk.pipe, order });
    }

    /// Whether what has come is to be appended. What the disk refuses is not offered again before some of it can be held in
    /// memory, or a while has passed.
    fn offers(&self, desk: &Desk<'_>) -> bool {
        let is_held_up = self.spool.is_refusing
            && self.buffer.room(desk.records_max()) == 0
            && self.spool.again > desk.now.mono;
        !self.spool.incoming.is_empty() && !is_held_up
    }

    fn append(&mut self) -> SpoolOrder {
        let records = mem::take(&mut self.spool.incoming);
        self.spool.phase = Phase::Appending;
        self.spool.appending = (records.len(), mem::take(&mut self.spool.marks));
        SpoolOrder::Append(together(records))
    }

    /// Whether a batch is to be read: all is wanted, or there is a whole one and the control plane takes them.
    fn wants(&self, desk: &Desk<'_>) -> bool {
        let is_full = self.spool.waiting >= desk.settings.batch_size as u64;
        let is_held_up = self.leg.is_failing || self.spool.is_stuck;
        self.can_ship(desk) && (self.spool.is_wanted || is_full && !is_held_up)
    }

    pub(super) fn spooled(&mut self, desk: &mut Desk<'_>, spooled: Spooled) {
        match spooled {
            Spooled::Opened { waiting, is_full, damaged } => {
                self.opened(desk, (waiting, is_full), damaged);
            }
            Spooled::Failed(reason) => self.spool_failed(desk, reason),
            Spooled::Appended { waiting, is_full, given_up } => {
                self.appended((waiting, is_full), given_up);
            }
            Spooled::Refused { records, reason } => self.refused(desk, records, &reason),
            Spooled::Read { records, place, damaged } => {
                self.loaded(desk, records, (place, damaged));
            }
            Spooled::Unread(reason) => self.unread(desk, reason),
            Spooled::Settled { waiting, is_full } => self.settled_on_disk(waiting, is_full),
        }
    }

    fn opened(&mut self, desk: &mut Desk<'_>, (waiting, is_full): (u64, bool), damaged: u64) {
        if self.spool.phase.is_without_disk() {
            // What is in memory alone came before whatever goes to the disk from now on.
            self.spool.fence = self.buffer.next();
            let name = desk.pipe.name();
            desk.tell(Notice::info(format!("the {name} are kept on the disk from now on")));
        }
        self.account.collected += waiting;
        self.damaged(desk, damaged);
        self.rest(waiting, is_full);
    }

    const fn rest(&mut self, waiting: u64, is_full: bool) {
        (self.spool.waiting, self.spool.is_full) = (waiting, is_full);
        self.spool.phase = Phase::Resting;
    }

    fn appended(&mut self, (waiting, is_full): (u64, bool), given_up: u64) {
        let (_, marks) = mem::take(&mut self.spool.appending);
        self.account.drop(Reason::Full, usize::try_from(given_up).unwrap_or(usize::MAX));
        self.marks.push(self.spool.fence, marks);
        self.spool.is_refusing = false;
        self.rest(waiting, is_full);
    }

    fn refused(&mut self, desk: &mut Desk<'_>, records: Records, reason: &str) {
        let (_, mut marks) = mem::take(&mut self.spool.appending);
        self.spool.phase = Phase::Resting;
        self.spool.again = desk.now.mono.after(APPEND_RETRY);
        if !mem::replace(&mut self.spool.is_refusing, true) {
            let name = desk.pipe.name();
            desk.tell(Notice::warn(format!(
                "{}; the {name} are held in memory until there is room",
                one_line(reason.into())
            )));
        }
        let mut records = each(records);
        let mut rest = records.split_off(self.buffer.fitting(&records, desk.records_max()));
        records.into_iter().for_each(|record| self.buffer.push(record));
        self.spool.fence = self.buffer.next();
        if rest.is_empty() {
            return self.marks.push(self.spool.fence, marks);
        }
        // In front of what has come meanwhile; none of their places counts before all of them are somewhere.
        rest.append(&mut self.spool.incoming);
        marks.append(&mut self.spool.marks);
        (self.spool.incoming, self.spool.marks) = (rest, marks);
    }

    /// What cannot be had from the disk now is there when it is opened.
    fn spool_failed(&mut self, desk: &mut Desk<'_>, reason: String) {
        if !self.spool.phase.is_without_disk() {
            desk.tell(Notice::error(format!(
                "{}; meanwhile the {} are held in memory alone, and it is tried again every {} s",
                one_line(reason),
                desk.pipe.name(),
                REOPEN_INTERVAL.as_secs()
            )));
        }
        let phase = Phase::Failed(desk.now.mono.after(REOPEN_INTERVAL));
        let spool = mem::replace(&mut self.spool, Spool { phase, ..Spool::default() });
        let out_of_reach = spool.held() - spool.incoming.len() as u64;
        self.account.drop(Reason::Stopped, usize::try_from(out_of_reach).unwrap_or(usize::MAX));
        let (records, marks) = (spool.incoming, spool.marks);
        let before = self.buffer.records();
        self.hold(desk, records, marks);
        self.trim(desk, before);
    }

    fn unread(&mut self, desk: &mut Desk<'_>, reason: String) {
        self.spool.phase = Phase::Resting;
        self.spool.is_wanted = false;
        if !mem::replace(&mut self.spool.is_stuck, true) {
            let name = desk.pipe.name();
            desk.tell(Notice::warn(format!(
                "{}; the {name} that wait there stay, and are tried again at each {name}.report_interval",
                one_line(reason)
            )));
        }
    }

    fn loaded(
        &mut self,
        desk: &mut Desk<'_>,
        records: Records,
        (place, damaged): (Option<Place>, u64),
    ) {
        self.spool.phase = Phase::Resting;
        self.spool.is_stuck = false;
        self.damaged(desk, damaged);
        let Some(place) = place else {
            // Nothing sound was left.
            self.miscounted(0);
            self.spool.is_wanted = false;
            return;
        };
        self.spool.loaded = Some((place, records.len() as u64));
        each(records).into_iter().for_each(|record| self.buffer.push(record));
        self.leg.until = self.buffer.next();
    }

    /// Nobody can tell how many records bytes were that are none.
    fn damaged(&mut self, desk: &mut Desk<'_>, bytes: u64) {
        self.account.damaged_bytes += bytes;
        if bytes > 0 {
            desk.tell(Notice::warn(format!(
                "{bytes} bytes of the {} that waited on the disk are damaged and passed over",
                desk.pipe.name()
            )));
        }
    }

    fn settled_on_disk(&mut self, waiting: u64, is_full: bool) {
        self.spool.is_full = is_full;
        let (_, records) = self.spool.loaded.take().unwrap_or_default();
        self.spool.waiting = self.spool.waiting.saturating_sub(records);
        self.miscounted(waiting);
        self.spool.is_wanted &= waiting > 0;
        self.spool.phase = Phase::Resting;
    }

    /// The process ends: what is on the disk stays there, what was on its way to it is dropped. Tells how many of the
    /// records in the buffer are on the disk.
    pub(super) fn close_spool(&mut self) -> usize {
        let unkept = self.spool.incoming.len() + self.spool.appending.0;
        self.account.drop(Reason::Stopped, unkept);
        (self.spool.incoming, self.spool.marks) = (Vec::new(), Vec::new());
        self.spool.appending = (0, Vec::new());
        if matches!(self.spool.phase, Phase::Failed(_)) {
            self.spool.phase = Phase::Shut;
        }
        let Some((_, loaded)) = &mut self.spool.loaded else { return 0 };
        let left = self.buffer.records().min(usize::try_from(*loaded).unwrap_or(usize::MAX));
        *loaded -= left as u64;
        left
    }

    /// Records that the disk no longer has were damaged there.
    fn miscounted(&mut self, waiting: u64) {
        let missing = self.spool.waiting.saturating_sub(waiting);
        self.account.drop(Reason::Damaged, usize::try_from(missing).unwrap_or(usize::MAX));
        self.spool.waiting = waiting;
    }
}
