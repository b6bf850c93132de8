//! Rotation: every row of the machine's table, its backoff and rest.

use std::time::Duration;

use meshward_core::{
    agent::{
        StagedFile,
        rotation::{COOL_DOWN, Effect, Input, Rotation, Source},
        verdict::Rotated,
    },
    backoff::Jitter,
    step::Step,
    time::Now,
    wire::{identity::Flaw, rotation::Receipt},
};
use proptest::prelude::*;

use crate::bench::{public_key, seconds, start};

/// A rotation with its clock; notices are left out of what it ordered.
#[derive(Clone, Debug)]
pub(crate) struct Mill {
    pub(crate) rotation: Rotation,
    pub(crate) now: Now,
}

impl Mill {
    pub(crate) fn new() -> Self {
        Self { rotation: Rotation::default(), now: start() }
    }

    pub(crate) fn give(&mut self, input: Input) -> Vec<Effect> {
        let Step { state, effects } = std::mem::take(&mut self.rotation).step(self.now, input);
        self.rotation = state;
        effects.into_iter().filter(|effect| !matches!(effect, Effect::Tell(_))).collect()
    }

    fn answer(&mut self, key: u8, verdict: Rotated) -> Vec<Effect> {
        self.give(Input::Answered { key: public_key(key), verdict, jitter: Jitter::NONE })
    }

    /// Moves to the wakeup that is wanted and tells how long that took.
    fn wake(&mut self) -> (Duration, Vec<Effect>) {
        let wait = self.rotation.wakeup().expect("a wakeup is wanted").since(self.now.mono);
        self.now = self.now.after(wait);
        (wait, self.give(Input::Ticked))
    }

    fn staging() -> Self {
        let mut mill = Self::new();
        assert_eq!(mill.give(Input::Signalled(Source::Event)), [Effect::Stage]);
        mill
    }

    fn posting() -> Self {
        let mut mill = Self::staging();
        assert_eq!(mill.give(Input::Staged(public_key(1))), [Effect::Post(public_key(1))]);
        mill
    }

    fn waiting() -> Self {
        let mut mill = Self::posting();
        assert_eq!(mill.answer(1, undecided()), []);
        mill
    }

    fn committing() -> Self {
        let mut mill = Self::posting();
        assert_eq!(mill.answer(1, completed()), [Effect::Commit(Some(receipt()))]);
        mill
    }

    fn rested() -> Self {
        let mut mill = Self::committing();
        assert_eq!(mill.give(Input::Committed), [Effect::Install(public_key(1))]);
        mill
    }
}

fn receipt() -> Receipt {
    Receipt { rotation_id: "r1".into(), kid: "k1".into(), wrap_key_version: 2 }
}

fn completed() -> Rotated {
    Rotated::Completed(receipt())
}

fn undecided() -> Rotated {
    Rotated::Undecided("down".into())
}

fn failed() -> Input {
    Input::CommitFailed { reason: "full".into(), jitter: Jitter::NONE }
}

fn stage_failed() -> Input {
    Input::StageFailed { reason: "full".into(), jitter: Jitter::NONE }
}

#[test]
fn what_is_found_on_disk_decides_how_a_start_goes_on() {
    let rows = [
        (StagedFile::Missing, vec![], true),
        (StagedFile::Broken(Flaw::CutOff), vec![Effect::Discard], true),
        (StagedFile::Key(public_key(4)), vec![Effect::Post(public_key(4))], false),
    ];
    for (staged, effects, idle) in rows {
        let mut mill = Mill::new();
        assert_eq!(mill.give(Input::Armed(staged)), effects, "{staged:?}");
        assert_eq!(mill.rotation.is_idle(), idle, "{staged:?}");
    }
}

#[test]
fn either_signal_stages_before_anything_is_posted() {
    for source in [Source::Event, Source::Heartbeat] {
        let mut mill = Mill::new();
        assert_eq!(mill.give(Input::Signalled(source)), [Effect::Stage]);
        assert_eq!(mill.give(Input::Staged(public_key(1))), [Effect::Post(public_key(1))]);
    }
}

