//! Records that wait on the disk: a disk beside the machine that refuses, runs full and is killed, and a count beside both.

use std::collections::VecDeque;

use meshward_core::{
    agent::{
        Collected, Feed, Level, Pipe, PipeSettings, Records, Source, SpoolOrder, Spooled,
        VoiceSettings,
        verdict::ingest::Shipped,
        voice::{
            APPEND_RETRY, BUFFER_BYTES_MAX, DRAIN_FLUSH_MAX, Effect, Input, RECORD_BYTES_MAX,
            REOPEN_INTERVAL, Reason,
        },
    },
    wire::{
        positions::Position,
        record::{LogEntry, TEXT_MAX},
    },
};
use proptest::prelude::*;

use crate::{
    bench::seconds,
    support::seeds_in,
    voice::{Desk, cursor, failed, feed, lines, logs_only, pipe},
};

/// More records make the oldest give way.
const ROOM: usize = 16;
/// More records do not wait for the disk.
const INCOMING_MAX: usize = 20_000;

/// Pipelines beside a disk, which outlives them.
struct Scene {
    desk: Desk,
    disk: VecDeque<LogEntry>,
    /// How many of the oldest were read and are not settled.
    loaded: usize,
    order: Option<SpoolOrder>,
    round: Option<u64>,
    /// How many records the round may bring.
    room: usize,
    /// Whether their source has more than it brings.
    more: bool,
    batch: Option<Vec<String>>,
    /// Every message that was taken, in its order.
    taken: Vec<String>,
    next: usize,
    given_up: u64,
}

fn spooling() -> VoiceSettings {
    let logs = PipeSettings { spool: true, ..pipe(&[Source::Journald]) };
    VoiceSettings { logs: Some(logs), ..logs_only() }
}

impl Scene {
    /// A process that has begun beside what the disk holds.
    fn begun(disk: VecDeque<LogEntry>) -> Self {
        let mut scene = Self {
            desk: Desk::new(spooling()),
            disk,
            loaded: 0,
            order: None,
            round: None,
            room: 0,
            more: false,
            batch: None,
            taken: Vec::new(),
            next: 0,
            given_up: 0,
        };
        scene.give(Input::Armed);
        scene
    }

    /// The same, behind the first answer of its disk.
    fn opened(disk: VecDeque<LogEntry>) -> Self {
        let mut scene = Self::begun(disk);
        assert_eq!(scene.order, Some(SpoolOrder::Open));
        scene.carry_out();
        scene
    }

    fn waiting(&self) -> u64 {
        self.disk.len() as u64
    }

    fn is_full(&self) -> bool {
        self.disk.len() + 8 > ROOM
    }

    fn tell(&mut self, spooled: Spooled) {
        self.give(Input::Spooled(Pipe::Logs, Box::new(spooled)));
    }

    fn give(&mut self, input: Input) {
        self.desk.give(input);
        self.sends();
        for effect in self.desk.ordered.clone() {
            match effect {
                Effect::Collect { round, room, .. } => {
                    (self.round, self.room) = (Some(round), room)
                }
                Effect::Spool { order, .. } => {
                    assert_eq!(self.order.replace(order), None, "two orders at once");
                }
                Effect::Ship { .. }
                | Effect::Deliver { .. }
                | Effect::Fetch { .. }
                | Effect::Keep(_)
                | Effect::Admitted
                | Effect::Unauthorized
                | Effect::Tell(_) => {}
            }
        }
        if self.desk.settings.logs.is_some() {
            assert_eq!(self.desk.logs().sent, self.taken.len() as u64);
        }
    }

    /// A round brings so many lines, and where their source goes on.
    fn bring(&mut self, count: usize) {
        if self.round.is_some() {
            let numbers = self.next..self.next + count;
            self.next += count;
            self.flood(lines(numbers), ("journald", cursor(&self.next.to_string())));
        }
    }

    /// A round brings these lines, behind which their source goes on.
    fn flood(&mut self, lines: Vec<LogEntry>, (place, position): (&str, Position)) {
        let round = self.round.take().expect("a round is under way");
        let feed = Feed {
            marks: vec![(place.into(), Some(position))],
            more: self.more,
            ..feed(Source::Journald, Records::Lines(lines))
        };
        let collected = Collected { pipe: Pipe::Logs, round, feeds: vec![feed] };
        self.give(Input::Collected(Box::new(collected)));
    }

    /// The disk does what was ordered.
    fn carry_out(&mut self) {
        match self.order.take() {
            Some(SpoolOrder::Open) => {
                let (waiting, is_full) = (self.waiting(), self.is_full());
                self.tell(Spooled::Opened { waiting, is_full, damaged: 0 });
            }
            Some(SpoolOrder::Append { records: Records::Lines(mut lines), gives_way }) => {
                let room = ROOM.saturating_sub(self.disk.len());
                let fitting = if gives_way { lines.len() } else { room.min(lines.len()) };
                let rest = Records::Lines(lines.split_off(fitting));
                self.disk.extend(lines);
                let over = self.disk.len().saturating_sub(ROOM).min(self.disk.len() - self.loaded);
                self.disk.drain(self.loaded..self.loaded + over);
                self.given_up += over as u64;
                let (waiting, is_full) = (self.waiting(), self.is_full());
                self.tell(Spooled::Appended { waiting, is_full, given_up: over as u64, rest });
            }
            Some(SpoolOrder::Append { records: other, .. }) => panic!("{other:?} of a log"),
            Some(SpoolOrder::Read { most }) => {
                self.loaded = most.min(self.disk.len());
                let records = Records::Lines(self.disk.range(..self.loaded).cloned().collect());
                self.tell(Spooled::Read { records, damaged: 0 });
            }
            Some(SpoolOrder::Settle { records }) => {
                let done = usize::try_from(records).expect("few");
                assert!((1..=self.loaded).contains(&done), "{done} of {}", self.loaded);
                self.disk.drain(..done);
                self.loaded -= done;
                let (waiting, is_full) = (self.waiting(), self.is_full());
                self.tell(Spooled::Settled { waiting, is_full });
            }
            None => {}
        }
    }

