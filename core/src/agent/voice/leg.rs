//! The way to the control plane: one batch at a time, kept until it is taken or given up.
//!
//! | Answer to a batch | The batch | Then |
//! |---|---|---|
//! | taken | done with | the next one |
//! | malformed | dropped | the next one |
//! | too large, with several records in its body | put back | its halves at once, and no larger one until the next report tick |
//! | too large, with one record, which is a point of several samples | split in two | the first of its parts, as above |
//! | too large, with any other record alone | dropped | the next one, and twice as large a one behind each that is taken: it was that record |
//! | not provisioned | dropped quietly | the next one |
//! | unauthorized, failed | put back | nothing until the next report tick |
//!
//! A batch is sent where a report tick wants all of it, or where it is full. After anything but a batch that was taken,
//! full ones wait for the ticks too, and so does what is on the disk, so that nothing is asked for again and again. At a
//! drain everything is wanted until something fails.
//!
//! The records of a batch are in the order in which they were collected: what the disk gave or refused behind what has
//! come into memory meanwhile goes by itself.
//!
//! Specification: "Agent-side conversion rules for ingest" (sending behaviour on ingest errors, buffers).

use alloc::{format, vec::Vec};
use core::mem;

use super::{
    accounting::Reason,
    batch::{Batch, CHUNK_BYTES_MAX, encode, is_sent, least, tried},
    buffer::Held,
    effect::{Desk, Effect},
    figures::Outcome,
    pipeline::Pipeline,
};
use crate::{
    agent::{
        facts::Bytes,
        notice::{
            Level, Notice,
            streak::{Kind, Streak},
        },
        verdict::ingest::Shipped,
    },
    time::Now,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Leg {
    phase: Phase,
    pub(super) gate: Gate,
    /// Records in front of this number are wanted.
    pub(super) until: u64,
    /// The last batch was not taken.
    pub(super) is_failing: bool,
    /// How many records a batch may have until the next report tick, where that is less than the settings say.
    pub(super) size: Option<usize>,
    /// One record alone was too large, and nothing was since.
    grows: bool,
    /// When a batch was taken last.
    pub(super) last_success: Option<Now>,
    streak: Streak,
    /// That the control plane is not set up to take them was told.
    is_unprovisioned: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Sending {
        records: Vec<Held>,
        survivors: usize,
    },
}

/// Whether batches may be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Gate {
    #[default]
    Shut,
    Open,
    Draining,
}

/// What becomes of the records of a batch that is done with.
enum Fate {
    Sent,
    Dropped(Reason),
}

impl Leg {
    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// The number of the oldest record that is under way.
    pub(super) fn oldest(&self) -> Option<u64> {
        match &self.phase {
            Phase::Sending { records, .. } => records.first().map(|held| held.number),
            Phase::Idle => None,
        }
    }
}

impl Pipeline {
    /// Sends the next batch that is wanted, if there is one and none is under way.
    pub(super) fn ship(&mut self, desk: &mut Desk<'_>) {
        while self.leg.is_idle() && self.is_wanted(desk) {
            let full = desk.settings.batch_size.max(1);
            let limit = self.leg.size.map_or(full, |size| size.min(full));
            let held = self.buffer.iter().map(|held| &held.record);
            let mut count = tried(held, limit.min(self.buffer.in_order(0)), least);
            if !self.copy(desk, count) && self.local.is_behind() {
                return;
            }
            let Batch { body, survivors } = loop {
                let records = self.buffer.iter().take(count);
                let batch = encode(desk.pipe, records.map(|held| &held.record));
                if batch.body.len() <= CHUNK_BYTES_MAX || count == 1 {
                    break batch;
                }
                count /= 2;
            };
            let records = self.take(desk, count);
            if survivors == 0 {
                self.settle(&records, 0, &Fate::Sent);
                continue;
            }
            self.leg.phase = Phase::Sending { records, survivors };
            desk.effects.push(Effect::Ship { pipe: desk.pipe, body: Bytes(body) });
        }
    }

