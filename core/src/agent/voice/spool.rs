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
//! | resting | records have come | they are appended; more of them than may wait make the oldest on the disk give way |
//! | appending | appended | their sources go on behind them |
//! | appending | appended but for a rest | that is offered again once something is settled, more has come than may wait, or [`APPEND_RETRY`] has passed |
//! | appending | refused | as many of them are held in memory as there is room for; the others are offered again once there is more of it, or [`APPEND_RETRY`] has passed |
//! | resting | wanted, nothing is loaded | a batch is read |
//! | reading | read | it is sent as any other, behind what came into memory meanwhile |
//! | reading | unread | it stays on the disk, and is read at the next report tick at the earliest |
//! | resting | some of what was loaded is done with | it is settled, and removed from the disk |
//! | resting, failed | closed | shut |
//! | any with an order under way | closed | its end is waited for, whatever it is |
//!
//! One order is under way at a time. What a batch was read for is on the disk until it is settled, so that a process
//! that is killed sends it once more.
//!
//! Specification: "Buffers" of the node agent.

mod phase;
mod state;

use alloc::{format, string::String, vec::Vec};
use core::{mem, ops::Range, time::Duration};

use super::{
    accounting::Reason,
    buffer::{BUFFER_BYTES_MAX, Record, each, together},
    effect::{Desk, Effect},
    marks::Mark,
    pipeline::Pipeline,
};
use crate::agent::{
    facts::{Records, SpoolOrder, Spooled},
    notice::{Notice, one_line},
};
use phase::Phase;
use state::Appending;
pub(super) use state::Spool;

/// How many records wait for the disk at most, beside [`BUFFER_BYTES_MAX`]; more of them are held in memory.
const INCOMING_MAX: usize = 20_000;

/// How long records wait for which there was no room on the disk, or that it refused and memory has no room for, before it
/// is offered them again.
pub const APPEND_RETRY: Duration = Duration::from_secs(10);

/// How long records are held in memory alone before the disk is tried again that could not be reached.
pub const REOPEN_INTERVAL: Duration = Duration::from_secs(60);

