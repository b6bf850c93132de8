//! One pipeline: its sources are asked, what they bring is held, and goes two ways.
//!
//! | When | Then |
//! |---|---|
//! | armed, and each `collect_interval` from then on | a round, unless one is under way |
//! | a source has more, there is room, and the control plane or the disk takes records | a round of those that have more, in turns where there is not room for all |
//! | each `report_interval` | all that is held goes both ways |
//! | records come | those over the limit make the oldest give way |
//! | the identity rests | rounds go on; nothing is sent |
//! | draining | no more rounds; all that is held is offered once |
//!
//! Specification: "Observability configuration" and "Agent-side conversion rules for ingest" (buffers).

use alloc::{collections::BTreeSet, vec, vec::Vec};
use core::{mem, time::Duration};

use super::{
    accounting::{Account, Reason},
    buffer::{BUFFER_BYTES_MAX, Buffer, RECORD_BYTES_MAX, Record, each},
    effect::{Answered, Desk, Effect},
    feeds::Feeds,
    figures::{Outcome, PipeFigures},
    filter,
    leg::{Gate, Leg},
    local::Local,
    marks::{Mark, Marks},
    spool::Spool,
};
use crate::{
    agent::facts::{Collected, Feed, Pipe, PipeSettings, Source},
    time::Mono,
    wire::{positions::Position, record::AuditEntry, timestamp::Timestamp},
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pipeline {
    rounds: Rounds,
    /// When all that is held is to go.
    report_due: Option<Mono>,
    pub(super) buffer: Buffer,
    pub(super) marks: Marks,
    /// Places of which nothing was read before.
    begun: Vec<Mark>,
    pub(super) account: Account,
    feeds: Feeds,
    pub(super) leg: Leg,
    pub(super) local: Local,
    pub(super) spool: Spool,
    /// Whether the local endpoint is given anything.
    is_local_open: bool,
}

/// When the sources are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rounds {
    /// Absent where they are not.
    due: Option<Mono>,
    /// The round that is under way.
    asked: Option<u64>,
    last: u64,
    /// The sources that have more.
    with_more: BTreeSet<Source>,
    /// The one that had its turn last where not all of them could have one.
    turn: Option<Source>,
    /// A tick was left out since all of them were asked, so that the next round asks all.
    left_out: bool,
}

impl Rounds {
    /// Of the sources that have more as many as there is room for, each in its turn.
    fn next(&mut self, room: usize) -> BTreeSet<Source> {
        if self.with_more.len() <= room {
            return mem::take(&mut self.with_more);
        }
        let had_turn = |source: &Source| self.turn.is_some_and(|turn| *source <= turn);
        let mut order: Vec<Source> = self.with_more.iter().copied().collect();
        order.sort_by_key(|source| (had_turn(source), *source));
        order.truncate(room);
        self.turn = order.last().copied();
        self.with_more.retain(|source| !order.contains(source));
        order.into_iter().collect()
    }
}

impl Pipeline {
    /// There is an identity to send under.
    pub(super) const fn open(&mut self) {
        self.leg.gate = Gate::Open;
        self.is_local_open = true;
    }

    pub(super) fn begin(&mut self, desk: &Desk<'_>) {
        if self.rounds.due.is_none() {
            self.rounds.due = Some(desk.now.mono);
            self.report_due = Some(desk.now.mono.after(desk.settings.report_interval));
        }
    }

    pub(super) fn collected(&mut self, desk: &mut Desk<'_>, collected: Collected) {
        if self.rounds.asked.take_if(|asked| *asked == collected.round).is_none() {
            return;
        }
        let before = self.buffer.records();
        for feed in collected.feeds {
            self.fed(desk, feed);
        }
        self.trim(desk, before);
    }

    fn fed(&mut self, desk: &mut Desk<'_>, feed: Feed) {
        let Feed { source, records, marks, more, lost, troubles } = feed;
        let told = self.feeds.heard(desk.now.mono, source, troubles, lost);
        desk.effects.extend(told.into_iter().map(Effect::Tell));
        match more {
            true => self.rounds.with_more.insert(source),
            false => self.rounds.with_more.remove(&source),
        };
        self.account.collected += records.len() as u64 + lost;
        self.account.lose(lost);
        let all = records.len();
        let mut kept = each(records);
        kept.retain(|record| filter::keeps(desk.filter, record));
        self.account.filtered += (all - kept.len()) as u64;
        let (mut begun, marks) = marks.into_iter().partition(|mark| self.is_begun(desk, mark));
        self.begun.append(&mut begun);
        self.hold(desk, kept, marks);
    }