    fn is_wanted(&self, desk: &Desk<'_>) -> bool {
        let waiting = self.buffer.waiting();
        let is_due = match self.leg.gate {
            Gate::Shut => false,
            Gate::Draining => true,
            Gate::Open => {
                let is_full = waiting >= desk.settings.batch_size && !self.leg.is_failing;
                is_full || self.buffer.first() < self.leg.until
            }
        };
        waiting > 0 && is_due
    }

    /// Whether a batch might be sent, were there one.
    pub(super) fn can_ship(&self) -> bool {
        self.leg.gate != Gate::Shut && self.leg.is_idle()
    }

    /// Takes the answer to the batch that is under way.
    pub(super) fn shipped(&mut self, desk: &mut Desk<'_>, shipped: Shipped) {
        let Phase::Sending { records, survivors } = mem::take(&mut self.leg.phase) else { return };
        let dropped = |reason| Fate::Dropped(reason);
        match shipped {
            Shipped::Taken => {
                self.settle(&records, survivors, &Fate::Sent);
                self.taken(desk);
            }
            Shipped::Malformed(reason) => {
                self.settle(&records, survivors, &dropped(Reason::Malformed));
                self.missed(desk, Outcome::Malformed, &reason);
            }
            Shipped::TooLarge(_) if survivors > 1 => self.halve(records, survivors),
            Shipped::TooLarge(reason) => self.split_or_drop(desk, records, survivors, &reason),
            Shipped::NotProvisioned => {
                self.settle(&records, survivors, &dropped(Reason::NotProvisioned));
                self.unprovisioned(desk);
            }
            Shipped::Unauthorized(reason) => {
                self.keep(records);
                self.missed(desk, Outcome::Unauthorized, &reason);
                desk.effects.push(Effect::Unauthorized);
            }
            Shipped::Failed(reason) => {
                self.keep(records);
                self.missed(desk, Outcome::Failed, &reason);
            }
        }
    }

    fn taken(&mut self, desk: &mut Desk<'_>) {
        self.account.ended(Outcome::Accepted);
        self.leg.last_success = Some(desk.now);
        (self.leg.is_failing, self.leg.is_unprovisioned) = (false, false);
        if self.leg.grows {
            self.leg.size = self.leg.size.map(|size| size.saturating_mul(2));
        }
        let good = format!("the control plane takes the {}", desk.pipe.name());
        let told = mem::take(&mut self.leg.streak).ended(desk.now.mono, &good);
        desk.effects.extend(told.map(Effect::Tell));
        desk.effects.push(Effect::Admitted);
    }

    /// Of records that no body holds there may be any number, which must not lead to the same body again.
    fn halve(&mut self, records: Vec<Held>, survivors: usize) {
        self.account.ended(Outcome::TooLarge);
        let sent = records.iter().enumerate().filter(|(_, held)| is_sent(&held.record));
        let last = sent.map(|(at, _)| at).nth(survivors.div_ceil(2) - 1);
        self.leg.size = last.map(|at| at + 1);
        self.leg.grows = false;
        let behind = records.last().map_or(0, |held| held.number + 1);
        self.leg.until = self.leg.until.max(behind);
        self.buffer.put_back(records);
    }

    /// A point is as many records to the control plane as it has samples, and its parts count as records of their own, by
    /// which more may be held than otherwise.
    fn split_or_drop(
        &mut self,
        desk: &mut Desk<'_>,
        mut records: Vec<Held>,
        survivors: usize,
        reason: &str,
    ) {
        let alone = records.iter().position(|held| is_sent(&held.record));
        if alone.is_some_and(|at| self.buffer.split(&mut records, at)) {
            self.account.collected += 1;
            return self.halve(records, 2);
        }
        self.leg.grows = true;
        self.settle(&records, survivors, &Fate::Dropped(Reason::TooLarge));
        self.missed(desk, Outcome::TooLarge, reason);
    }

