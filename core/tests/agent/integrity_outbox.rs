//! The delivery of integrity violations: what each answer means, how batches are cut, and that none is lost in silence.

use std::collections::BTreeMap;

use meshward_core::{
    agent::{
        Answer, Failure, Level, Lost,
        integrity::{BACKOFF, Effect, Input, SPLIT_WAIT},
        verdict::{
            Trouble,
            violations::{Reported, read},
        },
    },
    plane::integrity as plane,
    wire::{
        grammar::Checksum,
        http::{Body, Response},
        integrity::{
            BODY_MAX, Finding, IntegrityViolation, IntegrityViolationsRequest, VIOLATIONS_MAX,
        },
        json,
    },
};
use proptest::prelude::*;

use crate::{
    bench::{echoing, problem, responded, seconds, start},
    hooks::{digest, whole},
    integrity::{Desk, posted, told},
    support::seeds_in,
};

#[test]
fn an_answer_means_what_the_table_says() {
    let wall = start().wall;
    let body = r#"{"accepted_at":"2026-01-01T00:00:00Z","violation_count":3}"#;
    for status in [200, 202] {
        assert_eq!(read(&responded(status, body), wall), Reported::Delivered(Some(3)));
    }
    assert_eq!(read(&responded(204, ""), wall), Reported::Delivered(None));
    for body in ["", "{}", "not JSON"] {
        assert!(matches!(read(&responded(200, body), wall), Reported::Failed(_)), "{body}");
    }
    for (status, code) in [
        (400, "malformed_integrity_violations_request"),
        (400, "integrity_violations_too_many"),
        (400, "integrity_violation_kind_invalid"),
        (400, "integrity_violation_detected_by_invalid"),
        (400, "integrity_violation_artifact_id_empty"),
        (400, "integrity_violation_kind_mismatch"),
        (400, "integrity_violation_host_key_fingerprint_invalid"),
        (400, "integrity_violation_checksum_invalid"),
        (400, "unheard_of"),
        (413, "integrity_violations_body_too_large"),
        (422, "unheard_of"),
    ] {
        let verdict = read(&problem(status, code), wall);
        let words = format!("{status}: {code}: told so (correlation id c0ffee)");
        assert_eq!(verdict, Reported::Refused(words));
    }
    assert!(matches!(read(&echoing(413, "too much"), wall), Reported::Refused(_)));
    let empty = problem(400, "integrity_violations_empty");
    assert!(matches!(read(&empty, wall), Reported::Failed(_)), "one is never sent");
    for status in [300, 400, 401, 403, 404, 409, 422, 500, 501, 502] {
        let answer = echoing(status, "told so");
        assert!(matches!(read(&answer, wall), Reported::Failed(_)), "{status} without a code");
    }
    for (status, expected) in [(429, Some(7)), (503, Some(7)), (500, None)] {
        let answer = Answer::Responded(Response::empty(status).with("retry-after", "7"));
        let Reported::Failed(trouble) = read(&answer, wall) else { panic!("{status}") };
        assert_eq!(trouble.retry_after, expected.map(seconds), "{status}");
    }
    for failure in [Failure::Unreachable, Failure::TimedOut, Failure::Oversized { status: 200 }] {
        assert!(matches!(read(&Answer::Failed(Lost::from(failure)), wall), Reported::Failed(_)));
    }
}

fn numbered(at: u64) -> Checksum {
    let mut bytes = [1; 32];
    bytes[..8].copy_from_slice(&at.to_be_bytes());
    Checksum::from_bytes(bytes)
}

fn number(violation: &IntegrityViolation) -> u64 {
    let Finding::HookChecksum(seen) = &violation.finding else { panic!("{violation:?}") };
    u64::from_str_radix(&seen.observed.to_hex()[..16], 16).expect("digits")
}

/// Something is found of a hook; each number is another content.
fn find(desk: &mut Desk, at: u64) -> Vec<Effect> {
    desk.give(Input::Differs { hook: "a".into(), observed: numbered(at) })
}