#[test]
fn a_signal_during_a_rotation_begins_no_second_one() {
    for mut mill in [Mill::staging(), Mill::posting(), Mill::waiting(), Mill::committing()] {
        for source in [Source::Event, Source::Heartbeat] {
            let before = mill.rotation.clone();
            assert_eq!(mill.give(Input::Signalled(source)), []);
            assert_eq!(mill.rotation, before);
        }
    }
}

#[test]
fn each_verdict_on_the_posted_key_has_its_order() {
    let rows = [
        (completed(), vec![Effect::Commit(Some(receipt()))]),
        (Rotated::Unchanged, vec![Effect::Commit(None)]),
        (Rotated::NothingPending, vec![Effect::Shelve]),
        (Rotated::Refused("no".into()), vec![Effect::Discard]),
        (undecided(), vec![]),
    ];
    for (verdict, effects) in rows {
        let mut mill = Mill::posting();
        assert_eq!(mill.answer(1, verdict.clone()), effects, "{verdict:?}");
        let given_up = matches!(effects[..], [Effect::Discard | Effect::Shelve]);
        assert_eq!(mill.rotation.is_idle(), given_up, "{verdict:?}");
        assert_eq!(mill.rotation.is_committing(), matches!(effects[..], [Effect::Commit(_)]));
    }
}

#[test]
fn an_answer_about_another_key_is_ignored() {
    for verdict in [completed(), Rotated::Unchanged, Rotated::NothingPending, undecided()] {
        let mut mill = Mill::posting();
        let before = mill.rotation.clone();
        assert_eq!(mill.answer(2, verdict), []);
        assert_eq!(mill.rotation, before);
    }
}

#[test]
fn an_undecided_key_is_posted_again_from_five_seconds_doubling_to_two_minutes() {
    let mut mill = Mill::posting();
    for expected in [5, 10, 20, 40, 80, 120, 120] {
        assert_eq!(mill.answer(1, undecided()), []);
        assert_eq!(mill.wake(), (seconds(expected), vec![Effect::Post(public_key(1))]));
    }
}

#[test]
fn a_key_that_cannot_be_staged_is_staged_later_and_not_posted() {
    let mut mill = Mill::staging();
    for expected in [5, 10, 20] {
        assert_eq!(mill.give(stage_failed()), []);
        assert_eq!(mill.wake(), (seconds(expected), vec![Effect::Stage]));
    }
    assert_eq!(mill.give(Input::Staged(public_key(1))), [Effect::Post(public_key(1))]);
}

#[test]
fn a_commit_that_fails_is_retried_with_the_same_receipt() {
    for (verdict, kept) in [(completed(), Some(receipt())), (Rotated::Unchanged, None)] {
        let mut mill = Mill::posting();
        mill.answer(1, verdict);
        for expected in [5, 10, 20] {
            assert_eq!(mill.give(failed()), []);
            assert_eq!(mill.wake(), (seconds(expected), vec![Effect::Commit(kept.clone())]));
        }
        assert_eq!(mill.give(Input::Committed), [Effect::Install(public_key(1))]);
        assert!(mill.rotation.is_idle());
    }
}

#[test]
fn after_a_commit_the_flag_of_the_heartbeat_rests_and_an_event_does_not() {
    let mut mill = Mill::rested();
    mill.now = mill.now.after(COOL_DOWN - Duration::from_nanos(1));
    assert_eq!(mill.give(Input::Signalled(Source::Heartbeat)), []);
    assert_eq!(mill.clone().give(Input::Signalled(Source::Event)), [Effect::Stage]);
    mill.now = mill.now.after(Duration::from_nanos(1));
    assert_eq!(mill.give(Input::Signalled(Source::Heartbeat)), [Effect::Stage]);
}

#[test]
fn a_discarded_key_leaves_no_rest() {
    let mut mill = Mill::posting();
    mill.answer(1, Rotated::NothingPending);
    assert_eq!(mill.give(Input::Signalled(Source::Heartbeat)), [Effect::Stage]);
}

