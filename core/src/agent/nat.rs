//! How this node is seen from outside, and that the control plane is told.

use super::notice::Notice;
use crate::{
    step::Step,
    time::{Mono, Now},
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nat;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    Quieted,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Discover,
    Tell(Notice),
}

impl Nat {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        let _ = (now, input);
        Step::to(self)
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        None
    }
}
