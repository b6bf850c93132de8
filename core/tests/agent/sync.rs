//! The delivery of reports: the table of the syncer row by row, and everything that three keys with three writes each
//! can lead to.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use meshward_core::{
    agent::{
        Change, Content, Folder, FoundContent, FoundFile, Level, Notice, StateFile,
        reports::{self, Draft, Reports, Unsynced},
        sync::{Effect, Input, RETRY, SUPPRESSION, Sync},
        verdict::Delivery,
    },
    ids::CallId,
    step::Step,
    time::Now,
    wire::{
        grammar::{Name, ReportKey},
        http::{Body, Method},
        json::Raw,
        kept,
    },
};

use crate::{
    bench::{NODE, at, problem, responded, seconds, sent, start},
    counter::Counter,
};

const DEBOUNCE: Duration = seconds(5);

fn named(name: &str) -> Name {
    Name::from(name)
}

fn key(name: &str) -> ReportKey {
    ReportKey::parse(name).expect("a key")
}

struct Desk {
    sync: Sync,
    unsynced: Unsynced,
    now: Now,
}

impl Desk {
    /// An armed syncer with nothing to do.
    fn clean() -> Self {
        let mut desk = Self { sync: Sync::default(), unsynced: Unsynced::new(), now: start() };
        assert_eq!(desk.give(Input::Armed), []);
        assert_eq!(desk.left(), None);
        desk
    }

    /// Flushing these keys, at the first of them.
    fn flushing(names: &[&str]) -> Self {
        let mut desk = Self::clean();
        names.iter().for_each(|name| desk.dirty(name, 1));
        desk.pass(DEBOUNCE);
        assert_eq!(desk.give(Input::Ticked), [deliver(names[0], 1)]);
        desk
    }

    fn give(&mut self, input: Input) -> Vec<Effect> {
        let step = std::mem::take(&mut self.sync).step(DEBOUNCE, self.now, &self.unsynced, input);
        self.sync = step.state;
        for effect in &step.effects {
            if let Effect::Settle { key, generation } = effect
                && self.unsynced.get(key) == Some(generation)
            {
                self.unsynced.remove(key);
            }
        }
        step.effects
    }

    fn dirty(&mut self, name: &str, generation: u64) {
        self.unsynced.insert(named(name), generation);
        assert_eq!(self.give(Input::Dirtied), []);
    }

    fn answer(&mut self, name: &str, delivery: Delivery) -> Vec<Effect> {
        self.give(Input::Answered { key: named(name), generation: 1, delivery })
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    fn left(&self) -> Option<Duration> {
        self.sync.wakeup().map(|due| due.since(self.now.mono))
    }
}

fn deliver(name: &str, generation: u64) -> Effect {
    Effect::Deliver { key: named(name), generation }
}

fn settle(name: &str, generation: u64) -> Effect {
    Effect::Settle { key: named(name), generation }
}

fn transient() -> Delivery {
    Delivery::Transient("503".into())
}

fn told(effects: &[Effect]) -> Vec<(Level, &str)> {
    let notice = |effect: &'_ Effect| match effect {
        Effect::Tell(Notice { level, .. }) => Some(*level),
        Effect::Deliver { .. } | Effect::Settle { .. } => None,
    };
    let text = |effect: &'_ Effect| matches!(effect, Effect::Tell(_));
    let texts = effects.iter().filter(|effect| text(effect)).map(|effect| match effect {
        Effect::Tell(notice) => notice.text.as_str(),
        Effect::Deliver { .. } | Effect::Settle { .. } => "",
    });
    effects.iter().filter_map(notice).zip(texts).collect()
}

#[test]
fn a_change_waits_for_the_debounce_period_and_later_ones_ride_along() {
    let mut desk = Desk::clean();
    desk.dirty("b", 1);
    assert_eq!(desk.left(), Some(DEBOUNCE));
    desk.pass(seconds(4));
    desk.dirty("a", 1);
    assert_eq!(desk.left(), Some(seconds(1)), "it is not put off");
    assert_eq!(desk.give(Input::Ticked), [], "not yet");
    desk.pass(seconds(1));
    assert_eq!(desk.give(Input::Ticked), [deliver("a", 1)]);
    assert_eq!(desk.left(), None);
}

