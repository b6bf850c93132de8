//! The nonce ledger against a list of the pairs that registered.

use meshward_core::{
    plane::nonce::{Claim, Effect, Input, Nonces, Refusal},
    step::Step,
    time::Now,
};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use crate::support;

fn claims() -> impl Strategy<Value = (String, String)> {
    ("[ab|]{1,2}", "[ab|]{1,2}")
}

fn claim((project, nonce): (String, String)) -> Claim {
    Claim { project, nonce }
}

#[derive(Clone, Debug)]
struct Model;

impl ReferenceStateMachine for Model {
    /// The pairs that were accepted.
    type State = Vec<String>;
    type Transition = (String, String);

    fn init_state() -> BoxedStrategy<Self::State> {
        Just(Vec::new()).boxed()
    }

    fn transitions(_: &Self::State) -> BoxedStrategy<Self::Transition> {
        claims().boxed()
    }

    fn apply(mut accepted: Self::State, (project, nonce): &Self::Transition) -> Self::State {
        accepted.push(format!("{project}|{nonce}"));
        accepted
    }
}

struct Ledger;

impl StateMachineTest for Ledger {
    type SystemUnderTest = Nonces;
    type Reference = Model;

    fn init_test(_: &Vec<String>) -> Nonces {
        Nonces::default()
    }

    fn apply(nonces: Nonces, accepted: &Vec<String>, (project, nonce): (String, String)) -> Nonces {
        let pair = format!("{project}|{nonce}");
        let first = accepted.iter().filter(|known| **known == pair).count() == 1;
        let input = claim((project, nonce));
        let step = nonces.clone().step(Now::default(), Input::Claimed(input.clone()));
        if first {
            assert_eq!(step.effects, [Effect::Accept]);
        } else {
            let refused = Step::to(nonces).emit(Effect::Refuse(Refusal::Collision));
            assert_eq!(step, refused, "a refusal changes nothing");
        }
        assert_eq!(step.state.check(&input), Err(Refusal::Collision));
        step.state
    }
}

prop_state_machine! {
    #![proptest_config(support::seeds_in("nonce"))]
    #[test]
    fn a_nonce_registers_once_for_its_project(sequential 1..60 => Ledger);
}

proptest! {
    #![proptest_config(support::seeds_in("nonce"))]
    #[test]
    fn the_same_claims_give_the_same_ledger(pairs in prop::collection::vec(claims(), 0..30)) {
        let inputs: Vec<Input> = pairs.into_iter().map(|pair| Input::Claimed(claim(pair))).collect();
        support::replays(&Nonces::default(), &inputs, |state, input| state.step(Now::default(), input));
    }
}