    /// What is kept is offered at a later tick, which a drain does not see.
    fn keep(&mut self, records: Vec<Held>) {
        self.buffer.put_back(records);
        self.leg.until = 0;
        if self.leg.gate == Gate::Draining {
            self.leg.gate = Gate::Shut;
        }
    }

    fn missed(&mut self, desk: &mut Desk<'_>, outcome: Outcome, reason: &str) {
        self.failed(outcome);
        // What is dropped is warned of in the summary, and there alone.
        let (kind, level, fate) = match outcome {
            Outcome::Malformed | Outcome::TooLarge => (Kind::Unacceptable, Level::Info, "dropped"),
            Outcome::Unauthorized => (Kind::Unauthorized, Level::Warn, "kept"),
            Outcome::Accepted | Outcome::NotProvisioned | Outcome::Failed => {
                (Kind::Failed, Level::Warn, "kept")
            }
        };
        let name = desk.pipe.name();
        let text =
            format!("the control plane did not take a batch of the {name}: {reason}; it is {fate}");
        let (streak, notice) = self.leg.streak.failed(desk.now.mono, kind, Notice::of(level, text));
        self.leg.streak = streak;
        desk.tell(notice);
    }

    /// What waits on the disk waits for the next tick too: all of it would be given up at once otherwise.
    fn failed(&mut self, outcome: Outcome) {
        self.account.ended(outcome);
        self.leg.is_failing = true;
        self.spool.is_wanted = false;
    }

    fn unprovisioned(&mut self, desk: &mut Desk<'_>) {
        self.failed(Outcome::NotProvisioned);
        if !mem::replace(&mut self.leg.is_unprovisioned, true) {
            desk.tell(Notice::info(format!(
                "the control plane is not set up to take the {}; they are dropped until it is",
                desk.pipe.name()
            )));
        }
    }

    /// Accounts for records that were taken out of the buffer, and lets them go.
    fn settle(&mut self, records: &[Held], survivors: usize, fate: &Fate) {
        let local_only = records.iter().filter(|held| held.record.is_local_only()).count();
        self.account.local_only += local_only as u64;
        self.account.drop(Reason::Unconvertible, records.len() - survivors - local_only);
        match fate {
            Fate::Sent => self.account.sent += survivors as u64,
            Fate::Dropped(reason) => self.account.drop(*reason, survivors),
        }
        self.buffer.let_go(records);
    }

    /// Drops the oldest records that wait, and no others.
    pub(super) fn give_up(&mut self, desk: &mut Desk<'_>, count: usize, reason: Reason) {
        if count > 0 {
            self.copy(desk, count);
            let records = self.take(desk, count);
            let local_only = records.iter().filter(|held| held.record.is_local_only()).count();
            self.settle(&records, records.len() - local_only, &Fate::Dropped(reason));
        }
    }

    /// Packs the first records for the local endpoint, and tells whether there was room for all.
    fn copy(&mut self, desk: &Desk<'_>, count: usize) -> bool {
        let end = self.buffer.iter().take(count).next_back().map_or(0, |held| held.number + 1);
        self.local.until = self.local.until.max(end);
        self.local.pack(desk, &self.buffer);
        self.local.given >= end
    }

    /// Takes the first records out; those that the local endpoint was not given by now never go there.
    fn take(&mut self, desk: &mut Desk<'_>, count: usize) -> Vec<Held> {
        let records = self.buffer.take(count);
        let given = self.local.given;
        let passed = records.iter().filter(|held| held.number >= given).count();
        let end = records.last().map_or(given, |held| held.number + 1);
        self.local.pass(desk, end, passed);
        records
    }

    /// Whoever waits for an answer waits no longer: the batch is as if it had not been sent.
    pub(super) fn recall(&mut self) {
        if let Phase::Sending { records, .. } = mem::take(&mut self.leg.phase) {
            self.buffer.put_back(records);
        }
        self.leg.gate = Gate::Shut;
    }
}
