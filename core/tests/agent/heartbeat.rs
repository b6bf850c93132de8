//! The heartbeat: its rhythm, one in flight, and what each answer sets off.

use std::time::Duration;

use meshward_core::{
    agent::{
        heartbeat::{Effect, Heartbeat, Input},
        notice::Level,
        verdict::Fetched,
    },
    step::Step,
    time::Now,
    wire::{heartbeat::HeartbeatResponse, timestamp::Timestamp},
};

use crate::bench::{seconds, start};

const INTERVAL: Duration = seconds(30);

struct Pulse {
    heartbeat: Heartbeat,
    now: Now,
}

impl Pulse {
    fn armed() -> Self {
        let mut pulse = Self { heartbeat: Heartbeat::default(), now: start() };
        assert_eq!(pulse.give(Input::Armed), [Effect::Post]);
        pulse
    }

    fn give(&mut self, input: Input) -> Vec<Effect> {
        let Step { state, effects } =
            std::mem::take(&mut self.heartbeat).step(INTERVAL, self.now, input);
        self.heartbeat = state;
        effects
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    /// The time until the next beat.
    fn left(&self) -> Option<Duration> {
        self.heartbeat.wakeup().map(|due| due.since(self.now.mono))
    }
}

fn accepted(now: Now, reconcile: bool, rotate_keys: bool) -> Input {
    let accepted_at = Timestamp::from(now.wall);
    Input::Answered(Fetched::Got(HeartbeatResponse { accepted_at, reconcile, rotate_keys }))
}

fn failed() -> Input {
    Input::Answered(Fetched::Failed("down".into()))
}

fn levels(effects: &[Effect]) -> Vec<Level> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Tell(notice) => Some(notice.level),
            Effect::Post
            | Effect::Reconcile
            | Effect::RotateKeys
            | Effect::Admitted
            | Effect::Unauthorized => None,
        })
        .collect()
}

#[test]
fn nothing_beats_before_it_is_armed() {
    let mut pulse = Pulse { heartbeat: Heartbeat::default(), now: start() };
    assert_eq!(pulse.give(Input::Ticked), []);
    assert_eq!(pulse.give(failed()), []);
    assert_eq!(pulse.left(), None);
}

#[test]
fn beats_keep_the_rhythm_of_their_beginnings_not_of_their_answers() {
    let mut pulse = Pulse::armed();
    for _ in 0..3 {
        pulse.pass(seconds(7));
        pulse.give(accepted(pulse.now, false, false));
        assert_eq!(pulse.left(), Some(seconds(23)));
        pulse.pass(seconds(23));
        assert_eq!(pulse.give(Input::Ticked), [Effect::Post]);
    }
}

#[test]
fn one_beat_is_in_flight_and_those_due_meanwhile_are_dropped() {
    let mut pulse = Pulse::armed();
    pulse.pass(seconds(75));
    assert_eq!(pulse.give(Input::Ticked), []);
    assert_eq!(pulse.left(), None);
    pulse.give(failed());
    assert_eq!(pulse.left(), Some(seconds(15)));
}

#[test]
fn an_answer_on_the_beat_waits_for_the_next_one() {
    let mut pulse = Pulse::armed();
    pulse.pass(INTERVAL);
    pulse.give(failed());
    assert_eq!(pulse.left(), Some(INTERVAL));
}

#[test]
fn a_tick_before_its_time_sends_nothing() {
    let mut pulse = Pulse::armed();
    pulse.give(failed());
    pulse.pass(INTERVAL - Duration::from_nanos(1));
    assert_eq!(pulse.give(Input::Ticked), []);
    pulse.pass(Duration::from_nanos(1));
    assert_eq!(pulse.give(Input::Ticked), [Effect::Post]);
}

#[test]
fn each_flag_of_an_accepted_beat_sets_off_its_own_work() {
    for (reconcile, rotate_keys) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut pulse = Pulse::armed();
        pulse.pass(seconds(1));
        let effects = pulse.give(accepted(pulse.now, reconcile, rotate_keys));
        assert!(effects.contains(&Effect::Admitted));
        assert_eq!(effects.contains(&Effect::Reconcile), reconcile);
        assert_eq!(effects.contains(&Effect::RotateKeys), rotate_keys);
        assert_eq!(levels(&effects), [Level::Debug]);
        assert_eq!(pulse.heartbeat.accepted, Some(pulse.now.mono));
    }
}

#[test]
fn every_refusal_keeps_the_rhythm_and_only_a_401_costs_the_standing() {
    let rows = [
        (Fetched::Unauthorized("no".into()), true, Level::Error),
        (Fetched::ClockSkew("off".into()), false, Level::Error),
        (Fetched::Failed("down".into()), false, Level::Warn),
    ];
    for (answer, unauthorized, level) in rows {
        let mut pulse = Pulse::armed();
        let effects = pulse.give(Input::Answered(answer));
        assert_eq!(effects.contains(&Effect::Unauthorized), unauthorized);
        assert!(!effects.contains(&Effect::Admitted));
        assert_eq!(levels(&effects), [level]);
        assert_eq!((pulse.left(), pulse.heartbeat.accepted), (Some(INTERVAL), None));
    }
}

#[test]
fn a_clock_that_is_off_is_told_with_its_remedy() {
    let effects = Pulse::armed().give(Input::Answered(Fetched::ClockSkew("off".into())));
    assert!(format!("{effects:?}").contains("NTP"), "{effects:?}");
}

#[test]
fn a_quieted_heartbeat_stays_quiet_whatever_is_answered() {
    let mut pulse = Pulse::armed();
    assert_eq!(pulse.give(Input::Quieted), []);
    assert_eq!(pulse.give(accepted(pulse.now, true, true)), []);
    pulse.pass(seconds(300));
    assert_eq!(pulse.give(Input::Ticked), []);
    assert_eq!(pulse.left(), None);
}

#[test]
fn the_first_heartbeat_that_is_accepted_after_failures_is_told_once() {
    let mut pulse = Pulse::armed();
    let mut told = |input: fn(Now) -> Input| {
        let input = input(pulse.now);
        let levels = levels(&pulse.give(input));
        pulse.pass(INTERVAL);
        pulse.give(Input::Ticked);
        levels
    };
    let good = |now| accepted(now, false, false);
    let refused = |_| Input::Answered(Fetched::Unauthorized("no".into()));
    assert_eq!(told(good), [Level::Debug]);
    assert_eq!(told(|_| failed()), [Level::Warn]);
    assert_eq!(told(refused), [Level::Error]);
    assert_eq!(told(good), [Level::Info, Level::Debug]);
    assert_eq!(told(good), [Level::Debug]);
}
