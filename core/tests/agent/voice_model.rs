//! No record is lost without being accounted for: whatever happens, a count beside the machine comes to the same.

use std::collections::BTreeMap;

use meshward_core::{
    agent::{
        Collected, Feed, Pipe, PipeSettings, Records, Source,
        verdict::ingest::Shipped,
        voice::{Answered, DRAIN_FLUSH_MAX, Effect, Input, Reason, Voice},
    },
    time::Mono,
    wire::{ingest::Severity, record::LogEntry},
};
use proptest::prelude::*;

use crate::{
    bench::{seconds, start},
    support::{self, seeds_in},
    voice::{Desk, cursor, feed, line, logs_only, pipe, with_local},
};

#[derive(Clone, Debug)]
enum Event {
    /// The round that is under way brings so many lines, of which some are empty, debugging or lost.
    Brought {
        lines: usize,
        empty: usize,
        debug: usize,
        lost: u64,
        more: bool,
    },
    Answered(u8),
    Fetched(bool),
    Delivered(bool),
    Kept(bool),
    Passed(u64),
    Woken,
    Quieted,
    Armed,
    Resized(usize),
    Draining,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0_usize..12, 0_usize..3, 0_usize..3, 0_u64..2, any::<bool>()).prop_map(
            |(lines, empty, debug, lost, more)| Event::Brought { lines, empty, debug, lost, more }
        ),
        6 => (0_u8..9).prop_map(Event::Answered),
        2 => any::<bool>().prop_map(Event::Fetched),
        3 => any::<bool>().prop_map(Event::Delivered),
        2 => any::<bool>().prop_map(Event::Kept),
        2 => (0_u64..40).prop_map(Event::Passed),
        4 => Just(Event::Woken),
        1 => Just(Event::Quieted),
        2 => Just(Event::Armed),
        1 => (1_usize..6).prop_map(Event::Resized),
    ]
}

/// What a line is, in the order of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sound,
    Empty,
    Debug,
}

/// Counts for itself what it is told and what it sees.
struct Twin {
    desk: Desk,
    log: Vec<Input>,
    collected: u64,
    filtered: u64,
    /// By their numbers, how often each line was taken by the control plane, and how often it went to the endpoint.
    taken: BTreeMap<u64, u32>,
    copied: BTreeMap<u64, u32>,
    next: u64,
    round: Option<u64>,
    batch: Option<Vec<u64>>,
    posting: bool,
    fetching: bool,
    keeping: bool,
    /// When a drain is over, where one is under way.
    drained_at: Option<Mono>,
}

impl Twin {
    fn new(has_local: bool) -> Self {
        let mut settings = logs_only();
        settings.filter.min_severity = Some(Severity::Info);
        let pipe = pipe(&[Source::Journald]);
        settings.logs = Some(if has_local { with_local(pipe) } else { pipe });
        Self {
            desk: Desk::new(settings),
            log: Vec::new(),
            collected: 0,
            filtered: 0,
            taken: BTreeMap::new(),
            copied: BTreeMap::new(),
            next: 0,
            round: None,
            batch: None,
            posting: false,
            fetching: false,
            keeping: false,
            drained_at: None,
        }
    }

    fn give(&mut self, input: Input) {
        self.log.push(input.clone());
        self.desk.give(input);
        for effect in self.desk.ordered.clone() {
            self.perform(effect);
        }
        let figures = self.desk.logs();
        assert_eq!((figures.collected, figures.filtered), (self.collected, self.filtered));
        assert_eq!(figures.sent, self.taken.len() as u64);
        assert!(figures.held_records as usize <= 2 * self.batch_size().max(5));
        assert!(self.copied.values().all(|times| *times == 1), "one went there twice");
        assert!(self.taken.values().all(|times| *times == 1), "one was taken twice");
    }

