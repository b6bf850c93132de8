//! Settings that change while the agent runs: what waits already follows a shorter interval at once.

use std::time::Duration;

use meshward_core::agent::{
    Act, Acted, Effect, EventSettings, Heard, Input, NatSettings, StagedFile, events,
    heartbeat::{self, Heartbeat},
    integrity,
    nat::{self, Nat},
    pull::{self, Pull},
    verdict::{
        Fetched,
        endpoint::{Lease, Reported},
    },
};
use meshward_core::{
    backoff::Jitter,
    time::{Mono, Now},
    wire::{heartbeat::HeartbeatResponse, pulled::Pulled, timestamp::Timestamp},
};

use crate::{
    bench::{Bench, remembered, responded, seconds, sent_to, settings, start},
    events::{IDLE, Line, REPROBE, refusal},
    hooks::seen,
    integrity::{Desk, INTERVAL},
    nat_mapping::{self, sees},
};

const SHORT: Duration = seconds(10);
const USUAL: Duration = seconds(60);
const LONG: Duration = seconds(600);

fn left(due: Option<Mono>, now: Now) -> Duration {
    due.expect("a wakeup is wanted").since(now.mono)
}

/// One that has been answered at the start, and waits for the usual interval.
fn beating() -> Heartbeat {
    let heartbeat = Heartbeat::default().step(USUAL, start(), heartbeat::Input::Armed).state;
    let accepted_at = Timestamp::from(start().wall);
    let response = HeartbeatResponse { accepted_at, reconcile: false, rotate_keys: false };
    let fetched = Fetched::Got(response);
    let answered = heartbeat::Input::Answered { fetched, date: None };
    heartbeat.step(USUAL, start(), answered).state
}

fn pulled(fetched: Fetched<Pulled>, retry_after: Option<Duration>) -> Pull {
    let pull = Pull::default().step(USUAL, start(), pull::Input::Armed).state;
    let answered = pull::Answered { fetched, retry_after, jitter: Jitter::NONE };
    pull.step(USUAL, start(), pull::Input::Answered(Box::new(answered))).state
}

#[test]
fn a_beat_that_is_waited_for_comes_within_a_shorter_interval_and_at_its_time_within_a_longer_one() {
    let later = start().after(seconds(20));
    for (interval, expected) in [(SHORT, SHORT), (USUAL, seconds(40)), (LONG, seconds(40))] {
        let step = beating().step(interval, later, heartbeat::Input::Retimed);
        assert_eq!((left(step.state.wakeup(), later), step.effects), (expected, vec![]));
    }
    let due = start().after(USUAL);
    let step = beating().step(LONG, due, heartbeat::Input::Ticked);
    assert_eq!(step.effects, [heartbeat::Effect::Post], "the longer one holds behind this beat");
}

#[test]
fn a_pull_that_is_waited_for_comes_within_a_shorter_interval_and_at_its_time_within_a_longer_one() {
    let later = start().after(seconds(20));
    for (interval, expected) in [(SHORT, SHORT), (USUAL, seconds(40)), (LONG, seconds(40))] {
        let waiting = pulled(Fetched::Got(Pulled::default()), None);
        let step = waiting.step(interval, later, pull::Input::Retimed);
        assert_eq!((left(step.state.wakeup(), later), step.effects), (expected, vec![]));
    }
}

#[test]
fn a_wait_that_the_control_plane_has_named_is_not_cut_by_a_shorter_interval() {
    let waiting = pulled(Fetched::Failed("busy".into()), Some(seconds(50)));
    let step = waiting.step(SHORT, start(), pull::Input::Retimed);
    assert!(left(step.state.wakeup(), start()) >= seconds(50), "{:?}", step.state);
}