/// A node with one hook, in front of its identity, where so much was found.
fn found(count: u64) -> Desk {
    let mut desk = Desk::new();
    desk.look(&[whole("a", 200)]);
    desk.kept(Ok(()));
    (0..count).for_each(|at| assert_eq!(told(&find(&mut desk, at), Level::Error).len(), 1));
    desk
}

fn failed() -> Reported {
    Reported::Failed(Trouble { reason: "it failed".into(), retry_after: None })
}

fn refused() -> Reported {
    Reported::Refused("400: told so".into())
}

fn numbers(effects: &[Effect]) -> Vec<u64> {
    posted(effects).iter().map(number).collect()
}

#[test]
fn they_are_sent_in_order_and_as_many_at_once_as_a_batch_holds() {
    let mut desk = found(300);
    let mut sent = numbers(&desk.give(Input::Armed));
    assert_eq!(sent.len(), VIOLATIONS_MAX);
    sent.extend(numbers(&desk.answer(Reported::Delivered(Some(128)))));
    sent.extend(numbers(&desk.answer(Reported::Delivered(Some(128)))));
    assert_eq!(sent, (0..300).collect::<Vec<_>>());
    assert_eq!(posted(&desk.answer(Reported::Delivered(Some(44)))), []);
    assert_eq!(desk.integrity.waiting(), 0);
}

#[test]
fn a_batch_stays_under_the_cap_of_the_route_and_the_control_plane_reads_it() {
    let name = "\"".repeat(247);
    let mut desk = Desk::new();
    desk.look(&[whole(&name, 200)]);
    for at in 0..VIOLATIONS_MAX as u64 {
        desk.give(Input::Differs { hook: name.clone(), observed: numbered(at) });
    }
    let batch = posted(&desk.give(Input::Armed));
    assert!(batch.len() < VIOLATIONS_MAX, "fewer than there are");
    let one = json::encode(&batch[0]).len();
    let body = json::encode(&IntegrityViolationsRequest { violations: batch });
    assert!(body.len() <= BODY_MAX && body.len() + 2 * one > BODY_MAX, "{}", body.len());
    assert!(plane::read(&Body::Whole(body)).is_ok());
}

#[test]
fn after_a_failure_the_same_is_sent_after_waits_that_grow() {
    let mut desk = found(2);
    desk.give(Input::Armed);
    let line = "integrity violations were not taken, and are sent again until they are: it failed";
    assert_eq!(told(&desk.answer(failed()), Level::Warn), [line]);
    let mut waits = Vec::new();
    for _ in 0..6 {
        waits.push(desk.left().expect("it is sent again").as_secs());
        assert_eq!(numbers(&desk.wake()), [0, 1]);
        assert_eq!(told(&desk.answer(failed()), Level::Warn), [""; 0], "it is told once");
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 60]);
    let asked = Trouble { reason: "busy".into(), retry_after: Some(seconds(100)) };
    desk.wake();
    desk.answer(Reported::Failed(asked));
    assert_eq!(desk.left(), Some(seconds(100)));
    desk.wake();
    let line =
        "integrity violations are accepted again, after 8 failures in a row within 4 min 42 s";
    assert_eq!(told(&desk.answer(Reported::Delivered(Some(2))), Level::Info), [line]);
}

#[test]
fn the_one_entry_that_is_not_taken_is_found_and_dropped_alone() {
    for bad in [0, 1, 63, 64, 127, 200] {
        let mut desk = found(300);
        let mut batch = numbers(&desk.give(Input::Armed));
        let (mut taken, mut dropped, mut requests) = (Vec::new(), Vec::new(), 0);
        while !batch.is_empty() {
            requests += 1;
            let effects = if batch.contains(&bad) {
                let effects = desk.answer(refused());
                assert_eq!(posted(&effects), [], "a refusal is not answered at once");
                dropped.extend(told(&effects, Level::Error));
                assert_eq!(desk.left(), Some(SPLIT_WAIT));
                desk.wake()
            } else {
                taken.extend(batch);
                desk.answer(Reported::Delivered(None))
            };
            batch = numbers(&effects);
        }
        let line = "the control plane does not take the integrity violation of \"a\", which is dropped: 400: told so";
        assert_eq!(dropped, [line], "{bad}");
        assert_eq!(taken, (0..300).filter(|at| *at != bad).collect::<Vec<_>>());
        assert!(requests < 40, "{requests} for {bad}");
    }
}