#[test]
fn what_changes_again_and_again_during_a_flush_is_not_put_off_behind_it() {
    let mut desk = Desk::flushing(&["b"]);
    desk.dirty("a", 1);
    desk.pass(seconds(4));
    desk.dirty("a", 2);
    assert_eq!(desk.answer("b", Delivery::Delivered), [settle("b", 1)]);
    assert_eq!(desk.left(), Some(seconds(1)), "of the first change");
}

#[test]
fn a_flush_goes_key_by_key_in_ascending_order_one_after_the_other() {
    let mut desk = Desk::flushing(&["a", "a.b", "b"]);
    assert_eq!(desk.give(Input::Ticked), []);
    assert_eq!(desk.answer("a", Delivery::Delivered), [settle("a", 1), deliver("a.b", 1)]);
    assert_eq!(desk.answer("a.b", Delivery::Delivered), [settle("a.b", 1), deliver("b", 1)]);
    assert_eq!(desk.answer("b", Delivery::Delivered), [settle("b", 1)]);
    assert_eq!(desk.left(), None, "clean");
}

#[test]
fn a_transient_failure_leaves_the_key_and_goes_on_with_the_others() {
    let mut desk = Desk::flushing(&["a", "b", "c"]);
    assert_eq!(desk.answer("a", transient()), [deliver("b", 1)]);
    assert_eq!(desk.answer("b", Delivery::Delivered), [settle("b", 1), deliver("c", 1)]);
    let effects = desk.answer("c", transient());
    let text = "the control plane did not take the report a: 503, and 1 more; they are kept and sent again";
    assert_eq!(told(&effects), [(Level::Warn, text)]);
    assert_eq!(desk.left(), Some(RETRY));
    desk.pass(RETRY);
    assert_eq!(desk.give(Input::Ticked), [deliver("a", 1)]);
    assert_eq!(desk.answer("a", Delivery::Delivered), [settle("a", 1), deliver("c", 1)]);
    assert_eq!(RETRY, seconds(30));
}

#[test]
fn a_change_during_the_retry_rest_takes_every_key_along_after_the_debounce_period() {
    let mut desk = Desk::flushing(&["b"]);
    desk.answer("b", transient());
    desk.pass(seconds(10));
    desk.dirty("a", 1);
    assert_eq!(desk.left(), Some(DEBOUNCE));
    desk.pass(DEBOUNCE);
    assert_eq!(desk.give(Input::Ticked), [deliver("a", 1)]);
    assert_eq!(desk.answer("a", Delivery::Delivered), [settle("a", 1), deliver("b", 1)]);
    let mut late = Desk::flushing(&["b"]);
    late.answer("b", transient());
    late.pass(seconds(28));
    late.dirty("a", 1);
    assert_eq!(late.left(), Some(seconds(2)), "whichever comes first");
}

#[test]
fn a_change_during_a_flush_goes_along_behind_it_or_within_the_debounce_period() {
    let mut desk = Desk::flushing(&["b", "d"]);
    desk.pass(seconds(1));
    desk.dirty("a", 1);
    desk.dirty("c", 1);
    desk.dirty("b", 2);
    desk.pass(seconds(1));
    assert_eq!(desk.answer("b", Delivery::Delivered), [settle("b", 1), deliver("c", 1)]);
    assert_eq!(desk.answer("c", Delivery::Delivered), [settle("c", 1), deliver("d", 1)]);
    assert_eq!(desk.answer("d", Delivery::Delivered), [settle("d", 1)]);
    assert_eq!(desk.left(), Some(seconds(4)));
    desk.pass(seconds(4));
    assert_eq!(desk.give(Input::Ticked), [deliver("a", 1)]);
    assert_eq!(desk.answer("a", Delivery::Delivered), [settle("a", 1), deliver("b", 2)]);
}

#[test]
fn what_the_control_plane_will_never_take_is_dropped_with_a_warning() {
    let mut desk = Desk::flushing(&["a", "b"]);
    let effects = desk.answer("a", Delivery::Invalid("400: invalid_report".into()));
    assert_eq!(effects[0], settle("a", 1));
    assert_eq!(effects[2..], [deliver("b", 1)]);
    let text = "the control plane refuses the report a, it is not sent again: 400: invalid_report";
    assert_eq!(told(&effects), [(Level::Warn, text)]);
}

