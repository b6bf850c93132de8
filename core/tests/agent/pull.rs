//! The pull: at once, at its interval, when triggered, and triggers coalesce.

use std::time::Duration;

use meshward_core::{
    agent::{
        pull::{Effect, Input, Pull},
        verdict::Fetched,
    },
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
        self.give(Input::Answered(Box::new(fetched)))
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
    for answer in [got(), failed()] {
        let mut well = Well::armed();
        well.pass(Duration::from_nanos(1));
        for _ in 0..3 {
            assert_eq!(well.give(Input::Triggered), []);
        }
        well.pass(seconds(1));
        well.answer(answer);
        assert_eq!(well.left(), Some(Duration::ZERO));
        assert_eq!(well.give(Input::Ticked), [Effect::Fetch]);
        well.answer(got());
        assert_eq!(well.left(), Some(INTERVAL));
    }
}

#[test]
fn what_triggers_a_pull_at_the_moment_it_begins_makes_no_second_one() {
    let mut well = Well::armed();
    assert_eq!(well.give(Input::Triggered), []);
    well.pass(seconds(1));
    well.answer(got());
    assert_eq!(well.left(), Some(INTERVAL - seconds(1)));
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