#[test]
fn a_report_of_the_endpoint_that_is_waited_for_follows_but_keeps_its_distance_to_the_last() {
    let at = |settings: NatSettings| {
        let usual = nat_mapping::settings();
        let nat = Nat::default().step(&usual, start(), nat::Input::Armed).state;
        let outcome = Ok(vec![sees(1, "198.51.100.7:40000")]);
        let found = nat::Input::Discovered { round: 1, outcome, jitter: Jitter::NONE };
        let nat = nat.step(&usual, start(), found).state;
        let reported = Reported::Accepted(Lease { accepted_at: None, stale_after: None });
        let answered = nat::Input::Reported { reported, jitter: Jitter::NONE };
        let nat = nat.step(&usual, start(), answered).state;
        assert_eq!(left(nat.wakeup(), start()), usual.refresh_interval);
        let step = nat.step(&settings, start(), nat::Input::Retimed);
        assert_eq!(step.effects, []);
        left(step.state.wakeup(), start())
    };
    let usual = nat_mapping::settings();
    let (refresh, floor) = (usual.refresh_interval, usual.min_report_interval);
    assert!(floor < refresh && refresh < LONG, "so that each of the cases below is one");
    let half = (refresh + floor) / 2;
    for (interval, expected) in [(half, half), (Duration::ZERO, floor), (LONG, refresh)] {
        assert_eq!(at(NatSettings { refresh_interval: interval, ..usual.clone() }), expected);
    }
}

#[test]
fn a_look_at_the_files_that_is_waited_for_comes_within_a_shorter_interval() {
    let mut desk = Desk::new();
    desk.give(integrity::Input::Armed);
    assert_eq!(left(desk.integrity.wakeup(), desk.now), INTERVAL);
    for (interval, expected) in [(INTERVAL * 2, INTERVAL), (SHORT, SHORT)] {
        desk.settings.verify_interval = interval;
        assert_eq!(desk.give(integrity::Input::Retimed), []);
        assert_eq!(left(desk.integrity.wakeup(), desk.now), expected);
    }
}

#[test]
fn a_whole_agent_beats_by_the_new_interval_and_looks_at_its_hooks() {
    let mut bench = Bench::new(settings());
    bench.settings.actions.hooks = true;
    let effects = bench.give(Input::Restarted(Box::new(remembered(StagedFile::Missing))));
    let (call, _) = sent_to(&effects, "/heartbeat");
    bench.give(Input::Acted(Acted::Scanned(Box::new(seen(&[])))));
    let accepted_at = Timestamp::from(bench.now.wall);
    let body =
        format!(r#"{{"accepted_at":"{accepted_at}","reconcile":false,"rotate_keys":false}}"#);
    bench.answer(call, responded(200, &body));
    bench.settings.heartbeat_interval = seconds(1);
    assert_eq!(bench.give(Input::Retimed), [Effect::Act(Act::Scan)]);
    bench.pass(seconds(1));
    sent_to(&bench.give(Input::Ticked), "/heartbeat");
}

#[test]
fn an_agent_without_an_identity_does_nothing_for_it() {
    assert_eq!(Bench::new(settings()).give(Input::Retimed), []);
}

/// A backoff has a pace of its own.
#[test]
fn a_stream_is_asked_for_within_a_shorter_slow_pace_and_at_its_time_within_a_longer_one() {
    let later = start().after(seconds(20));
    let left_of = |answer: Heard, now: Now, reprobe_interval| {
        let mut line = Line::armed();
        line.heard(answer);
        let settings = EventSettings { idle_timeout: IDLE, reprobe_interval };
        let fresh = line.last.next();
        let step = line.events.step(&settings, fresh, now, events::Input::Retimed);
        assert_eq!(step.effects, []);
        left(step.state.wakeup(), now)
    };
    let descoped = || refusal(501, "signed_event_bus_not_provisioned");
    assert_eq!(left_of(descoped(), later, SHORT), SHORT);
    assert_eq!(left_of(descoped(), later, 2 * REPROBE), REPROBE - seconds(20));
    assert_eq!(left_of(refusal(403, "forbidden"), later, SHORT), SHORT);
    let busy = || refusal(503, "unavailable");
    assert_eq!(left_of(busy(), start(), SHORT / 100), left_of(busy(), start(), LONG));
    let mut line = Line::armed();
    line.heard(refusal(403, "forbidden"));
    line.reopened();
    line.heard(busy());
    let backoff = line.left();
    line.give(events::Input::Retimed);
    assert_eq!(line.left(), backoff, "behind a refusal too");
}