#[test]
fn where_reports_are_not_provisioned_nothing_is_sent_for_five_minutes_and_it_is_told_once() {
    let mut desk = Desk::flushing(&["a", "b"]);
    let effects = desk.answer("a", Delivery::NotProvisioned);
    assert_eq!(told(&effects).len(), 1);
    assert_eq!(told(&effects)[0].0, Level::Info);
    assert_eq!((effects.len(), desk.left()), (1, Some(SUPPRESSION)), "the flush is over");
    desk.pass(seconds(100));
    desk.dirty("c", 1);
    assert_eq!(desk.left(), Some(seconds(200)), "a change shortens nothing");
    desk.pass(seconds(200));
    assert_eq!(desk.give(Input::Ticked), [deliver("a", 1)]);
    assert_eq!(desk.answer("a", Delivery::NotProvisioned), [], "told before");
    desk.pass(SUPPRESSION);
    assert_eq!(desk.give(Input::Ticked), [deliver("a", 1)]);
    assert_eq!(desk.answer("a", transient()), [deliver("b", 1)]);
    let effects = desk.answer("b", Delivery::Delivered);
    assert_eq!((&effects[0], &effects[2]), (&settle("b", 1), &deliver("c", 1)));
    assert_eq!(told(&effects)[0].0, Level::Info);
    let effects = desk.answer("c", Delivery::Delivered);
    assert!(told(&effects).iter().all(|(level, _)| *level == Level::Warn), "{effects:?}");
    assert_eq!(SUPPRESSION, seconds(300));
}

#[test]
fn an_answer_that_nobody_waits_for_changes_nothing() {
    let mut desk = Desk::flushing(&["a"]);
    for (name, generation) in [("b", 1), ("a", 2), ("a", 0)] {
        let delivery = Delivery::Delivered;
        let before = desk.sync.clone();
        assert_eq!(desk.give(Input::Answered { key: named(name), generation, delivery }), []);
        assert_eq!(desk.sync, before);
    }
    assert_eq!(desk.give(Input::Quieted), []);
    assert_eq!(desk.answer("a", Delivery::Delivered), []);
    assert_eq!(desk.left(), None);
}

#[test]
fn nothing_is_sent_before_the_node_is_registered_and_then_all_of_it() {
    let mut desk = Desk { sync: Sync::default(), unsynced: Unsynced::new(), now: start() };
    desk.dirty("a", 1);
    assert_eq!(desk.left(), None);
    assert_eq!(desk.give(Input::Ticked), []);
    assert_eq!(desk.give(Input::Armed), []);
    assert_eq!(desk.left(), Some(DEBOUNCE));
    desk.pass(DEBOUNCE);
    assert_eq!(desk.give(Input::Ticked), [deliver("a", 1)]);
}

#[test]
fn a_node_that_is_registered_afresh_delivers_what_its_new_name_brings_along() {
    let mut desk = Desk::clean();
    desk.unsynced.insert(named("a"), 1);
    assert_eq!(desk.give(Input::Armed), []);
    assert_eq!(desk.left(), Some(DEBOUNCE));
}

#[test]
fn a_quieted_syncer_sends_nothing_more() {
    let mut desk = Desk::clean();
    desk.dirty("a", 1);
    assert_eq!(desk.give(Input::Quieted), []);
    desk.pass(seconds(100));
    desk.dirty("b", 1);
    assert_eq!((desk.give(Input::Ticked), desk.left()), (Vec::new(), None));
}

/// The one call among the newest orders, with its method, its key and its body.
fn call(counter: &mut Counter) -> (CallId, Method, String, String) {
    let calls = sent(&std::mem::take(&mut counter.orders));
    let start = format!("/v1/nodes/{NODE}/state/reports/");
    let mut reports = calls.into_iter().filter(|(_, request)| request.path.starts_with(&start));
    let (call, request) = reports.next().expect("a report is sent");
    assert_eq!(reports.next(), None);
    let Body::Whole(body) = request.body else { panic!("no body") };
    let body = String::from_utf8(body).expect("a text");
    (call, request.method, request.path[start.len()..].into(), body)
}