    /// Whether a file is read from its beginning of whose place nothing is known yet: no record stands in front of that, and
    /// it is found again by it wherever it is moved before any of its lines is taken.
    fn is_begun(&self, desk: &Desk<'_>, (name, place): &Mark) -> bool {
        let is_beginning = matches!(place, Some(Position::Offset { offset: 0, .. }));
        let is_known = || {
            desk.positions.places.contains_key(name)
                || self.marks.hold(name)
                || self.spool.holds_mark(name)
        };
        is_beginning && !is_known()
    }

    /// Without a local endpoint nobody could be told of it.
    pub(super) fn did(&mut self, desk: &mut Desk<'_>, entry: AuditEntry) {
        self.account.collected += 1;
        if desk.settings.local.is_none() {
            self.account.local_only += 1;
            return;
        }
        let before = self.buffer.records();
        self.hold(desk, vec![Record::Event(entry)], Vec::new());
        self.trim(desk, before);
    }

    /// The oldest give way to what has come, beside so many that were held before: those stay where the batch size was made
    /// smaller.
    pub(super) fn trim(&mut self, desk: &mut Desk<'_>, before: usize) {
        let excess = self.buffer.excess(desk.records_max().max(before));
        self.give_up(desk, excess, Reason::Full);
    }

    pub(super) fn answered(&mut self, desk: &mut Desk<'_>, answered: Answered) {
        match answered {
            Answered::Shipped(shipped) => self.shipped(desk, shipped),
            Answered::Delivered(outcome) => self.local.delivered(desk, outcome),
            Answered::Fetched(outcome) => self.local.fetched(desk, outcome),
        }
    }

    /// Longer intervals count from their next tick on, shorter ones at once.
    pub(super) fn retimed(&mut self, desk: &Desk<'_>) {
        let (now, settings) = (desk.now.mono, desk.settings);
        self.begin(desk);
        let sooner = |due: Mono, interval| due.min(now.after(interval));
        self.rounds.due = self.rounds.due.map(|due| sooner(due, settings.collect_interval));
        self.report_due = self.report_due.map(|due| sooner(due, settings.report_interval));
    }

    pub(super) fn quiet(&mut self) {
        self.recall();
        self.local.quiet();
        self.is_local_open = false;
    }

    pub(super) fn drain(&mut self) {
        (self.rounds.due, self.report_due) = (None, None);
        self.local.until = u64::MAX;
        self.spool.is_wanted = true;
        self.leg.gate = match self.leg.gate {
            Gate::Open => Gate::Draining,
            Gate::Draining | Gate::Shut => Gate::Shut,
        };
    }

    /// Nothing is waited for any more.
    pub(super) fn cut(&mut self) {
        self.recall();
        self.local.close();
        self.is_local_open = false;
    }

    /// Ends the pipeline; what it holds is accounted for.
    pub(super) fn close(&mut self, now: Mono, pipe: Pipe) -> Option<Effect> {
        self.cut();
        (self.rounds, self.report_due) =
            (Rounds { last: self.rounds.last, ..Rounds::default() }, None);
        // Their marks are not kept, so that another process reads them again.
        self.marks = Marks::default();
        let on_disk = self.close_spool();
        let records = self.buffer.take(self.buffer.waiting());
        self.buffer.let_go(&records);
        let (on_disk, gone): (Vec<_>, Vec<_>) =
            records.into_iter().partition(|held| on_disk.contains(&held.number));
        // The parts of a point are one record there.
        let parts = on_disk.windows(2).filter(|two| two[0].number == two[1].number).count();
        self.account.collected -= parts as u64;
        let local_only = gone.iter().filter(|held| held.record.is_local_only()).count();
        self.account.local_only += local_only as u64;
        self.account.drop(Reason::Stopped, gone.len() - local_only);
        self.account.tell_last(now, pipe).map(Effect::Tell)
    }

    /// Time has passed, and there may be room: begins what can be begun.
    pub(super) fn advance(&mut self, desk: &mut Desk<'_>) {
        if due(&mut self.report_due, desk.now.mono, desk.settings.report_interval) {
            self.local.until = self.buffer.next();
            self.leg.size = None;
            self.spool.is_wanted = true;
            self.leg.until = self.buffer.next();
        }
        self.ship(desk);
        self.spool(desk);
        self.local.pack(desk, &self.buffer);
        if self.is_local_open {
            self.local.advance(desk);
        }
        self.ask(desk);
        let told = self.account.tell(desk.now.mono, desk.pipe);
        desk.effects.extend(told.map(Effect::Tell));
    }

