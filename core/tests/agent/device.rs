//! The tunnel device: every row of its table, the waits between its tries, and the reconcile behind each end.

use meshward_core::{
    agent::device::{Device, Effect, Input, TRIES_MAX},
    step::Step,
    time::Now,
    wire::grammar::PublicKey,
};
use proptest::prelude::*;

use crate::bench::{public_key, seconds, start};

/// A device with its clock; notices are left out of what it ordered.
struct Hook {
    device: Device,
    now: Now,
}

impl Hook {
    /// A device that is to take the first key.
    fn installing() -> Self {
        let mut hook = Self { device: Device::default(), now: start() };
        assert_eq!(hook.give(Input::Committed(key(1))), [Effect::Install(key(1))]);
        hook
    }

    fn give(&mut self, input: Input) -> Vec<Effect> {
        let Step { state, effects } = self.device.step(self.now, input);
        self.device = state;
        effects.into_iter().filter(|effect| !matches!(effect, Effect::Tell(_))).collect()
    }

    /// Moves to the wakeup that is wanted and tells how many seconds that took.
    fn wake(&mut self) -> (u64, Vec<Effect>) {
        let wait = self.device.wakeup().expect("a wakeup is wanted").since(self.now.mono);
        self.now = self.now.after(wait);
        (wait.as_secs(), self.give(Input::Ticked))
    }
}

fn key(byte: u8) -> PublicKey {
    public_key(byte)
}

fn failed(byte: u8) -> Input {
    Input::Failed { key: key(byte), reason: "busy".into() }
}

#[test]
fn a_key_that_is_taken_leads_to_a_reconcile() {
    let mut hook = Hook::installing();
    assert_eq!(hook.give(Input::Installed(key(1))), [Effect::Reconcile]);
    assert_eq!(hook.device, Device::Idle);
}

#[test]
fn eight_tries_take_about_two_minutes_and_the_reconcile_comes_even_so() {
    let mut hook = Hook::installing();
    for expected in [1, 2, 4, 8, 16, 32, 64] {
        assert_eq!(hook.give(failed(1)), []);
        assert_eq!(hook.wake(), (expected, vec![Effect::Install(key(1))]));
    }
    assert_eq!(TRIES_MAX, 8);
    assert_eq!(hook.give(failed(1)), [Effect::Reconcile], "the eighth is the last");
    assert_eq!((hook.device, hook.device.wakeup()), (Device::Idle, None));
}

#[test]
fn the_newest_key_wins_with_all_its_tries() {
    let mut hook = Hook::installing();
    for _ in 0..5 {
        hook.give(failed(1));
        hook.wake();
    }
    assert_eq!(hook.give(Input::Committed(key(2))), [Effect::Install(key(2))]);
    assert_eq!(hook.give(Input::Installed(key(1))), [], "of the older key");
    assert_eq!(hook.give(failed(1)), [], "of the older key");
    assert_eq!(hook.device, Device::Installing { key: key(2), failures: 0 }, "no try is lost");
    assert_eq!(hook.give(failed(2)), []);
    assert_eq!(hook.wake(), (1, vec![Effect::Install(key(2))]));
    hook.give(failed(2));
    assert_eq!(hook.give(Input::Committed(key(3))), [Effect::Install(key(3))]);
    assert_eq!(hook.give(Input::Installed(key(3))), [Effect::Reconcile]);
}

#[test]
fn what_nobody_waits_for_changes_nothing() {
    let mut hook = Hook { device: Device::default(), now: start() };
    for input in [Input::Installed(key(1)), failed(1), Input::Ticked] {
        assert_eq!(hook.give(input), []);
    }
    hook = Hook::installing();
    hook.give(failed(1));
    let before = hook.device;
    assert_eq!(hook.give(Input::Ticked), [], "not before its time");
    hook.now = hook.now.after(seconds(0));
    assert_eq!(hook.device, before);
}

pub(crate) fn inputs() -> impl Strategy<Value = Input> {
    let key = || (1_u8..3).prop_map(public_key);
    prop_oneof![
        2 => key().prop_map(Input::Committed),
        2 => key().prop_map(Input::Installed),
        4 => (1_u8..3).prop_map(failed),
        4 => Just(Input::Ticked),
    ]
}
