//! The heartbeat: its rhythm, one in flight, and what each answer sets off.

use std::time::Duration;

use meshward_core::{
    agent::{
        heartbeat::{Effect, Heartbeat, Input},
        notice::Level,
        verdict::Fetched,
    },
    step::Step,
    time::{Now, Wall},
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

fn answered(fetched: Fetched<HeartbeatResponse>) -> Input {
    Input::Answered { fetched, date: None }
}

fn accepted(now: Now, reconcile: bool, rotate_keys: bool) -> Input {
    let accepted_at = Timestamp::from(now.wall);
    answered(Fetched::Got(HeartbeatResponse { accepted_at, reconcile, rotate_keys }))
}

fn failed() -> Input {
    answered(Fetched::Failed("down".into()))
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
        let effects = pulse.give(answered(answer));
        assert_eq!(effects.contains(&Effect::Unauthorized), unauthorized);
        assert!(!effects.contains(&Effect::Admitted));
        assert_eq!(levels(&effects), [level]);
        assert_eq!((pulse.left(), pulse.heartbeat.accepted), (Some(INTERVAL), None));
    }
}

#[test]
fn a_clock_that_is_off_is_told_with_its_remedy() {
    let effects = Pulse::armed().give(answered(Fetched::ClockSkew("off".into())));
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
    let refused = |_| answered(Fetched::Unauthorized("no".into()));
    assert_eq!(told(good), [Level::Debug]);
    assert_eq!(told(|_| failed()), [Level::Warn]);
    assert_eq!(told(refused), [Level::Error]);
    assert_eq!(told(good), [Level::Info, Level::Debug]);
    assert_eq!(told(good), [Level::Debug]);
}

#[test]
fn after_a_suspend_of_eight_hours_there_is_exactly_one_beat() {
    for is_in_flight in [false, true] {
        let mut pulse = Pulse::armed();
        if !is_in_flight {
            pulse.give(accepted(pulse.now, false, false));
        }
        pulse.pass(seconds(8 * 3600));
        let first = pulse.give(Input::Ticked);
        assert_eq!(first.len(), usize::from(!is_in_flight), "{first:?}");
        pulse.give(failed());
        assert_eq!(pulse.left(), Some(INTERVAL));
        assert_eq!(pulse.give(Input::Ticked), []);
    }
}

/// The texts at these levels of one whole day of answers.
fn day(answer: impl Fn(u64) -> Fetched<HeartbeatResponse>, loud: &[Level]) -> Vec<String> {
    let mut pulse = Pulse::armed();
    let mut told = Vec::new();
    for beat in 0..2_880 {
        for effect in pulse.give(answered(answer(beat))) {
            let Effect::Tell(notice) = effect else { continue };
            if loud.contains(&notice.level) {
                told.push(notice.text);
            }
        }
        pulse.pass(INTERVAL);
        pulse.give(Input::Ticked);
    }
    told
}

#[test]
fn a_control_plane_that_is_away_for_a_day_is_told_about_once_an_hour_with_how_long() {
    let loud = [Level::Error, Level::Warn, Level::Info];
    let down = |_| Fetched::Failed("down".into());
    let refused = |_| Fetched::Unauthorized("no".into());
    let off = |_| Fetched::ClockSkew("off".into());
    let answers: [&dyn Fn(u64) -> Fetched<HeartbeatResponse>; 3] = [&down, &refused, &off];
    for answer in answers {
        let told = day(answer, &loud);
        assert_eq!(told.len(), 24, "{told:#?}");
        assert!(told[1].contains("failure 121 in a row, for 1 h"), "{}", told[1]);
    }
    let mixed = day(
        |beat| match beat % 3 {
            0 => Fetched::Failed("down".into()),
            1 => Fetched::Unauthorized("no".into()),
            _ => Fetched::ClockSkew("off".into()),
        },
        &loud,
    );
    assert!(mixed.len() <= 3 * 24, "each kind by itself: {}", mixed.len());
}

/// What the answer to a beat makes the operator read, beyond what is for debugging.
fn told_of(fetched: Fetched<HeartbeatResponse>, date: Option<&str>) -> Vec<(Level, String)> {
    let mut pulse = Pulse::armed();
    pulse.pass(seconds(2));
    let date = date.map(|text| Timestamp::parse(text).expect("a time"));
    let effects = pulse.give(Input::Answered { fetched, date });
    let told = effects.into_iter().filter_map(|effect| {
        let Effect::Tell(notice) = effect else { return None };
        Some((notice.level, notice.text))
    });
    told.filter(|(level, _)| *level != Level::Debug).collect()
}

/// The beat is sent at 08:00:00 and answered two seconds later.
#[test]
fn a_refused_clock_is_told_with_its_measured_difference_and_direction() {
    let rows = [
        (
            Some("2027-01-15T03:57:00Z"),
            "This node's clock is 4 h 3 min ahead of the control plane's",
        ),
        (Some("2027-01-15T12:03:02Z"), "This node's clock is 4 h 3 min behind the control plane's"),
        (Some("2026-01-15T08:00:00Z"), "This node's clock is 365 d ahead of"),
        // A date that explains nothing is not repeated.
        (Some("2027-01-15T08:00:01Z"), "The clock of this node is off"),
        (Some("2027-01-15T08:00:09Z"), "The clock of this node is off"),
        (None, "The clock of this node is off"),
    ];
    for (date, expected) in rows {
        let told = told_of(Fetched::ClockSkew("400: clock_skew: told so".into()), date);
        let [(Level::Error, text)] = told.as_slice() else { panic!("{told:?}") };
        assert!(text.contains(expected), "{date:?}: {text}");
        assert!(text.contains("told so") && text.contains("NTP"), "{text}");
    }
}

#[test]
fn a_clock_that_drifts_is_told_once_before_it_is_refused_and_when_it_agrees_again() {
    let mut pulse = Pulse::armed();
    let mut beat = |off: i64| {
        let at = pulse.now.wall.since_origin().as_secs().saturating_add_signed(off);
        let seen = Now { wall: Wall::from_origin(seconds(at)), ..pulse.now };
        let effects = pulse.give(accepted(seen, false, false));
        pulse.pass(INTERVAL);
        pulse.give(Input::Ticked);
        let told = effects.into_iter().filter_map(|effect| match effect {
            Effect::Tell(notice) => Some((notice.level, notice.text)),
            Effect::Post
            | Effect::Reconcile
            | Effect::RotateKeys
            | Effect::Admitted
            | Effect::Unauthorized => None,
        });
        told.filter(|(level, _)| *level != Level::Debug).collect::<Vec<_>>()
    };
    assert_eq!(beat(-30), [], "half of what is allowed");
    let told = beat(-31);
    assert!(
        matches!(told.as_slice(), [(Level::Warn, text)]
        if text.contains("31 s ahead of") && text.contains("from 1 min on") && text.contains("NTP")),
        "{told:?}"
    );
    assert_eq!(beat(-59), []);
    assert_eq!(beat(40), [], "told once, whatever the direction");
    assert_eq!(beat(-16), []);
    assert!(matches!(beat(-15).as_slice(), [(Level::Info, text)] if text.contains("agrees")));
    assert_eq!(beat(0), []);
    assert!(matches!(beat(45).as_slice(), [(Level::Warn, text)] if text.contains("45 s behind")));
}

#[test]
fn a_slow_answer_is_no_skew() {
    let mut pulse = Pulse::armed();
    let sent = pulse.now;
    pulse.pass(seconds(40));
    assert_eq!(levels(&pulse.give(accepted(sent, false, false))), [Level::Debug]);
}