#[test]
fn a_violation_that_is_too_large_alone_is_dropped_counted_and_told_once_with_its_name() {
    let mut desk = Desk::new();
    desk.look(&[whole("deploy", 1)]);
    desk.give(Input::Armed);
    assert_eq!(posted(&desk.look(&[whole("deploy", 2)])).len(), 1, "it is alone in its request");
    let too_large = read(&problem(413, "integrity_violations_body_too_large"), start().wall);
    let line = "the control plane does not take the integrity violation of \"deploy\", which is dropped: 413: \
                integrity_violations_body_too_large: told so (correlation id c0ffee)";
    assert_eq!(told(&desk.answer(too_large.clone()), Level::Error), [line]);
    assert_eq!((desk.integrity.waiting(), desk.integrity.dropped()), (0, 1));
    // It is found by each later look, and neither told nor sent again.
    for _ in 0..3 {
        desk.now = desk.now.after(seconds(300));
        desk.give(Input::Ticked);
        let effects = desk.look(&[whole("deploy", 2)]);
        assert_eq!((told(&effects, Level::Error).len(), posted(&effects).len()), (0, 0));
    }
    assert_eq!(
        told(&desk.answer(too_large), Level::Error),
        [""; 0],
        "an answer that nobody waits for"
    );
    assert_eq!(desk.integrity.dropped(), 1);
}

#[test]
fn what_was_in_flight_when_the_identity_rested_is_sent_again_under_the_next() {
    let mut desk = found(3);
    assert_eq!(numbers(&desk.give(Input::Armed)), [0, 1, 2]);
    desk.give(Input::Quieted);
    find(&mut desk, 3);
    assert_eq!(numbers(&desk.give(Input::Armed)), [0, 1, 2, 3]);
}

#[test]
fn an_answer_during_the_drain_still_counts_and_what_is_left_is_told_at_the_end() {
    for (verdict, left) in [(Reported::Delivered(None), 1), (failed(), 3), (refused(), 3)] {
        let mut desk = found(2);
        desk.give(Input::Armed);
        desk.give(Input::Quieted);
        find(&mut desk, 2);
        assert_eq!(posted(&desk.answer(verdict)), []);
        assert_eq!(posted(&desk.answer(Reported::Delivered(None))), [], "one answer a call");
        let line = format!(
            "{left} integrity violations were not delivered before the end; what is still so is found at the next start"
        );
        assert_eq!(told(&desk.give(Input::Closed), Level::Error), [line]);
    }
    assert_eq!(found(0).give(Input::Closed), []);
}

#[test]
fn a_count_that_is_not_that_of_the_batch_is_told() {
    let mut desk = found(2);
    desk.give(Input::Armed);
    let line = "2 integrity violations were sent, of which the control plane counted 1";
    assert_eq!(told(&desk.answer(Reported::Delivered(Some(1))), Level::Warn), [line]);
}

#[derive(Clone, Debug)]
enum Event {
    /// Another content is found.
    Found,
    Armed,
    Quieted,
    Delivered,
    /// The answer is lost, or a failure.
    Failed,
    Woken,
    /// The process is killed, and the next one meets the last content.
    Restarted,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => Just(Event::Found),
        2 => Just(Event::Armed),
        1 => Just(Event::Quieted),
        4 => Just(Event::Delivered),
        3 => Just(Event::Failed),
        4 => Just(Event::Woken),
        1 => Just(Event::Restarted),
    ]
}

/// One process after the other, a control plane that refuses some entries, and what became of each.
struct World {
    desk: Desk,
    flying: Vec<u64>,
    /// How often each was taken, by the process that found it.
    taken: BTreeMap<(u32, u64), usize>,
    dropped: BTreeMap<u32, usize>,
    found: BTreeMap<u32, Vec<u64>>,
    process: u32,
    next: u64,
    bad: Vec<u64>,
}

