//! What every property test of a machine shares: where its seeds are kept, and the replay property.

mod seeds;

use meshward_core::step::Step;

pub(crate) use seeds::seeds_in;

/// The same inputs from the same state give the same effects and the same state.
pub(crate) fn replays<State, Input, Effect>(
    start: &State,
    inputs: &[Input],
    step: impl Fn(State, Input) -> Step<State, Effect>,
) where
    State: Clone + PartialEq + core::fmt::Debug,
    Input: Clone,
    Effect: PartialEq + core::fmt::Debug,
{
    let run = || {
        inputs.iter().fold(Step::to(start.clone()), |before, input| {
            let Step { state, effects } = before;
            let after = step(state, input.clone());
            Step { state: after.state, effects }.emit_all(after.effects)
        })
    };
    assert_eq!(run(), run());
}
