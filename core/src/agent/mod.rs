//! The node agent's decisions, reached through one [`Agent::step`].

pub mod facts;
pub mod notice;

pub use facts::{
    ActionSettings, Answer, Captured, Cause, Door, Effect, Ending, Exit, Failure, Gathered, Input,
    Memory, Order, OrderKind, Purpose, Run, Settings, StagedFile, Stored, TokenFile, TokenSources,
    Unprepared,
};
pub use notice::{Level, Notice};

use crate::{
    step::Step,
    time::{Mono, Now},
};

/// Everything the agent knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {}

impl Agent {
    /// Moves on one input.
    pub fn step(self, _settings: &Settings, _now: Now, _input: Input) -> Step<Self, Effect> {
        Step::to(self)
    }

    /// When [`Input::Ticked`] is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        None
    }
}
