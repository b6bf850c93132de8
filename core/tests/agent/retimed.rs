//! Settings that change while the agent runs: what waits already follows a shorter interval at once.

use std::time::Duration;

use meshward_core::agent::{
    Act, Effect, Input, IntegritySettings, NatSettings, Settings, StagedFile,
    heartbeat::{self, Heartbeat},
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
    bench::{Bench, remembered, seconds, sent, settings, start},
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

fn whole() -> Settings {
    let integrity = IntegritySettings { verify_interval: LONG, watch_enabled: true };
    let mut whole = settings();
    whole.senses.integrity = Some(integrity);
    whole.actions.hooks = true;
    whole
}

#[test]
fn a_whole_agent_looks_at_its_files_and_beats_by_the_new_intervals() {
    let mut bench = Bench::new(whole());
    let effects = bench.give(Input::Restarted(Box::new(remembered(StagedFile::Missing))));
    assert_eq!(sent(&effects).len(), 2, "a heartbeat and a pull: {effects:?}");
    let before = left(bench.agent.wakeup(), bench.now);
    bench.settings.senses.integrity =
        Some(IntegritySettings { verify_interval: SHORT, watch_enabled: true });
    assert_eq!(bench.give(Input::Retimed), [], "a look at the hooks is under way");
    assert!(before > SHORT, "{before:?}");
    assert_eq!(left(bench.agent.wakeup(), bench.now), SHORT);
    bench.pass(SHORT);
    assert!(bench.give(Input::Ticked).contains(&Effect::Act(Act::Measure)));
}

#[test]
fn an_agent_without_an_identity_does_nothing_for_it() {
    let mut bench = Bench::new(whole());
    assert_eq!(bench.give(Input::Retimed), []);
}