    /// The disk does all that is ordered, and the control plane takes nothing.
    fn while_away(&mut self) {
        while self.order.is_some() {
            self.carry_out();
            self.answer(failed("away"));
        }
    }

    /// The disk takes nothing, and gives nothing.
    fn refuse(&mut self) {
        match self.order.take() {
            Some(SpoolOrder::Append { records, .. }) => {
                self.tell(Spooled::Refused { records, reason: "the disk is full".into() });
            }
            Some(SpoolOrder::Read { .. }) => self.tell(Spooled::Unread("the disk is ill".into())),
            Some(SpoolOrder::Open) => self.tell(Spooled::Failed("no such folder".into())),
            other => self.order = other,
        }
    }

    fn answer(&mut self, shipped: Shipped) {
        let Some(batch) = self.batch.take() else { return };
        if shipped == Shipped::Taken {
            self.taken.extend(batch);
        }
        self.desk.answered(shipped);
        let ordered = self.desk.ordered.clone();
        self.after(&ordered);
    }

    /// As [`Scene::give`] does behind an input.
    fn after(&mut self, ordered: &[Effect]) {
        for effect in ordered {
            if let Effect::Spool { order, .. } = effect {
                assert_eq!(self.order.replace(order.clone()), None, "two orders at once");
            }
            if let Effect::Collect { round, room, .. } = effect {
                (self.round, self.room) = (Some(*round), *room);
            }
        }
        self.sends();
        assert_eq!(self.desk.logs().sent, self.taken.len() as u64);
    }

    /// One batch is under way at a time, and its lines are in the order in which their source brought them.
    fn sends(&mut self) {
        let sent = self.desk.sent_lines();
        assert!(sent.iter().filter_map(|line| number(line)).is_sorted(), "in no order: {sent:?}");
        if !sent.is_empty() {
            assert_eq!(self.batch.replace(sent), None, "two batches at once");
        }
    }

    fn pass(&mut self, count: u64) {
        self.desk.now = self.desk.now.after(seconds(count));
        self.give(Input::Ticked);
    }

    /// Everything goes well for a while.
    fn recover(&mut self) {
        for _ in 0..400 {
            self.carry_out();
            self.answer(Shipped::Taken);
            self.bring(0);
            if self.order.is_none() && self.batch.is_none() {
                self.pass(10);
            }
        }
    }

    /// The settings are others from now on.
    fn turn(&mut self, settings: VoiceSettings) {
        self.desk.settings = settings;
        self.give(Input::Retimed);
    }

    /// The process dies, and another one begins beside the same disk.
    fn killed(self) -> Self {
        Self::begun(self.disk)
    }
}

fn long() -> LogEntry {
    LogEntry { message: "x".repeat(TEXT_MAX), ..lines(0..1).remove(0) }
}

/// The number of a line that is no flood's.
fn number(message: &str) -> Option<usize> {
    message.strip_prefix("line ")?.parse().ok()
}

fn messages(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| format!("line {number}")).collect()
}

#[test]
fn what_is_collected_goes_to_the_disk_first_and_its_source_goes_on_once_it_is_there() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.bring(3);
    assert_eq!(scene.desk.kept(), None, "nothing is durable yet");
    assert_eq!(scene.desk.logs().held_records, 3);
    scene.carry_out();
    let kept = scene.desk.kept().expect("it is on the disk");
    assert_eq!(kept.places["journald"], cursor("3"));
    assert_eq!(scene.desk.logs().held_records, 3);
    scene.pass(30);
    assert!(matches!(scene.order, Some(SpoolOrder::Read { most: 4 })));
    scene.carry_out();
    scene.answer(Shipped::Taken);
    assert_eq!(scene.order, Some(SpoolOrder::Settle { records: 3 }));
    scene.carry_out();
    assert_eq!((scene.taken.clone(), scene.disk.len()), (messages(0..3), 0));
    assert_eq!(scene.desk.logs().held_records, 0);
}

#[test]
fn a_place_without_records_is_kept_at_once() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.bring(0);
    assert!(scene.desk.kept().is_some() && scene.order.is_none());
}

#[test]
fn what_an_earlier_process_left_is_sent_first() {
    let mut scene = Scene::opened(lines(0..6).into());
    scene.next = 6;
    scene.bring(2);
    scene.recover();
    assert_eq!(scene.taken, messages(0..8));
}

#[test]
fn nothing_is_read_from_the_disk_while_the_identity_rests() {
    let mut scene = Scene::opened(lines(0..3).into());
    scene.give(Input::Quieted);
    scene.pass(60);
    assert_eq!((scene.order, scene.desk.logs().held_records), (None, 3));
}