impl World {
    fn new(bad: Vec<u64>) -> Self {
        Self {
            desk: found(0),
            flying: Vec::new(),
            taken: BTreeMap::new(),
            dropped: BTreeMap::new(),
            found: BTreeMap::new(),
            process: 0,
            next: 0,
            bad,
        }
    }

    fn take(&mut self, effects: &[Effect]) {
        let batch = numbers(effects);
        if !batch.is_empty() {
            assert!(self.flying.is_empty(), "two batches at once");
            self.flying = batch;
        }
        let dropped = told(effects, Level::Error);
        let dropped = dropped.iter().filter(|text| text.contains("which is dropped")).count();
        *self.dropped.entry(self.process).or_default() += dropped;
    }

    /// The control plane takes what it may.
    fn answer(&mut self) {
        let batch = std::mem::take(&mut self.flying);
        if batch.is_empty() {
            return;
        }
        let effects = if batch.iter().any(|at| self.bad.contains(at)) {
            self.desk.answer(refused())
        } else {
            for at in batch {
                *self.taken.entry((self.process, at)).or_default() += 1;
            }
            self.desk.answer(Reported::Delivered(None))
        };
        self.take(&effects);
    }

    fn find(&mut self, at: u64) {
        let effects = find(&mut self.desk, at);
        self.found.entry(self.process).or_default().push(at);
        self.take(&effects);
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Found => {
                self.next += 1;
                self.find(self.next);
            }
            Event::Armed => {
                let effects = self.desk.give(Input::Armed);
                self.take(&effects);
            }
            Event::Quieted => {
                // The answers to what was asked under the identity reach nobody.
                self.flying.clear();
                let effects = self.desk.give(Input::Quieted);
                self.take(&effects);
            }
            Event::Delivered => self.answer(),
            Event::Failed if self.flying.is_empty() => {}
            Event::Failed => {
                self.flying.clear();
                let effects = self.desk.answer(failed());
                self.take(&effects);
            }
            Event::Woken => self.wake(),
            Event::Restarted => {
                self.flying.clear();
                let desk = std::mem::replace(&mut self.desk, Desk::new());
                self.desk = desk.again();
                self.process += 1;
                self.desk.look(&[whole("a", 200)]);
                if self.next > 0 {
                    self.find(self.next);
                }
            }
        }
    }

    fn wake(&mut self) {
        if self.desk.left().is_some() {
            let effects = self.desk.wake();
            self.take(&effects);
        }
    }
}

proptest! {
    #![proptest_config(seeds_in("integrity_outbox"))]

    /// Whatever is answered, lost and restarted: in the end each violation that the last process found was taken exactly
    /// once or told as dropped, and no process had one taken twice.
    #[test]
    fn every_violation_is_delivered_exactly_once_or_told_as_dropped(
        events in prop::collection::vec(event(), 0..120),
        bad in prop::collection::vec(0_u64..40, 0..4),
    ) {
        let mut world = World::new(bad);
        for event in &events {
            world.happen(event);
        }
        world.happen(&Event::Quieted);
        world.happen(&Event::Armed);
        for _ in 0..1_000 {
            world.answer();
            if world.desk.integrity.waiting() == 0 {
                break;
            }
            if world.flying.is_empty() {
                world.wake();
            }
        }
        prop_assert_eq!(world.desk.integrity.waiting(), 0);
        prop_assert!(world.taken.values().all(|times| *times == 1), "{:?}", world.taken);
        let found = world.found.remove(&world.process).unwrap_or_default();
        let (bad, good): (Vec<u64>, Vec<u64>) =
            found.iter().copied().partition(|at| world.bad.contains(at));
        for at in good {
            prop_assert!(world.taken.contains_key(&(world.process, at)), "{at} was not delivered");
        }
        prop_assert_eq!(world.dropped.get(&world.process).copied().unwrap_or_default(), bad.len());
    }

    /// A control plane that takes nothing is not asked faster than once a second, whatever it answers.
    #[test]
    fn a_control_plane_that_takes_nothing_is_not_asked_in_a_loop(
        answers in prop::collection::vec(any::<bool>(), 100),
        count in 1_u64..300,
    ) {
        let mut desk = found(count);
        let began = desk.now.mono;
        let mut asked = u64::from(!posted(&desk.give(Input::Armed)).is_empty());
        for is_refusal in answers {
            let effects = desk.answer(if is_refusal { refused() } else { failed() });
            prop_assert!(posted(&effects).is_empty(), "nothing is sent again at once");
            if desk.integrity.waiting() == 0 {
                break;
            }
            asked += u64::from(!posted(&desk.wake()).is_empty());
        }
        let passed = desk.now.mono.since(began);
        prop_assert!(seconds(asked) <= passed + seconds(1), "{asked} in {passed:?}");
    }
}

