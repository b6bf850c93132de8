//! The pull: at once, at its interval, when triggered, and triggers coalesce.

use std::time::Duration;

use meshward_core::{
    agent::{
        notice::Level,
        pull::{Answered, Effect, FLOOR, Input, Pull},
        verdict::Fetched,
    },
    backoff::Jitter,
    step::Step,
    time::Now,
    wire::pulled::Pulled,
};

use crate::bench::{seconds, start};

const INTERVAL: Duration = seconds(60);

struct Well {
    pull: Pull,
    now: Now,
}

impl Well {
    fn armed() -> Self {
        let mut well = Self { pull: Pull::default(), now: start() };
        assert_eq!(well.give(Input::Armed), [Effect::Fetch]);
        well
    }

    fn give(&mut self, input: Input) -> Vec<Effect> {
        let Step { state, effects } =
            std::mem::take(&mut self.pull).step(INTERVAL, self.now, input);
        self.pull = state;
        effects
    }

    fn answer(&mut self, fetched: Fetched<Pulled>) -> Vec<Effect> {
        self.answer_so(fetched, None, Jitter::NONE)
    }

    fn answer_so(
        &mut self,
        fetched: Fetched<Pulled>,
        retry_after: Option<Duration>,
        jitter: Jitter,
    ) -> Vec<Effect> {
        self.give(Input::Answered(Box::new(Answered { fetched, retry_after, jitter })))
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    fn left(&self) -> Option<Duration> {
        self.pull.wakeup().map(|due| due.since(self.now.mono))
    }
}

fn failed() -> Fetched<Pulled> {
    Fetched::Failed("down".into())
}

fn got() -> Fetched<Pulled> {
    Fetched::Got(Pulled::default())
}

#[test]
fn nothing_is_fetched_before_it_is_armed() {
    let mut well = Well { pull: Pull::default(), now: start() };
    assert_eq!(well.give(Input::Triggered), []);
    assert_eq!(well.give(Input::Ticked), []);
    assert_eq!(well.left(), None);
}

#[test]
fn pulls_begin_an_interval_apart_and_never_in_the_past() {
    for (flight, left) in [(10, 50), (60, 0), (90, 0)] {
        let mut well = Well::armed();
        well.pass(seconds(flight));
        well.answer(got());
        assert_eq!(well.left(), Some(seconds(left)));
        well.pass(seconds(left));
        assert_eq!(well.give(Input::Ticked), [Effect::Fetch]);
    }
}

#[test]
fn a_tick_before_its_time_fetches_nothing() {
    let mut well = Well::armed();
    well.answer(got());
    well.pass(INTERVAL - Duration::from_nanos(1));
    assert_eq!(well.give(Input::Ticked), []);
}

#[test]
fn a_trigger_fetches_at_once_and_the_interval_begins_anew() {
    let mut well = Well::armed();
    well.answer(got());
    well.pass(seconds(20));
    assert_eq!(well.give(Input::Triggered), [Effect::Fetch]);
    well.answer(got());
    assert_eq!(well.left(), Some(INTERVAL));
}

#[test]
fn triggers_during_a_flight_make_one_more_pull_behind_it() {
    for (answer, left) in [(got(), Duration::ZERO), (failed(), seconds(1))] {
        let mut well = Well::armed();
        well.pass(seconds(1));
        for _ in 0..3 {
            assert_eq!(well.give(Input::Triggered), []);
        }
        well.answer(answer);
        assert_eq!(well.left(), Some(left));
        well.pass(left);
        assert_eq!(well.give(Input::Ticked), [Effect::Fetch]);
        well.answer(got());
        assert_eq!(well.left(), Some(INTERVAL));
    }
}

#[test]
fn two_pulls_never_begin_within_the_floor_and_triggers_inside_it_are_put_off_together() {
    let mut well = Well::armed();
    well.pass(Duration::from_millis(5));
    well.answer(got());
    for _ in 0..3 {
        assert_eq!(well.give(Input::Triggered), []);
    }
    assert_eq!(well.left(), Some(FLOOR - Duration::from_millis(5)));
    well.pass(FLOOR - Duration::from_millis(6));
    assert_eq!(well.give(Input::Ticked), [], "not yet");
    well.pass(Duration::from_millis(1));
    assert_eq!(well.give(Input::Ticked), [Effect::Fetch]);
    well.pass(Duration::from_millis(1));
    well.give(Input::Triggered);
    well.answer(got());
    assert_eq!(well.left(), Some(FLOOR - Duration::from_millis(1)), "behind a flight too");
    well.give(Input::Quieted);
    assert_eq!(well.give(Input::Armed), [], "and when it is armed again");
    well.pass(FLOOR);
    assert_eq!(well.give(Input::Ticked), [Effect::Fetch]);
}

#[test]
fn a_trigger_at_the_moment_a_pull_begins_is_answered_by_it_and_kept_where_that_fails() {
    let mut well = Well::armed();
    assert_eq!(well.give(Input::Triggered), []);
    well.answer(got());
    assert_eq!(well.left(), Some(INTERVAL));
    let mut well = Well::armed();
    well.give(Input::Triggered);
    well.answer(failed());
    assert_eq!(well.left(), Some(seconds(1)));
}

#[test]
fn a_trigger_whose_pull_failed_is_kept_and_its_pull_made_again_ever_later_up_to_the_interval() {
    let mut well = Well::armed();
    well.answer(got());
    well.pass(seconds(10));
    well.give(Input::Triggered);
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        well.answer(failed());
        assert_eq!(well.left(), Some(seconds(wait)));
        assert_eq!(well.give(Input::Triggered), [], "no trigger makes it earlier");
        assert_eq!(well.left(), Some(seconds(wait)));
        well.pass(seconds(wait));
        assert_eq!(well.give(Input::Ticked), [Effect::Fetch]);
    }
    well.answer(got());
    assert_eq!(well.left(), Some(INTERVAL), "the trigger is answered");
}