#[test]
fn a_batch_that_is_not_taken_is_read_again_by_the_next_process() {
    let mut scene = Scene::opened(lines(0..3).into());
    scene.pass(30);
    scene.carry_out();
    assert_eq!(scene.batch, Some(messages(0..3)));
    scene.answer(failed("away"));
    let mut scene = scene.killed();
    scene.carry_out();
    assert_eq!(scene.desk.logs().held_records, 3);
    scene.recover();
    assert_eq!(scene.taken, messages(0..3));
}

/// Found by an attacker: what a halved batch had sent was sent again where its last part was not taken before a stop.
#[test]
fn what_was_taken_of_a_batch_is_not_sent_again_by_the_next_process() {
    let mut scene = Scene::opened(lines(0..4).into());
    scene.pass(30);
    scene.carry_out();
    assert_eq!(scene.batch, Some(messages(0..4)));
    scene.answer(Shipped::TooLarge("413".into()));
    assert_eq!(scene.batch, Some(messages(0..2)));
    scene.answer(Shipped::Taken);
    assert_eq!(scene.order, Some(SpoolOrder::Settle { records: 2 }));
    assert_eq!(scene.desk.logs().held_records, 2);
    scene.carry_out();
    assert_eq!(scene.batch, Some(messages(2..4)));
    scene.answer(failed("away"));
    assert_eq!((scene.order.clone(), scene.desk.logs().held_records), (None, 2));
    let mut scene = scene.killed();
    scene.carry_out();
    scene.recover();
    assert_eq!(scene.taken, messages(2..4));
}

/// Another part is done with while the first is being settled.
#[test]
fn parts_are_settled_one_behind_the_other() {
    let mut scene = Scene::opened(lines(0..4).into());
    scene.pass(30);
    scene.carry_out();
    scene.answer(Shipped::TooLarge("413".into()));
    scene.answer(Shipped::Taken);
    assert_eq!(scene.batch, Some(messages(2..4)));
    scene.answer(Shipped::Taken);
    for left in [2, 0] {
        assert_eq!(scene.desk.logs().held_records, 0);
        assert_eq!(scene.order, Some(SpoolOrder::Settle { records: 2 }));
        scene.carry_out();
        assert_eq!(scene.disk.len(), left);
    }
    assert_eq!(scene.order, None);
}

/// It was settled unsent, and counted as damaged.
#[test]
fn what_was_loaded_when_its_pipeline_was_turned_off_is_sent_once_it_is_on_again() {
    let mut scene = Scene::opened(lines(0..6).into());
    scene.pass(30);
    scene.carry_out();
    scene.answer(Shipped::TooLarge("413".into()));
    scene.answer(Shipped::Taken);
    scene.carry_out();
    assert_eq!((scene.batch.take(), scene.disk.len()), (Some(messages(2..4)), 4));
    scene.turn(VoiceSettings { logs: None, ..spooling() });
    assert_eq!(scene.order, None);
    scene.turn(spooling());
    assert_eq!(scene.order, Some(SpoolOrder::Open));
    scene.carry_out();
    let figures = scene.desk.logs();
    assert_eq!((figures.collected, figures.held_records), (6, 4), "none is counted twice");
    scene.recover();
    assert_eq!(scene.taken, messages(0..6));
    assert!(scene.desk.logs().dropped.iter().all(|(_, count)| *count == 0));
}

/// Its end was not heard, and nothing was ordered any more.
#[test]
fn an_order_that_is_under_way_when_its_pipeline_is_turned_off_holds_up_nothing_behind_it() {
    for is_late in [true, false] {
        let mut scene = Scene::opened(VecDeque::new());
        scene.bring(2);
        assert!(matches!(scene.order, Some(SpoolOrder::Append { .. })));
        scene.turn(VoiceSettings { logs: None, ..spooling() });
        if is_late {
            scene.turn(spooling());
            assert!(!matches!(scene.order, Some(SpoolOrder::Open)), "one order at a time");
            scene.carry_out();
        } else {
            scene.carry_out();
            assert_eq!(scene.order, None);
            scene.turn(spooling());
        }
        assert_eq!(scene.order, Some(SpoolOrder::Open));
        assert_eq!(scene.desk.dropped(Reason::Stopped), 2);
        scene.recover();
        assert_eq!(scene.taken, messages(0..2), "they are on the disk all the same");
    }
}

#[test]
fn what_the_disk_refuses_is_held_in_memory_and_told_once() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.bring(2);
    scene.refuse();
    assert_eq!(scene.desk.warnings().len(), 1);
    assert!(scene.desk.warnings()[0].contains("the disk is full"));
    scene.pass(10);
    scene.bring(1);
    scene.refuse();
    assert_eq!(scene.desk.warnings().len(), 1);
    scene.recover();
    assert_eq!(scene.taken, messages(0..3));
}