#[test]
fn a_refused_key_that_cannot_be_removed_is_removed_every_two_minutes_until_it_is() {
    let mut mill = Mill::posting();
    mill.answer(1, Rotated::Refused("no".into()));
    for _ in 0..3 {
        assert_eq!(mill.give(discard_failed()), []);
        assert!(mill.rotation.is_idle());
        assert_eq!(mill.wake(), (seconds(120), vec![Effect::Discard]));
    }
    assert_eq!(mill.rotation.wakeup(), None);
}

#[test]
fn a_refused_key_that_is_still_there_is_removed_before_the_next_is_staged() {
    for source in [Source::Event, Source::Heartbeat] {
        let mut mill = Mill::posting();
        mill.answer(1, Rotated::Refused("no".into()));
        mill.give(discard_failed());
        assert_eq!(mill.give(Input::Signalled(source)), [Effect::Discard, Effect::Stage]);
        let before = mill.rotation.clone();
        assert_eq!(mill.give(discard_failed()), []);
        assert_eq!(mill.rotation, before, "the stage that is under way tells what is there");
    }
}

#[test]
fn a_key_that_is_still_to_be_removed_rests_as_long_as_any_other_after_a_commit() {
    let mut mill = Mill::rested();
    mill.give(Input::Signalled(Source::Event));
    mill.give(Input::Staged(public_key(2)));
    mill.answer(2, Rotated::Refused("no".into()));
    mill.give(discard_failed());
    mill.now = mill.now.after(COOL_DOWN - Duration::from_nanos(1));
    assert_eq!(mill.give(Input::Signalled(Source::Heartbeat)), []);
    mill.now = mill.now.after(Duration::from_nanos(1));
    assert_eq!(mill.give(Input::Signalled(Source::Heartbeat)), [Effect::Discard, Effect::Stage]);
}

#[test]
fn a_key_that_is_not_expected_is_put_aside_even_if_only_later_and_is_staged_again() {
    let mut mill = Mill::posting();
    assert_eq!(mill.answer(1, Rotated::NothingPending), [Effect::Shelve]);
    for _ in 0..3 {
        assert_eq!(mill.give(shelve_failed()), []);
        assert_eq!(mill.wake(), (seconds(120), vec![Effect::Shelve]));
    }
    mill.give(shelve_failed());
    let signalled = Input::Signalled(Source::Heartbeat);
    assert_eq!(mill.give(signalled), [Effect::Stage], "the same key is staged still");
}

#[test]
fn a_tick_before_its_time_does_nothing() {
    let mut mill = Mill::waiting();
    let before = mill.rotation.clone();
    mill.now = mill.now.after(seconds(5) - Duration::from_nanos(1));
    assert_eq!(mill.give(Input::Ticked), []);
    assert_eq!(mill.rotation, before);
}

fn shelve_failed() -> Input {
    Input::ShelveFailed { reason: "full".into() }
}

fn discard_failed() -> Input {
    Input::DiscardFailed { reason: "full".into() }
}

pub(crate) fn inputs() -> impl Strategy<Value = Input> {
    let key = || (1_u8..3).prop_map(public_key);
    let jitter = || any::<u16>().prop_map(Jitter::drawn);
    let verdict = prop::sample::select(vec![
        completed(),
        Rotated::Unchanged,
        Rotated::NothingPending,
        Rotated::Refused("no".into()),
        undecided(),
        undecided(),
    ]);
    let staged = prop_oneof![
        Just(StagedFile::Missing),
        Just(StagedFile::Broken(Flaw::CutOff)),
        key().prop_map(StagedFile::Key)
    ];
    let source = prop::sample::select(vec![Source::Event, Source::Heartbeat]);
    prop_oneof![
        1 => staged.prop_map(Input::Armed),
        3 => source.prop_map(Input::Signalled),
        3 => key().prop_map(Input::Staged),
        1 => jitter().prop_map(|jitter| Input::StageFailed { reason: "full".into(), jitter }),
        5 => (key(), verdict, jitter())
            .prop_map(|(key, verdict, jitter)| Input::Answered { key, verdict, jitter }),
        3 => Just(Input::Committed),
        1 => jitter().prop_map(|jitter| Input::CommitFailed { reason: "full".into(), jitter }),
        1 => Just(discard_failed()),
        1 => Just(shelve_failed()),
        3 => Just(Input::Ticked),
    ]
}
