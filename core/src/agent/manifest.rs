//! What this node runs and offers, told to the control plane.

use super::notice::Notice;
use crate::{
    step::Step,
    time::{Mono, Now},
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    /// There was a look at the hooks.
    Looked,
    Quieted,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Put,
    Tell(Notice),
}

impl Manifest {
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