/// A source that can wait brings as much as it is asked for, whether batches are taken or not.
#[test]
fn nothing_gives_way_while_the_disk_refuses_and_all_of_it_comes_in_its_order() {
    for is_taken in [true, false] {
        let mut scene = Scene::opened(VecDeque::new());
        for turn in 0..200 {
            scene.bring(scene.room);
            if turn % 2 == 0 {
                scene.bring(scene.room);
                scene.refuse();
            }
            scene.answer(if is_taken { Shipped::Taken } else { failed("away") });
            scene.pass(5);
            assert_eq!(scene.desk.dropped(Reason::Full), 0, "in turn {turn}");
            assert!(scene.desk.logs().held_records <= 16, "{:?}", scene.desk.logs());
            let wakeup = scene.desk.voice.wakeup().expect("something is due");
            assert!(wakeup > scene.desk.now.mono, "it goes in circles");
        }
        assert!(scene.next >= if is_taken { 100 } else { 8 }, "{} were asked for", scene.next);
        scene.recover();
        assert_eq!((scene.taken.clone(), scene.disk.len()), (messages(0..scene.next), 0));
    }
}

#[test]
fn a_source_with_more_is_read_on_to_the_disk_until_it_is_full_and_then_waits() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.more = true;
    // Nothing is taken, and no time passes.
    while scene.round.is_some() && scene.room > 0 {
        scene.bring(scene.room.min(4));
        scene.carry_out();
        scene.answer(failed("away"));
    }
    assert_eq!((scene.next, scene.disk.len()), (16, 12), "8 more would not fit; 4 were under way");
    scene.more = false;
    scene.bring(0);
    for _ in 0..20 {
        scene.pass(10);
        scene.carry_out();
        scene.answer(failed("away"));
        assert!(scene.round.is_none() || scene.room == 0, "room for {}", scene.room);
        scene.bring(0);
    }
    assert_eq!((scene.given_up, scene.desk.dropped(Reason::Full)), (0, 0));
    scene.pass(30);
    scene.recover();
    assert_eq!((scene.taken.clone(), scene.disk.len()), (messages(0..16), 0));
    assert_eq!(scene.room, 8);
}

/// No order follows that would tell that there is room.
#[test]
fn a_full_disk_of_which_nothing_sound_is_left_is_written_to_again() {
    let mut scene = Scene::opened(lines(0..12).into());
    scene.bring(0);
    scene.pass(30);
    assert_eq!(scene.room, 0, "it is full");
    assert!(matches!(scene.order.take(), Some(SpoolOrder::Read { .. })));
    scene.disk.clear();
    let records = Records::Lines(Vec::new());
    scene.tell(Spooled::Read { records, damaged: 900 });
    assert_eq!((scene.desk.dropped(Reason::Damaged), scene.desk.logs().held_records), (12, 0));
    scene.bring(0);
    scene.pass(10);
    assert_eq!(scene.room, 8);
}

#[test]
fn what_a_full_disk_had_no_room_for_goes_there_at_once_when_nothing_sound_is_left_of_it() {
    let mut scene = Scene::opened(lines(0..16).into());
    scene.next = 16;
    scene.refuse();
    scene.pass(10);
    scene.bring(3);
    scene.carry_out();
    assert_eq!((scene.order.clone(), scene.desk.logs().held_records), (None, 19));
    scene.pass(20);
    assert!(matches!(scene.order, Some(SpoolOrder::Append { gives_way: false, .. })));
    scene.carry_out();
    assert!(matches!(scene.order.take(), Some(SpoolOrder::Read { .. })));
    scene.disk.clear();
    scene.tell(Spooled::Read { records: Records::Lines(Vec::new()), damaged: 900 });
    assert!(matches!(scene.order, Some(SpoolOrder::Append { .. })));
    scene.recover();
    assert_eq!(scene.taken, messages(16..19));
}

#[test]
fn what_the_disk_refused_and_memory_has_no_room_for_is_offered_again_after_a_while() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.bring(8);
    scene.refuse();
    scene.pass(10);
    assert_eq!((scene.order.clone(), scene.room), (None, 0));
    // As of a source that does not ask for room.
    scene.bring(3);
    scene.refuse();
    scene.pass(APPEND_RETRY.as_secs() - 1);
    assert_eq!(scene.order, None);
    scene.pass(1);
    assert!(matches!(scene.order, Some(SpoolOrder::Append { .. })));
    scene.recover();
    assert_eq!(scene.taken, messages(0..11));
}

#[test]
fn what_cannot_be_read_now_is_told_once_and_tried_again_at_the_report_ticks() {
    // More than a batch, which would be read at once.
    let mut scene = Scene::opened(lines(0..9).into());
    let mut told = 0;
    for _ in 0..4 {
        scene.pass(30);
        assert!(matches!(scene.order, Some(SpoolOrder::Read { .. })));
        scene.refuse();
        assert_eq!(scene.order, None, "not again before the next tick");
        told += scene.desk.warnings().iter().filter(|text| text.contains("is ill")).count();
        let figures = scene.desk.logs();
        assert_eq!((figures.held_records, scene.desk.dropped(Reason::Stopped)), (9, 0));
    }
    assert!(told > 0 && scene.desk.warnings().len() == 1, "{:?}", scene.desk.warnings());
    scene.recover();
    assert_eq!(scene.taken, messages(0..9));
}