    fn batch_size(&self) -> usize {
        self.desk.settings.logs.as_ref().map_or(0, |logs| logs.batch_size)
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Collect { round, room, .. } => {
                assert_eq!(self.round.replace(round), None, "two rounds at once");
                assert!(room <= 2 * self.batch_size());
            }
            Effect::Ship { body, .. } => {
                let lines = numbers(&body.0, "\n");
                assert!(!lines.is_empty() && lines.len() <= self.batch_size());
                assert!(lines.is_sorted(), "out of order");
                assert_eq!(self.batch.replace(lines), None, "two batches at once");
            }
            Effect::Deliver { body, .. } => {
                assert!(!self.posting && !self.fetching, "two deliveries at once");
                self.posting = true;
                for number in numbers(&body.0, "},{") {
                    *self.copied.entry(number).or_default() += 1;
                }
            }
            Effect::Fetch { .. } => {
                assert!(!self.posting && !self.fetching, "two deliveries at once");
                self.fetching = true;
            }
            Effect::Keep(_) => {
                assert!(!self.keeping, "two writes at once");
                self.keeping = true;
            }
            Effect::Spool { .. } => panic!("nothing waits on the disk"),
            Effect::Admitted | Effect::Unauthorized | Effect::Tell(_) => {}
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Brought { lines, empty, debug, lost, more } => {
                let kinds = [(lines, Kind::Sound), (empty, Kind::Empty), (debug, Kind::Debug)];
                self.brought(&kinds, lost, more);
            }
            Event::Answered(content) => self.answered(content),
            Event::Fetched(is_good) => {
                if std::mem::take(&mut self.fetching) {
                    let outcome =
                        if is_good { Ok(crate::bench::secret("token")) } else { Err("no".into()) };
                    self.tell_logs(Answered::Fetched(outcome));
                }
            }
            Event::Delivered(is_good) => {
                if std::mem::take(&mut self.posting) {
                    let outcome = if is_good { Ok(()) } else { Err("no".into()) };
                    self.tell_logs(Answered::Delivered(outcome));
                }
            }
            Event::Kept(is_good) => {
                if std::mem::take(&mut self.keeping) {
                    self.give(Input::Kept(if is_good { Ok(()) } else { Err("full".into()) }));
                }
            }
            Event::Passed(count) => self.desk.now = self.desk.now.after(seconds(count)),
            Event::Woken => self.wake(),
            Event::Quieted => {
                // The answers that are waited for under the identity come to nobody.
                (self.batch, self.fetching) = (None, false);
                self.give(Input::Quieted);
            }
            Event::Armed => self.give(Input::Armed),
            Event::Resized(batch_size) => {
                let logs = self.desk.settings.logs.take();
                self.desk.settings.logs = logs.map(|logs| PipeSettings { batch_size, ..logs });
                self.give(Input::Retimed);
            }
            Event::Draining => {
                let at = self.desk.now.mono.after(DRAIN_FLUSH_MAX);
                self.drained_at.get_or_insert(at);
                self.give(Input::Draining);
            }
        }
    }

    fn tell_logs(&mut self, answered: Answered) {
        self.give(Input::Answered(Pipe::Logs, answered));
    }

    fn brought(&mut self, kinds: &[(usize, Kind)], lost: u64, more: bool) {
        let Some(round) = self.round.take() else { return };
        let mut all = Vec::new();
        for (count, kind) in kinds {
            for _ in 0..*count {
                let number = self.next;
                self.next += 1;
                let line = line(&format!("line {number}"));
                all.push(match kind {
                    Kind::Sound => line,
                    Kind::Empty => LogEntry { message: String::new(), ..line },
                    Kind::Debug => {
                        self.filtered += 1;
                        LogEntry { severity: Severity::Debug, ..line }
                    }
                });
            }
        }
        self.collected += all.len() as u64 + lost;
        let marks = vec![("journald".into(), Some(cursor(&format!("{}", self.next))))];
        let records = Records::Lines(all);
        let feed = Feed { lost, more, marks, ..feed(Source::Journald, records) };
        self.give(Input::Collected(Box::new(Collected {
            pipe: Pipe::Logs,
            round,
            feeds: vec![feed],
        })));
    }

    fn answered(&mut self, content: u8) {
        let Some(batch) = self.batch.take() else { return };
        let shipped = match content {
            0 => Shipped::Malformed("no".into()),
            1 => Shipped::TooLarge("no".into()),
            2 => Shipped::NotProvisioned,
            3 => Shipped::Unauthorized("no".into()),
            4 => Shipped::Failed("no".into()),
            _ => Shipped::Taken,
        };
        if shipped == Shipped::Taken {
            for number in batch {
                *self.taken.entry(number).or_default() += 1;
            }
        }
        self.tell_logs(Answered::Shipped(shipped));
    }

    fn wake(&mut self) {
        if let Some(due) = self.desk.voice.wakeup() {
            self.desk.now = self.desk.now.after(due.since(self.desk.now.mono));
            let woken = self.desk.now.mono;
            if self.drained_at.is_some_and(|at| at <= woken) {
                // Behind the end of a drain nobody waits for them.
                (self.batch, self.posting, self.fetching) = (None, false, false);
            }
            self.give(Input::Ticked);
            let next = self.desk.voice.wakeup();
            assert!(next.is_none_or(|next| next > woken), "woken at {woken:?}, wants {next:?}");
        }
    }
}

fn numbers(body: &[u8], between: &str) -> Vec<u64> {
    let text = String::from_utf8(body.to_vec()).expect("it is text");
    let number = |part: &str| {
        let behind = part.split_once("\"message\":\"line ")?.1;
        behind.split('"').next()?.parse().ok()
    };
    text.split(between).filter_map(number).collect()
}

proptest! {
    #![proptest_config(seeds_in("voice"))]

    #[test]
    fn every_record_is_accounted_for_at_each_step(
        has_local in any::<bool>(),
        before in prop::collection::vec(event(), 0..60),
        behind in prop::collection::vec(event(), 0..12),
    ) {
        let mut twin = Twin::new(has_local);
        twin.give(Input::Armed);
        before.into_iter().for_each(|event| twin.happen(event));
        twin.happen(Event::Draining);
        for event in behind {
            twin.happen(event);
        }
        for _ in 0..8 {
            twin.wake();
        }
        assert!(twin.desk.voice.is_idle() || twin.keeping, "a drain ends by itself");
        twin.give(Input::Closed);
        let figures = twin.desk.logs();
        prop_assert_eq!(figures.held_records, 0);
        let dropped = |reason| figures.dropped.iter().find(|(of, _)| *of == reason).map(|of| of.1);
        let ends = figures.dropped.iter().map(|(_, count)| count).sum::<u64>();
        prop_assert_eq!(figures.collected, figures.sent + figures.filtered + ends);
        prop_assert!(dropped(Reason::Unconvertible).is_some());
        let local = figures.local.unwrap_or_default();
        prop_assert!(local.delivered + local.failed <= figures.collected);
        prop_assert_eq!(twin.desk.voice.wakeup(), None);
    }

    #[test]
    fn the_same_inputs_lead_to_the_same(events in prop::collection::vec(event(), 0..40)) {
        let mut twin = Twin::new(true);
        twin.give(Input::Armed);
        events.into_iter().filter(|event| !matches!(event, Event::Resized(_))).for_each(|event| {
            twin.happen(event);
        });
        let settings = twin.desk.settings.clone();
        support::replays(&Voice::default(), &twin.log, |voice, input| {
            voice.step(&settings, start(), input)
        });
    }
}