#[test]
fn a_pull_of_the_interval_that_failed_waits_for_the_next_one_and_a_trigger_for_the_backoff() {
    let mut well = Well::armed();
    well.pass(seconds(3));
    well.answer(failed());
    assert_eq!(well.left(), Some(seconds(57)));
    well.give(Input::Triggered);
    assert_eq!(well.left(), Some(seconds(1)));
    well.pass(seconds(20));
    assert_eq!(well.give(Input::Ticked), [Effect::Fetch]);
}

#[test]
fn a_wait_that_the_control_plane_names_is_kept_within_the_interval() {
    for (asked, trigger, expected) in
        [(10, true, 10), (10, false, 60), (0, true, 1), (60, false, 60), (3600, true, 60)]
    {
        let mut well = Well::armed();
        well.answer(got());
        well.pass(INTERVAL);
        let input = if trigger { Input::Triggered } else { Input::Ticked };
        assert_eq!(well.give(input), [Effect::Fetch]);
        well.answer_so(failed(), Some(seconds(asked)), Jitter::drawn(0));
        let left = well.left().expect("it waits");
        let early = if asked == 0 { seconds(1) * 3 / 4 } else { seconds(expected) };
        assert_eq!(left, early, "{asked} {trigger}");
        if trigger && asked > 0 {
            assert_eq!(well.give(Input::Triggered), [], "not even for a new trigger");
            assert_eq!(well.left(), Some(left));
        }
    }
}

#[test]
fn agents_that_were_refused_in_one_moment_come_back_spread() {
    for retry_after in [None, Some(seconds(20))] {
        let mut waits = std::collections::BTreeSet::new();
        for chance in 0..1_000_u16 {
            let mut well = Well::armed();
            well.give(Input::Triggered);
            well.answer_so(failed(), retry_after, Jitter::drawn(chance * 2));
            let wait = well.left().expect("it waits");
            let asked = retry_after.unwrap_or_default();
            assert!(wait >= asked && wait <= asked + asked / 4 + seconds(2), "{wait:?}");
            waits.insert(wait.as_millis() / 10);
        }
        assert!(waits.len() >= 40, "{} of 10 ms", waits.len());
    }
}

#[test]
fn failures_that_last_are_told_sparsely_and_the_success_behind_them_once() {
    let mut well = Well::armed();
    let mut told = Vec::new();
    for _ in 0..1_440 {
        told.extend(well.answer(failed()));
        well.pass(INTERVAL);
        well.give(Input::Ticked);
    }
    let loud = |effects: Vec<Effect>| -> Vec<Level> {
        let levels = effects.into_iter().filter_map(|effect| match effect {
            Effect::Tell(notice) => Some(notice.level),
            Effect::Fetch | Effect::Pulled { .. } | Effect::Admitted | Effect::Unauthorized => None,
        });
        levels.filter(|level| *level != Level::Debug).collect()
    };
    assert_eq!(loud(told), [Level::Warn; 24]);
    assert_eq!(loud(well.answer(got())), [Level::Info]);
    well.pass(INTERVAL);
    well.give(Input::Ticked);
    assert_eq!(loud(well.answer(got())), []);
}

#[test]
fn after_a_suspend_of_eight_hours_there_is_exactly_one_pull() {
    let mut well = Well::armed();
    well.answer(got());
    well.pass(seconds(8 * 3600));
    assert_eq!(well.give(Input::Ticked), [Effect::Fetch]);
    well.answer(got());
    assert_eq!(well.left(), Some(INTERVAL));
}

#[test]
fn a_good_pull_restores_the_standing_before_its_snapshot_is_passed_on() {
    let mut well = Well::armed();
    well.pass(seconds(1));
    let effects = well.answer(got());
    assert_eq!(
        effects,
        [Effect::Admitted, Effect::Pulled { asked: start().mono, pulled: Box::default() }]
    );
    assert_eq!(well.pull.succeeded, Some(well.now.mono));
}

#[test]
fn a_failed_pull_passes_nothing_on_and_only_a_401_costs_the_standing() {
    let rows = [
        (Fetched::Unauthorized("no".into()), true),
        (Fetched::ClockSkew("off".into()), false),
        (failed(), false),
    ];
    for (answer, unauthorized) in rows {
        let mut well = Well::armed();
        let effects = well.answer(answer);
        let rest: Vec<_> =
            effects.into_iter().filter(|effect| !matches!(effect, Effect::Tell(_))).collect();
        let expected = if unauthorized { vec![Effect::Unauthorized] } else { vec![] };
        assert_eq!(rest, expected);
        assert_eq!((well.pull.succeeded, well.left()), (None, Some(INTERVAL)));
    }
}

#[test]
fn a_quieted_pull_fetches_nothing_and_passes_nothing_on() {
    let mut well = Well::armed();
    well.give(Input::Triggered);
    assert_eq!(well.give(Input::Quieted), []);
    assert_eq!(well.answer(got()), []);
    assert_eq!(well.give(Input::Triggered), []);
    assert_eq!(well.left(), None);
}