#[test]
fn without_a_disk_records_are_held_in_memory_alone_and_it_is_tried_again_without_a_word() {
    let mut scene = Scene::begun(VecDeque::new());
    scene.refuse();
    assert_eq!(scene.desk.notices.len(), 1, "it is told at once");
    scene.bring(2);
    for passed in (0..REOPEN_INTERVAL.as_secs()).step_by(10) {
        assert_eq!(scene.order, None, "after {passed} s");
        scene.pass(10);
    }
    assert_eq!(scene.order, Some(SpoolOrder::Open));
    scene.refuse();
    let wakeup = scene.desk.voice.wakeup().expect("something is due");
    assert!(wakeup > scene.desk.now.mono, "it goes in circles");
    let errors = scene.desk.notices.iter().filter(|(level, _)| *level == Level::Error);
    let texts: Vec<_> = errors.map(|(_, text)| text.as_str()).collect();
    let meanwhile = "meanwhile the logs are held in memory alone, and it is tried again every 60 s";
    assert_eq!(texts, [format!("no such folder; {meanwhile}")]);
    scene.answer(Shipped::Taken);
    scene.bring(1);
    scene.recover();
    assert_eq!(scene.taken, messages(0..3));
}

#[test]
fn a_disk_that_can_be_reached_later_takes_what_comes_from_then_on_behind_what_is_held() {
    // What an earlier process had left there.
    let mut scene = Scene::begun(lines(2..5).into());
    scene.refuse();
    scene.bring(2);
    scene.next = 5;
    scene.desk.answered(failed("away"));
    scene.batch = None;
    scene.pass(REOPEN_INTERVAL.as_secs());
    assert_eq!(scene.order, Some(SpoolOrder::Open));
    assert_eq!(scene.desk.logs().held_records, 2);
    scene.carry_out();
    assert_eq!(scene.desk.logs().held_records, 5);
    scene.bring(1);
    assert!(matches!(scene.order, Some(SpoolOrder::Append { .. })));
    scene.carry_out();
    assert_eq!(scene.desk.kept(), None, "the first two are nowhere else");
    scene.pass(30);
    scene.answer(Shipped::Taken);
    let kept = scene.desk.kept().expect("the others are on the disk");
    assert_eq!(kept.places["journald"], cursor("6"));
    scene.recover();
    assert_eq!((scene.taken.clone(), scene.disk.len()), (messages(0..6), 0));
    assert_eq!(scene.desk.logs().held_records, 0);
}

#[test]
fn what_was_spoilt_before_the_start_is_told_and_counted_in_bytes() {
    let mut scene = Scene::begun(VecDeque::new());
    scene.tell(Spooled::Opened { waiting: 0, is_full: false, damaged: 200 });
    assert!(scene.desk.warnings()[0].contains("200 bytes of the logs"));
    assert_eq!((scene.desk.logs().damaged_bytes, scene.desk.dropped(Reason::Damaged)), (200, 0));
}

#[test]
fn records_that_were_spoilt_on_the_disk_are_accounted_for_and_stop_nothing() {
    let mut scene = Scene::opened(lines(0..3).into());
    scene.pass(30);
    assert!(matches!(scene.order.take(), Some(SpoolOrder::Read { .. })));
    let records = Records::Lines(lines(0..2));
    scene.tell(Spooled::Read { records, damaged: 77 });
    assert!(scene.desk.warnings()[0].contains("77 bytes"));
    scene.answer(Shipped::Taken);
    assert_eq!(scene.order.take(), Some(SpoolOrder::Settle { records: 2 }));
    scene.disk.clear();
    scene.tell(Spooled::Settled { waiting: 0, is_full: false });
    assert_eq!(scene.desk.dropped(Reason::Damaged), 1);
    let figures = scene.desk.logs();
    assert_eq!((figures.held_records, figures.damaged_bytes), (0, 77));
}

#[test]
fn of_what_is_on_the_disk_no_more_than_a_batch_is_given_up_each_tick() {
    let (malformed, too_large) =
        (Shipped::Malformed("400".into()), Shipped::TooLarge("413".into()));
    for refused in [malformed, too_large, Shipped::NotProvisioned] {
        let mut scene = Scene::opened(lines(0..12).into());
        for left in [8, 4, 0] {
            scene.pass(30);
            for _ in 0..40 {
                scene.carry_out();
                scene.answer(refused.clone());
            }
            assert_eq!((scene.disk.len(), &scene.batch), (left, &None), "{refused:?}");
        }
    }
}

#[test]
fn what_is_on_the_disk_at_a_stop_stays_there_and_is_not_dropped() {
    let mut scene = Scene::opened(lines(0..3).into());
    scene.pass(30);
    scene.carry_out();
    scene.answer(failed("away"));
    scene.give(Input::Draining);
    scene.give(Input::Closed);
    let figures = scene.desk.logs();
    assert_eq!((figures.held_records, scene.desk.dropped(Reason::Stopped)), (3, 0));
}

#[test]
fn of_a_batch_that_was_taken_in_part_at_a_stop_the_rest_is_on_the_disk_and_not_dropped() {
    let mut scene = Scene::opened(lines(0..4).into());
    scene.next = 4;
    scene.carry_out();
    scene.answer(Shipped::TooLarge("413".into()));
    scene.bring(2);
    scene.refuse();
    scene.answer(Shipped::Taken);
    assert_eq!(scene.order, Some(SpoolOrder::Settle { records: 2 }));
    scene.give(Input::Closed);
    let figures = scene.desk.logs();
    assert_eq!((figures.sent, figures.held_records), (2, 2), "lines 2 and 3 stay there");
    assert_eq!(scene.desk.dropped(Reason::Stopped), 2, "lines 4 and 5 were in memory alone");
}