/// What is known of a hook, and what may be found of it.
#[derive(Clone, Debug)]
enum Sight {
    Looked([Option<u8>; 3]),
    Stirred([Option<u8>; 3]),
    Restarted,
    Kept(bool),
}

fn sight() -> impl Strategy<Value = Sight> {
    let files = || prop::array::uniform3(prop::option::weighted(0.7, 0_u8..3));
    prop_oneof![
        4 => files().prop_map(Sight::Looked),
        3 => files().prop_map(Sight::Stirred),
        1 => Just(Sight::Restarted),
        4 => any::<bool>().prop_map(Sight::Kept),
    ]
}

proptest! {
    #![proptest_config(seeds_in("integrity_baselines"))]

    /// Beside a model: the first content that was kept of each name is what it is held to, and each other content is
    /// reported once by each process.
    #[test]
    fn the_first_content_that_was_kept_is_what_a_hook_is_held_to(
        sights in prop::collection::vec(sight(), 0..60),
    ) {
        const NAMES: [&str; 3] = ["a", "b", "c"];
        let mut desk = Desk::new();
        desk.give(Input::Armed);
        // What this process holds each to, and what it has reported.
        let mut first: BTreeMap<&str, u8> = BTreeMap::new();
        let mut reported: Vec<(&str, u8)> = Vec::new();
        for sight in sights {
            let (files, effects) = match sight {
                Sight::Kept(outcome) => {
                    if desk.change.is_some() {
                        desk.kept(if outcome { Ok(()) } else { Err("no".into()) });
                    }
                    continue;
                }
                Sight::Restarted => {
                    desk = desk.again();
                    desk.give(Input::Armed);
                    let known = if desk.disk.is_some() { desk.known().hooks } else { BTreeMap::default() };
                    first.retain(|name, byte| known.get(*name) == Some(&digest(*byte)));
                    prop_assert_eq!(known.len(), first.len(), "what is on the disk was seen");
                    reported.clear();
                    continue;
                }
                Sight::Looked(files) => (files, desk.look(&found_of(files))),
                Sight::Stirred(files) => (files, desk.stir(&found_of(files))),
            };
            let mut expected = Vec::new();
            for (name, byte) in NAMES.into_iter().zip(files).filter_map(|(name, byte)| Some((name, byte?))) {
                let was = *first.entry(name).or_insert(byte);
                if was != byte && !reported.contains(&(name, byte)) {
                    reported.push((name, byte));
                    expected.push((name.to_owned(), digest(byte), Some(digest(was))));
                }
            }
            let batch = posted(&effects);
            let told: Vec<_> = batch.iter().map(|violation| {
                let Finding::HookChecksum(seen) = &violation.finding else { panic!("{violation:?}") };
                (violation.artifact_id.as_str().to_owned(), seen.observed, seen.expected)
            }).collect();
            prop_assert_eq!(told, expected);
            if !batch.is_empty() {
                desk.answer(Reported::Delivered(None));
            }
        }
    }
}

fn found_of(files: [Option<u8>; 3]) -> Vec<meshward_core::agent::FoundHook> {
    let names = ["a", "b", "c"].into_iter().zip(files);
    names.filter_map(|(name, byte)| Some(whole(name, byte?))).collect()
}

#[test]
fn the_waits_stay_between_their_base_and_their_cap() {
    assert_eq!((BACKOFF.base, BACKOFF.cap), (seconds(2), seconds(60)));
}