/// An agent whose own reports are delivered.
fn settled() -> Counter {
    let mut counter = Counter::armed();
    counter.bench.pass(DEBOUNCE);
    counter.give(meshward_core::agent::Input::Ticked);
    for _ in 0..5 {
        let (id, ..) = call(&mut counter);
        accept(&mut counter, id);
    }
    assert!(counter.get("/v1/status").1.contains("\"reports_unsynced\":0"));
    counter
}

fn answer(counter: &mut Counter, call: CallId, answer: meshward_core::agent::Answer) {
    let jitter = meshward_core::backoff::Jitter::NONE;
    counter.give(meshward_core::agent::Input::Answered { call, answer, jitter });
}

fn accept(counter: &mut Counter, call: CallId) {
    let body = r#"{"accepted_at":"2027-01-15T08:00:00Z","key":"k"}"#;
    answer(counter, call, responded(200, body));
}

fn flush(counter: &mut Counter, wait: Duration) {
    counter.bench.pass(wait);
    counter.orders.clear();
    counter.give(meshward_core::agent::Input::Ticked);
}

#[test]
fn a_report_crosses_the_network_as_its_text_and_a_deletion_without_a_body() {
    let mut counter = settled();
    counter.put("b", r#" { "n" : 1.0 } "#);
    counter.put("c", "1");
    counter.delete("c");
    flush(&mut counter, DEBOUNCE);
    let (id, method, name, body) = call(&mut counter);
    let expected = r#"{"value":"{\"n\":1.0}"}"#;
    assert_eq!((method, name.as_str(), body.as_str()), (Method::Put, "b", expected));
    accept(&mut counter, id);
    let (id, method, name, body) = call(&mut counter);
    assert_eq!((method, name.as_str(), body.as_str()), (Method::Delete, "c", ""));
    answer(&mut counter, id, problem(404, "report_not_found"));
    assert!(counter.get("/v1/status").1.contains("\"reports_unsynced\":0"));
    let file = |name: &str| StateFile { folder: Folder::Report, name: kept::file_name(name) };
    assert_eq!(counter.files.get(&file("c")), None, "nothing is left of it");
    let text = String::from_utf8(counter.files[&file("b")].clone()).expect("a text");
    assert!(text.ends_with(&format!("\"synced\":\"{NODE}\"}}\n")), "{text}");
}

#[test]
fn a_write_while_its_key_is_on_its_way_is_sent_behind_it() {
    let mut counter = settled();
    counter.put("a", "1");
    flush(&mut counter, DEBOUNCE);
    let (id, .., body) = call(&mut counter);
    assert_eq!(body, r#"{"value":"1"}"#);
    counter.put("a", "2");
    counter.delete("a");
    counter.put("a", "3");
    accept(&mut counter, id);
    assert!(counter.get("/v1/status").1.contains("\"reports_unsynced\":1"));
    flush(&mut counter, DEBOUNCE);
    assert_eq!(call(&mut counter).3, r#"{"value":"3"}"#);
}

#[test]
fn the_answers_of_the_control_plane_lead_where_the_table_says() {
    let waits = [
        (problem(503, "news"), RETRY),
        (problem(501, "news"), RETRY),
        (problem(400, "news"), RETRY),
        (problem(401, "unauthorized"), RETRY),
        (responded(200, "no JSON"), RETRY),
        (problem(501, "reports_not_provisioned"), SUPPRESSION),
    ];
    for (given, wait) in waits {
        let mut counter = settled();
        counter.put("a", "1");
        flush(&mut counter, DEBOUNCE);
        let (id, ..) = call(&mut counter);
        answer(&mut counter, id, given.clone());
        flush(&mut counter, wait.saturating_sub(seconds(1)));
        let early = sent(&counter.orders);
        assert!(!early.iter().any(|(_, request)| request.path.contains("/reports/")), "{given:?}");
        flush(&mut counter, seconds(1));
        assert_eq!(call(&mut counter).2, "a", "{given:?}");
    }
    let mut counter = settled();
    counter.put("a", "1");
    flush(&mut counter, DEBOUNCE);
    let (id, ..) = call(&mut counter);
    answer(&mut counter, id, problem(400, "invalid_report"));
    assert!(counter.get("/v1/status").1.contains("\"reports_unsynced\":0"), "dropped");
    assert_eq!(counter.get("/v1/state/report/a").0, 200, "it is still served");
}

/// Agent, disk and control plane, of which everything that can happen is tried.
#[derive(Clone, Debug)]
struct World {
    reports: Reports,
    sync: Sync,
    disk: BTreeMap<StateFile, Vec<u8>>,
    plane: BTreeMap<Name, String>,
    /// What is on its way: a key, its generation, and the value, none for a deletion.
    call: Option<(Name, u64, Option<String>)>,
    /// How many of its writes each key has had.
    written: [usize; KEYS],
    /// What the control plane will never take.
    refused: Vec<Name>,
    crashes: usize,
}

const KEYS: usize = 3;
const NAMES: [&str; KEYS] = ["a", "b", "c"];

/// The three writes of each key; false deletes.
const WRITES: [[bool; 3]; KEYS] = [[true, true, true], [true, false, true], [true, true, false]];

#[derive(Clone, Copy, Debug)]
enum Event {
    Write(usize),
    /// An hour passes.
    Ticked,
    Taken,
    /// The control plane takes it, and its answer is lost.
    TakenInSilence,
    Failed,
    NotProvisioned,
    Invalid,
    Crash,
}

/// How far the exploration goes.
#[derive(Clone, Copy)]
struct Reach {
    keys: usize,
    crashes: usize,
    with_invalid: bool,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            reports: Reports::default(),
            sync: Sync::default(),
            disk: BTreeMap::new(),
            plane: BTreeMap::new(),
            call: None,
            written: [0; KEYS],
            refused: Vec::new(),
            crashes: 0,
        };
        world.start();
        world
    }

    fn start(&mut self) {
        let found = |(file, bytes): (&StateFile, &Vec<u8>)| FoundFile {
            file: file.clone(),
            content: FoundContent::Bytes(Content(bytes.clone())),
        };
        let files = self.disk.iter().map(found).collect();
        (self.reports, self.sync, self.call) = (Reports::default(), Sync::default(), None);
        self.table(reports::Input::Loaded(files));
        self.table(reports::Input::Armed { node: "node".into() });
        self.deliver(start(), Input::Armed);
    }

    fn possible(&self, reach: Reach) -> Vec<Event> {
        let mut events: Vec<_> =
            (0..reach.keys).filter(|at| self.written[*at] < 3).map(Event::Write).collect();
        if self.sync.wakeup().is_some() {
            events.push(Event::Ticked);
        }
        if self.call.is_some() {
            events.extend([
                Event::Taken,
                Event::TakenInSilence,
                Event::Failed,
                Event::NotProvisioned,
            ]);
            events.extend(reach.with_invalid.then_some(Event::Invalid));
        }
        events.extend((self.crashes < reach.crashes).then_some(Event::Crash));
        events
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Write(at) => self.write(at),
            Event::Ticked => self.deliver(at(seconds(3600)), Input::Ticked),
            Event::Taken => self.taken(Delivery::Delivered),
            Event::TakenInSilence => self.taken(transient()),
            Event::Failed => self.answered(transient()),
            Event::NotProvisioned => self.answered(Delivery::NotProvisioned),
            Event::Invalid => {
                self.refused.extend(self.call.as_ref().map(|(key, ..)| key.clone()));
                self.answered(Delivery::Invalid("400".into()));
            }
            Event::Crash => {
                self.crashes += 1;
                self.start();
            }
        }
    }

    fn write(&mut self, at: usize) {
        let (asker, key) = (CallId(1), key(NAMES[at]));
        let number = self.written[at];
        self.written[at] += 1;
        self.refused.retain(|refused| refused.as_str() != NAMES[at]);
        let payload = Raw::parse(&number.to_string()).expect("a number is JSON");
        let draft = Draft { content_type: "t".into(), payload };
        self.table(match WRITES[at][number] {
            true => reports::Input::Put { asker, key, draft, if_match: None },
            false => reports::Input::Delete { asker, key },
        });
    }

    fn taken(&mut self, delivery: Delivery) {
        match self.call.clone() {
            Some((key, _, Some(value))) => drop(self.plane.insert(key, value)),
            Some((key, _, None)) => drop(self.plane.remove(&key)),
            None => {}
        }
        self.answered(delivery);
    }

    fn answered(&mut self, delivery: Delivery) {
        if let Some((key, generation, _)) = self.call.take() {
            self.deliver(start(), Input::Answered { key, generation, delivery });
        }
    }

    fn table(&mut self, input: reports::Input) {
        let step = std::mem::take(&mut self.reports).step(start(), input);
        self.reports = step.state;
        for effect in step.effects {
            match effect {
                reports::Effect::Keep { file, change } => {
                    match change {
                        Change::Write(Content(bytes)) => {
                            self.disk.insert(file.clone(), bytes);
                        }
                        Change::Remove => {
                            self.disk.remove(&file);
                        }
                        Change::Rename(_) => panic!("nothing is damaged"),
                    }
                    self.table(reports::Input::Kept { file, outcome: Ok(()) });
                }
                reports::Effect::Changed(_) => self.deliver(start(), Input::Dirtied),
                reports::Effect::Answer { outcome, .. } => assert!(outcome.is_ok()),
                reports::Effect::Tell(notice) => panic!("{notice}"),
            }
        }
    }

    fn deliver(&mut self, now: Now, input: Input) {
        let Step { state, effects } =
            std::mem::take(&mut self.sync).step(DEBOUNCE, now, self.reports.unsynced(), input);
        self.sync = state;
        for effect in effects {
            match effect {
                Effect::Deliver { key, generation } => {
                    assert_eq!(self.call, None, "one after the other");
                    let value = self.value(&key);
                    self.call = Some((key, generation, value));
                }
                Effect::Settle { key, generation } => {
                    self.table(reports::Input::Settled { key, generation });
                }
                Effect::Tell(_) => {}
            }
        }
    }

    fn value(&self, key: &Name) -> Option<String> {
        self.reports.named(key).map(|entry| entry.payload.text().to_owned())
    }

    /// Whatever has happened, what is not delivered is on the list, and somebody will come back to it.
    fn check(&self) {
        for key in NAMES.map(named) {
            let is_due = self.reports.unsynced().contains_key(&key);
            let same = self.plane.get(&key) == self.value(&key).as_ref();
            assert!(is_due || same || self.refused.contains(&key), "{key:?} is lost in {self:?}");
        }
        let goes_on = self.call.is_some() || self.sync.wakeup().is_some();
        assert!(goes_on || self.reports.unsynced().is_empty(), "nobody comes back in {self:?}");
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        format!("{:?}{:?}", self.reports, self.sync).hash(&mut hasher);
        self.disk.iter().for_each(|(file, bytes)| (&file.name, bytes).hash(&mut hasher));
        self.plane.iter().for_each(|(key, value)| (key.as_str(), value).hash(&mut hasher));
        let call = self.call.as_ref();
        call.map(|(key, generation, value)| (key.as_str(), generation, value)).hash(&mut hasher);
        self.refused.iter().for_each(|key| key.as_str().hash(&mut hasher));
        (self.written, self.crashes).hash(&mut hasher);
        hasher.finish()
    }
}

/// Every state that can be reached; tells how many there are.
fn explore(reach: Reach) -> usize {
    let first = World::new();
    let mut met = HashSet::from([first.digest()]);
    let mut open = VecDeque::from([first]);
    while let Some(world) = open.pop_front() {
        for event in world.possible(reach) {
            let mut next = world.clone();
            next.happen(event);
            next.check();
            if met.insert(next.digest()) {
                open.push_back(next);
            }
        }
    }
    met.len()
}

/// A state is one of the table, the syncer, the disk, the control plane and the network together.
#[test]
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
fn no_key_is_ever_lost_in_all_that_three_keys_with_three_writes_can_lead_to() {
    let states = explore(Reach { keys: 3, crashes: 0, with_invalid: false });
    eprintln!("{states} states of 3 keys");
    assert_eq!(states, 41_189);
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
fn no_key_is_ever_lost_by_a_crash_or_a_refusal_of_two_keys_with_three_writes() {
    let states = explore(Reach { keys: 2, crashes: 1, with_invalid: true });
    eprintln!("{states} states of 2 keys with a crash and refusals");
    assert_eq!(states, 56_961);
}