#[test]
fn at_a_report_tick_all_that_waits_is_read_and_what_comes_behind_it_waits_for_the_next() {
    let mut scene = Scene::opened(lines(0..3).into());
    scene.next = 3;
    scene.bring(3);
    scene.carry_out();
    scene.pass(30);
    for _ in 0..10 {
        scene.carry_out();
        scene.answer(Shipped::Taken);
    }
    assert_eq!((scene.taken.clone(), scene.disk.len()), (messages(0..6), 0));
    scene.bring(1);
    scene.carry_out();
    assert_eq!((scene.order.clone(), scene.disk.len()), (None, 1));
    scene.pass(30);
    assert!(matches!(scene.order, Some(SpoolOrder::Read { .. })), "{:?}", scene.order);
}

/// The later ones are on the disk, and the earlier ones would be lost with the process.
#[test]
fn what_is_held_in_memory_holds_back_the_place_of_what_the_disk_took_behind_it() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.bring(2);
    scene.refuse();
    scene.pass(10);
    scene.bring(1);
    scene.carry_out();
    assert_eq!((scene.desk.kept(), scene.desk.logs().held_records), (None, 3));
    scene.pass(10);
    scene.bring(0);
    assert_eq!(scene.desk.kept(), None, "nothing new is no reason either");
    scene.pass(10);
    scene.answer(Shipped::Taken);
    let kept = scene.desk.kept().expect("all of it is safe");
    assert_eq!(kept.places["journald"], cursor("3"));
}

/// Beyond either limit it is held in memory alone, where the oldest give way.
#[test]
fn what_comes_before_the_disk_is_opened_is_held_to_its_count_and_its_bytes() {
    let short = || lines(0..INCOMING_MAX);
    let many = vec![long(); BUFFER_BYTES_MAX / TEXT_MAX];
    for (flood, held) in [(short(), INCOMING_MAX), ([short(), lines(0..1)].concat(), 8), (many, 8)]
    {
        let mut scene = Scene::begun(VecDeque::new());
        scene.flood(flood, ("journald", cursor("flood")));
        let figures = scene.desk.logs();
        assert_eq!(figures.held_records, held as u64);
        assert!(figures.held_bytes <= BUFFER_BYTES_MAX as u64);
    }
}

#[test]
fn what_is_too_much_to_wait_goes_to_a_disk_that_takes_it_at_once() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.flood(lines(0..INCOMING_MAX + 1), ("journald", cursor("flood")));
    assert_eq!(scene.desk.dropped(Reason::Full), 0);
    let Some(SpoolOrder::Append { records, gives_way: true }) = scene.order else {
        panic!("{:?}", scene.order)
    };
    assert_eq!(records.len(), INCOMING_MAX + 1);
}

#[test]
fn a_disk_that_refused_is_offered_the_next_ones_at_once_while_memory_has_room() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.more = true;
    scene.bring(2);
    scene.refuse();
    scene.bring(1);
    assert!(matches!(scene.order, Some(SpoolOrder::Append { .. })));
}

/// Found by the simulation: a batch held what had come while it was being read, and behind that what was read.
#[test]
fn what_comes_while_a_batch_is_read_is_in_no_body_with_what_is_older() {
    let mut scene = Scene::opened(lines(0..2).into());
    scene.next = 2;
    scene.bring(1);
    scene.refuse();
    scene.pass(30);
    scene.answer(Shipped::Taken);
    assert!(matches!(scene.order, Some(SpoolOrder::Read { .. })), "{:?}", scene.order);
    scene.bring(3);
    scene.pass(10);
    scene.bring(6);
    scene.carry_out();
    for batch in [6..10, 10..12, 0..2] {
        assert_eq!(scene.batch, Some(messages(batch)));
        scene.answer(Shipped::Taken);
    }
    scene.recover();
    assert_eq!(scene.taken.split_off(9), messages(3..6));
}

/// What a disk refuses behind what had no room to wait for it is older than that.
#[test]
fn what_the_disk_refuses_is_in_no_body_with_what_came_later() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.bring(1);
    scene.refuse();
    for count in [3, 7, 5] {
        scene.pass(10);
        scene.bring(count);
    }
    for _ in 0..4 {
        scene.refuse();
        scene.answer(Shipped::Taken);
    }
    assert!(scene.taken.contains(&"line 1".into()) && scene.taken[1] == "line 11", "out of order");
    scene.recover();
    let mut numbers: Vec<_> = scene.taken.iter().filter_map(|line| number(line)).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..16).collect::<Vec<_>>());
}

#[test]
fn a_local_endpoint_is_given_no_body_that_mixes_them_either() {
    let mut settings = spooling();
    settings.logs = settings.logs.map(crate::voice::with_local);
    let mut scene = Scene::opened(lines(0..2).into());
    scene.next = 2;
    scene.desk.settings = settings;
    scene.bring(1);
    scene.refuse();
    scene.pass(30);
    scene.desk.fetched(Ok("token"));
    let mut delivered = scene.desk.delivered();
    scene.answer(Shipped::Taken);
    scene.bring(3);
    scene.pass(10);
    scene.bring(6);
    scene.carry_out();
    for _ in 0..20 {
        scene.desk.delivery(Ok(()));
        delivered.extend(scene.desk.delivered());
        scene.sends();
        scene.carry_out();
        scene.answer(Shipped::Taken);
    }
    let orders = delivered.iter().map(|body| {
        body.split("line ").skip(1).map(|rest| rest.split('"').next().map(str::to_owned)).collect()
    });
    let orders: Vec<Vec<_>> = orders.collect();
    assert!(orders.iter().any(|order| order.contains(&Some("0".into()))), "{orders:?}");
    for order in orders {
        let numbers = order.iter().flatten().filter_map(|text| text.parse::<u64>().ok());
        assert!(numbers.is_sorted(), "{order:?}");
    }
}