impl Pipeline {
    /// Takes records that were kept by the filter, and where their source goes on.
    pub(super) fn hold(&mut self, desk: &Desk<'_>, records: Vec<Record>, marks: Vec<Mark>) {
        if !self.spool.takes(desk) {
            records.into_iter().for_each(|record| self.buffer.push(record));
            return self.marks.push(self.buffer.next(), marks);
        }
        let is_clear = self.spool.unkept() == 0;
        if records.is_empty() && is_clear {
            // All in front of it is on the disk, or behind the fence.
            return self.marks.push(self.spool.fence, marks);
        }
        // None of them counts before those that came earlier are on the disk.
        self.spool.marks.extend(marks);
        let bytes = self.spool.bytes() + records.iter().map(Record::bytes).sum::<usize>();
        let count = self.spool.incoming.len() + records.len();
        let most = if self.spool.is_refusing { desk.records_max() } else { INCOMING_MAX };
        let fits = count <= most && bytes <= BUFFER_BYTES_MAX;
        // What is too much goes to a disk that takes it at once.
        if fits || self.spool.phase == Phase::Resting && !self.spool.is_refusing {
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
        let done = self.spool.done(self.oldest());
        let order = if self.offers(desk) {
            self.append(desk)
        } else if done > 0 {
            self.spool.phase = Phase::Settling(done);
            SpoolOrder::Settle { records: done }
        } else if self.buffer.records() == 0 && self.spool.waiting > 0 && self.wants(desk) {
            self.spool.phase = Phase::Reading;
            SpoolOrder::Read { most: desk.settings.batch_size }
        } else {
            return;
        };
        desk.effects.push(Effect::Spool { pipe: desk.pipe, order });
    }

    /// Whether what has come is to be appended. What the disk did not take is not offered again before there is room for
    /// some of it, there or in memory, or a while has passed.
    fn offers(&self, desk: &Desk<'_>) -> bool {
        let spool = &self.spool;
        let is_refused = spool.is_refusing && self.buffer.room(desk.records_max()) == 0;
        let is_crowded = spool.is_crowded && spool.waiting > 0 && !spool.gives_way(desk);
        let is_held_up = (is_refused || is_crowded) && spool.again > desk.now.mono;
        !spool.incoming.is_empty() && !is_held_up
    }

    fn append(&mut self, desk: &Desk<'_>) -> SpoolOrder {
        let gives_way = self.spool.gives_way(desk);
        let bytes = self.spool.bytes();
        let records = mem::take(&mut self.spool.incoming);
        let marks = mem::take(&mut self.spool.marks);
        self.spool.phase = Phase::Appending;
        self.spool.appending = Appending { records: records.len(), bytes, marks };
        SpoolOrder::Append { records: together(records), gives_way }
    }

    /// Whether a batch is to be read: all is wanted, or there is a whole one and the control plane takes them.
    fn wants(&self, desk: &Desk<'_>) -> bool {
        let is_full = self.spool.waiting >= desk.settings.batch_size as u64;
        let is_held_up = self.leg.is_failing || self.spool.is_stuck;
        self.can_ship() && (self.spool.is_wanted || is_full && !is_held_up)
    }

    pub(super) fn spooled(&mut self, desk: &mut Desk<'_>, spooled: Spooled) {
        match spooled {
            Spooled::Opened { waiting, is_full, damaged } => {
                self.opened(desk, (waiting, is_full), damaged);
            }
            Spooled::Failed(reason) => self.spool_failed(desk, reason),
            Spooled::Appended { waiting, is_full, given_up, rest } => {
                self.appended(desk, (waiting, is_full), (given_up, rest));
            }
            Spooled::Refused { records, reason } => self.refused(desk, records, &reason),
            Spooled::Read { records, damaged } => self.loaded(desk, records, damaged),
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
        // What this process knew of the disk is counted already.
        self.account.collected += waiting.saturating_sub(self.spool.waiting);
        self.miscounted(waiting);
        self.damaged(desk, damaged);
        self.rest(waiting, is_full);
    }

    const fn rest(&mut self, waiting: u64, is_full: bool) {
        (self.spool.waiting, self.spool.is_full) = (waiting, is_full);
        self.spool.phase = Phase::Resting;
    }

    fn appended(
        &mut self,
        desk: &Desk<'_>,
        (waiting, is_full): (u64, bool),
        (given_up, rest): (u64, Records),
    ) {
        let Appending { marks, .. } = mem::take(&mut self.spool.appending);
        self.account.drop(Reason::Full, usize::try_from(given_up).unwrap_or(usize::MAX));
        self.spool.is_refusing = false;
        self.spool.is_crowded = !rest.is_empty();
        if self.spool.is_crowded {
            self.spool.again = desk.now.mono.after(APPEND_RETRY);
        }
        self.put_back(each(rest), marks);
        self.rest(waiting, is_full);
    }

    /// Records that are yet to be somewhere, in front of what has come meanwhile: none of their places counts before.
    fn put_back(&mut self, mut records: Vec<Record>, mut marks: Vec<Mark>) {
        if records.is_empty() {
            if self.spool.incoming.is_empty() {
                // No record goes to the disk in front of these.
                marks.append(&mut self.spool.marks);
            }
            return self.marks.push(self.spool.fence, marks);
        }
        records.append(&mut self.spool.incoming);
        marks.append(&mut self.spool.marks);
        (self.spool.incoming, self.spool.marks) = (records, marks);
    }

    fn refused(&mut self, desk: &mut Desk<'_>, records: Records, reason: &str) {
        let Appending { marks, .. } = mem::take(&mut self.spool.appending);
        (self.spool.phase, self.spool.is_crowded) = (Phase::Resting, false);
        self.spool.again = desk.now.mono.after(APPEND_RETRY);
        if !mem::replace(&mut self.spool.is_refusing, true) {
            let name = desk.pipe.name();
            desk.tell(Notice::warn(format!(
                "{}; the {name} are held in memory until there is room",
                one_line(reason.into())
            )));
        }
        let mut records = each(records);
        let rest = records.split_off(self.buffer.fitting(&records, desk.records_max()));
        self.buffer.push_older(records);
        self.spool.fence = self.buffer.next();
        self.put_back(rest, marks);
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
        self.buffer.push_older(records);
        self.marks.push(self.buffer.next(), marks);
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

    fn loaded(&mut self, desk: &mut Desk<'_>, records: Records, damaged: u64) {
        self.spool.phase = Phase::Resting;
        self.spool.is_stuck = false;
        self.damaged(desk, damaged);
        if records.is_empty() {
            self.miscounted(0);
            self.spool.is_wanted = false;
            return;
        }
        let begin = self.buffer.next();
        self.buffer.push_older(each(records));
        self.spool.loaded = begin..self.buffer.next();
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
        let Phase::Settling(records) = self.spool.phase else { return };
        self.spool.is_crowded = false;
        self.spool.loaded.start += records;
        self.spool.waiting = self.spool.waiting.saturating_sub(records);
        self.miscounted(waiting);
        self.spool.is_wanted &= waiting > 0;
        self.rest(waiting, is_full);
    }

    /// The pipeline ends: what is on the disk stays there, what was on its way to it is dropped. Tells which records in the
    /// buffer are on the disk.
    pub(super) fn close_spool(&mut self) -> Range<u64> {
        let done = self.spool.done(self.oldest());
        let spool = self.spool.close(done);
        self.account.drop(Reason::Stopped, spool.unkept());
        // Of those that are done with none is in the buffer.
        spool.loaded
    }

    /// Records that the disk no longer has were damaged there.
    fn miscounted(&mut self, waiting: u64) {
        let missing = self.spool.waiting.saturating_sub(waiting);
        self.account.drop(Reason::Damaged, usize::try_from(missing).unwrap_or(usize::MAX));
        self.spool.waiting = waiting;
    }
}