    fn ask(&mut self, desk: &mut Desk<'_>) {
        let is_running = self.rounds.due.is_some();
        let is_due = due(&mut self.rounds.due, desk.now.mono, desk.settings.collect_interval);
        self.rounds.left_out |= is_due;
        let in_memory = self.buffer.room(desk.records_max());
        let room = match self.spool.takes(desk) {
            true => self.spool.room(desk.records_max(), in_memory),
            false => in_memory,
        };
        let goes_on = !self.rounds.with_more.is_empty()
            && self.leg.gate == Gate::Open
            && (!self.leg.is_failing || self.spool.takes(desk))
            && room >= enough(desk.settings);
        if !is_running || self.rounds.asked.is_some() || !(is_due || goes_on) {
            return;
        }
        self.rounds.last += 1;
        self.rounds.asked = Some(self.rounds.last);
        let only = match mem::take(&mut self.rounds.left_out) {
            true => None,
            false => Some(self.rounds.next(room)),
        };
        let asked = only.as_ref().map_or(desk.settings.sources.len(), BTreeSet::len);
        let is_first = self.rounds.last == 1 && desk.pipe != Pipe::Metrics;
        desk.effects.push(Effect::Collect {
            pipe: desk.pipe,
            round: self.rounds.last,
            only,
            // What one brings must not make that of another give way; but with less room than sources each may bring one,
            // since otherwise none would ever be heard.
            room: (room / asked.max(1)).max(room.min(1)),
            from: is_first.then(|| desk.positions.clone()),
        });
    }

    /// Takes the marks that no record stands in front of any longer.
    pub(super) fn settled(&mut self) -> Vec<Mark> {
        let mut settled = mem::take(&mut self.begun);
        settled.append(&mut self.marks.settle(self.oldest()));
        settled
    }

    /// The number of the oldest record that is not done with, or of the next one.
    pub(super) fn oldest(&self) -> u64 {
        let waiting = self.buffer.first();
        self.leg.oldest().map_or(waiting, |oldest| oldest.min(waiting))
    }

    /// When the next tick is wanted, if at all.
    pub(super) fn wakeup(&self) -> Option<Mono> {
        let due = [self.rounds.due, self.report_due, self.account.due(), self.spool.wakeup()];
        due.into_iter().flatten().min()
    }

    /// Whether nothing that a drain waits for is under way.
    pub(super) fn is_idle(&self) -> bool {
        let is_sent =
            self.leg.gate == Gate::Shut || self.leg.is_idle() && self.buffer.waiting() == 0;
        is_sent && self.spool.is_idle() && (!self.is_local_open || self.local.is_idle())
    }

    pub(super) fn held(&self) -> usize {
        self.buffer.records() + usize::try_from(self.spool.held()).unwrap_or(usize::MAX)
    }

    pub(super) fn failures(&self) -> u64 {
        self.account.failures()
    }

    /// When the control plane took a batch last, in whole seconds.
    pub(super) fn last_report(&self) -> Option<Timestamp> {
        self.leg.last_success.map(|now| Timestamp::from(now.wall.second()))
    }

    pub(super) fn figures(&self, pipe: Pipe, settings: &PipeSettings) -> PipeFigures {
        let account = &self.account;
        PipeFigures {
            pipe,
            collected: account.collected,
            sent: account.sent,
            filtered: account.filtered,
            local_only: account.local_only,
            dropped: Reason::ALL.map(|reason| (reason, account.dropped(reason))).into(),
            damaged_bytes: account.damaged_bytes,
            held_records: self.held() as u64,
            held_bytes: (self.buffer.bytes() + self.spool.bytes()) as u64,
            requests: Outcome::ALL.map(|outcome| (outcome, account.requests(outcome))).into(),
            last_success: self.leg.last_success.map(|now| now.mono),
            local: settings.local.as_ref().map(|_| self.local.figures),
            sources: self.feeds.figures(),
        }
    }
}

/// Whether the time has come; the next one is set where it has.
fn due(at: &mut Option<Mono>, now: Mono, interval: Duration) -> bool {
    let Some(before) = at.filter(|at| *at <= now) else { return false };
    let next = before.after(interval);
    *at = Some(if next > now { next } else { now.after(interval) });
    true
}

/// How much room makes a round worth while that nothing but a source with more asks for.
fn enough(settings: &PipeSettings) -> usize {
    settings.batch_size.clamp(1, BUFFER_BYTES_MAX / RECORD_BYTES_MAX / 2)
}