#[test]
fn an_empty_disk_is_not_read() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.pass(30);
    assert_eq!(scene.order, None);
}

/// A file that was cut off begins anew, which must not be overtaken by how far it was read before.
#[test]
fn the_beginning_of_a_file_is_kept_behind_what_waits_for_the_disk_of_it() {
    let read_to = |offset| Position::Offset { device: 1, inode: 1, offset, head_len: 0, head: 0 };
    for is_appending in [false, true] {
        let mut scene = match is_appending {
            true => Scene::opened(VecDeque::new()),
            false => Scene::begun(VecDeque::new()),
        };
        scene.flood(lines(0..1), ("file:/a", read_to(100)));
        scene.pass(10);
        scene.flood(Vec::new(), ("file:/a", read_to(0)));
        assert_eq!(scene.desk.kept(), None);
        let mut kept = None;
        while scene.order.is_some() {
            scene.carry_out();
            kept = scene.desk.kept().or(kept);
        }
        assert_eq!(kept.expect("it is on the disk").places["file:/a"], read_to(0));
    }
}

/// It waited for the next record, and led the place of another source back to where it had been.
#[test]
fn a_place_without_records_is_kept_as_soon_as_what_is_on_its_way_to_the_disk_is_there() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.flood(lines(0..1), ("journald", cursor("1")));
    scene.pass(10);
    scene.flood(Vec::new(), ("file:/a", cursor("2")));
    assert_eq!(scene.desk.kept(), None);
    scene.carry_out();
    let kept = scene.desk.kept().expect("all is on the disk");
    assert_eq!((&kept.places["journald"], &kept.places["file:/a"]), (&cursor("1"), &cursor("2")));
}

/// The disk hangs, and what comes behind it is too much: it goes its way in memory, and its source waits for both.
#[test]
fn a_flood_behind_a_disk_that_hangs_is_held_to_its_bytes_and_passes_nothing() {
    let mut scene = Scene::opened(VecDeque::new());
    scene.bring(2);
    scene.pass(10);
    scene.bring(1);
    scene.pass(10);
    scene.flood(vec![long(); BUFFER_BYTES_MAX / TEXT_MAX], ("journald", cursor("flood")));
    assert!(scene.desk.logs().held_bytes <= BUFFER_BYTES_MAX as u64);
    assert_eq!(scene.desk.dropped(Reason::Full), (BUFFER_BYTES_MAX / TEXT_MAX - 8) as u64);
    scene.pass(10);
    for _ in 0..2 {
        let batch = scene.batch.take().expect("what is in memory goes");
        scene.taken.extend(batch);
        scene.desk.answered(Shipped::Taken);
        let ordered = scene.desk.ordered.clone();
        scene.after(&ordered);
        assert_eq!(scene.desk.kept(), None, "three lines are nowhere else");
    }
    scene.carry_out();
    let kept = scene.desk.kept().expect("the first two are safe");
    assert_eq!(kept.places["journald"], cursor("2"));
    scene.give(Input::Kept(Ok(())));
    scene.pass(1);
    scene.carry_out();
    let kept = scene.desk.kept().expect("all of it is safe");
    assert_eq!(kept.places["journald"], cursor("flood"));
}

#[test]
fn a_drain_is_over_at_its_time_though_the_disk_hangs_or_nothing_is_answered() {
    let mut hanging = Scene::opened(VecDeque::new());
    hanging.bring(2);
    let mut unanswered = Scene::opened(lines(0..3).into());
    unanswered.pass(30);
    unanswered.carry_out();
    for mut scene in [hanging, unanswered] {
        assert!(scene.order.is_some() || scene.batch.is_some());
        scene.give(Input::Draining);
        assert!(!scene.desk.voice.is_idle());
        scene.pass(DRAIN_FLUSH_MAX.as_secs());
        let now = scene.desk.now.mono;
        assert!(scene.desk.voice.wakeup().is_none_or(|wakeup| wakeup > now), "it goes in circles");
        assert!(scene.desk.voice.is_idle());
    }
}

#[derive(Clone, Debug)]
enum Event {
    Brought(usize),
    CarriedOut,
    Refused,
    Answered(bool),
    TooLarge,
    Passed(u64),
    Killed,
    /// Off, and on again behind so many orders that are carried out.
    Turned(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0_usize..8).prop_map(Event::Brought),
        6 => Just(Event::CarriedOut),
        1 => Just(Event::Refused),
        4 => any::<bool>().prop_map(Event::Answered),
        1 => Just(Event::TooLarge),
        4 => (1_u64..40).prop_map(Event::Passed),
        1 => Just(Event::Killed),
        1 => (0_usize..3).prop_map(Event::Turned),
    ]
}

