//! What a machine answers to one input: its next state, and the orders to carry out.

use alloc::vec::Vec;

/// The next state of a machine and the effects to perform, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the old state is gone, and the effects must be performed"]
pub struct Step<State, Effect> {
    pub state: State,
    pub effects: Vec<Effect>,
}

impl<State, Effect> Step<State, Effect> {
    /// Moves to `state` without any effect.
    pub const fn to(state: State) -> Self {
        Self { state, effects: Vec::new() }
    }

    /// Adds one effect behind those already there.
    pub fn emit(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// Adds several effects behind those already there.
    pub fn emit_all(mut self, effects: impl IntoIterator<Item = Effect>) -> Self {
        self.effects.extend(effects);
        self
    }

    /// Nests this step in an outer machine: wraps the state, translates each effect.
    pub fn lift<Outer, Order>(
        self,
        wrap: impl FnOnce(State) -> Outer,
        translate: impl FnMut(Effect) -> Order,
    ) -> Step<Outer, Order> {
        Step { state: wrap(self.state), effects: self.effects.into_iter().map(translate).collect() }
    }
}