proptest! {
    #![proptest_config(seeds_in("voice_spool"))]

    /// At each step the figures add up (`Desk::figures`); in the end nothing is left on the disk, and what was sent came
    /// in its order.
    #[test]
    fn every_record_on_the_disk_is_sent_or_accounted_for(
        events in prop::collection::vec(event(), 0..60),
    ) {
        let mut scene = Scene::begun(VecDeque::new());
        for event in events {
            match event {
                Event::Brought(count) => scene.bring(count),
                Event::CarriedOut => scene.carry_out(),
                Event::Refused => scene.refuse(),
                Event::Answered(true) => scene.answer(Shipped::Taken),
                Event::Answered(false) => scene.answer(failed("away")),
                Event::TooLarge => scene.answer(Shipped::TooLarge("413".into())),
                Event::Passed(count) => scene.pass(count),
                Event::Killed => {
                    let next = scene.next;
                    scene = scene.killed();
                    scene.next = next;
                }
                Event::Turned(orders) => {
                    // Nobody waits for what is under way.
                    (scene.batch, scene.round) = (None, None);
                    scene.turn(VoiceSettings { logs: None, ..spooling() });
                    (0..orders).for_each(|_| scene.carry_out());
                    scene.turn(spooling());
                }
            }
            scene.desk.logs();
        }
        scene.recover();
        let figures = scene.desk.logs();
        prop_assert_eq!((figures.held_records, scene.disk.len()), (0, 0));
        let dropped: u64 = figures.dropped.iter().map(|(_, count)| count).sum();
        prop_assert_eq!(figures.collected, scene.taken.len() as u64 + dropped);
    }
}

/// Found by an attacker: a round of long lines went beyond what may wait for the disk, and the oldest of it gave way.
#[test]
fn a_round_is_asked_for_no_more_than_may_wait_for_the_disk() {
    let mut settings = spooling();
    settings.logs = settings.logs.map(|logs| PipeSettings { batch_size: 4_000, ..logs });
    let mut desk = Desk::armed(settings);
    let mut asked = desk.asked().map(|(_, round, room, _)| (round, room));
    desk.give(Input::Spooled(
        Pipe::Logs,
        Box::new(Spooled::Opened { waiting: 0, is_full: false, damaged: 0 }),
    ));
    let mut taken = 0;
    for _ in 0..3 {
        let (round, room) = asked.expect("there is room");
        assert!(room > 0 && room * RECORD_BYTES_MAX <= BUFFER_BYTES_MAX, "{room}");
        let long = lines(0..room)
            .into_iter()
            .map(|line| LogEntry { message: "x".repeat(TEXT_MAX), ..line });
        let feed = Feed { more: true, ..feed(Source::Journald, Records::Lines(long.collect())) };
        desk.collected(Pipe::Logs, round, vec![feed]);
        assert!(desk.asked().is_none(), "there is no room beside what is on its way");
        let figures = desk.logs();
        assert_eq!(figures.held_records, taken + room as u64, "round {round}");
        assert!(figures.held_bytes >= (room * TEXT_MAX) as u64, "what is on its way counts");
        taken += room as u64;
        desk.give(Input::Spooled(
            Pipe::Logs,
            Box::new(Spooled::Appended {
                waiting: taken,
                is_full: false,
                given_up: 0,
                rest: Records::Lines(Vec::new()),
            }),
        ));
        asked = desk.asked().map(|(_, round, room, _)| (round, room));
    }
    assert_eq!(desk.dropped(Reason::Full), 0);
}

/// Found by an attacker: a round that did not fit into what was left made the oldest on the disk give way.
#[test]
fn what_the_disk_has_no_room_for_waits_until_more_has_come_than_may() {
    let mut scene = Scene::opened(VecDeque::new());
    for _ in 0..2 {
        scene.bring(6);
        scene.while_away();
        scene.pass(10);
    }
    assert_eq!((scene.disk.len(), scene.room), (12, 0));
    // As of a source that does not ask for room.
    scene.bring(7);
    scene.while_away();
    assert_eq!((scene.disk.len(), scene.given_up, scene.order.clone()), (16, 0, None));
    assert_eq!(scene.desk.logs().held_records, 19);
    assert_eq!(scene.desk.kept().map(|kept| kept.places["journald"].clone()), None);
    scene.pass(10);
    let gives_way = |scene: &Scene| match &scene.order {
        Some(SpoolOrder::Append { gives_way, .. }) => *gives_way,
        other => panic!("{other:?}"),
    };
    assert!(!gives_way(&scene), "it is offered again after a while");
    scene.while_away();
    scene.bring(6);
    assert!(gives_way(&scene), "more has come than may wait");
    scene.carry_out();
    assert_eq!((scene.disk.len(), scene.given_up), (16, 9));
    scene.recover();
    let read_before = messages(0..4);
    assert_eq!(scene.taken, [read_before, messages(13..25)].concat());
}

#[test]
fn what_the_disk_has_no_room_for_holds_up_no_stop() {
    let mut scene = Scene::opened(lines(0..16).into());
    scene.next = 16;
    scene.answer(failed("away"));
    scene.pass(10);
    scene.bring(3);
    scene.carry_out();
    assert_eq!(scene.desk.logs().held_records, 19);
    scene.give(Input::Draining);
    for _ in 0..4 {
        scene.carry_out();
        scene.answer(failed("away"));
    }
    assert!(scene.desk.voice.is_idle(), "{:?}", scene.desk.ordered);
}
