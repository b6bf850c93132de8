//! The pull of the desired state: at once when armed, at its interval, and when triggered; triggers coalesce.
//!
//! Specification: "What the service does" of the node agent and "Limits" (reconcile interval).

use alloc::{boxed::Box, format};
use core::time::Duration;

use super::{notice::Notice, verdict::Fetched};
use crate::{
    step::Step,
    time::{Mono, Now},
    wire::pulled::Pulled,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pull {
    phase: Phase,
    /// When the last one succeeded.
    pub succeeded: Option<Mono>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Dormant,
    Flying {
        begun: Mono,
    },
    /// In flight, and wanted once more behind it.
    FlyingStale {
        begun: Mono,
    },
    Waiting {
        due: Mono,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    Triggered,
    Answered(Box<Fetched<Pulled>>),
    /// The agent drains: nothing more is fetched.
    Quieted,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Fetch,
    /// The answer to the pull that was sent at `asked`.
    Pulled {
        asked: Mono,
        pulled: Box<Pulled>,
    },
    Admitted,
    Unauthorized,
    Tell(Notice),
}

impl Pull {
    /// Moves on one input; `interval` is `reconcile.interval`.
    pub fn step(self, interval: Duration, now: Now, input: Input) -> Step<Self, Effect> {
        match (self.phase, input) {
            (Phase::Dormant, Input::Armed) | (Phase::Waiting { .. }, Input::Triggered) => {
                self.fetch(now)
            }
            (Phase::Waiting { due }, Input::Ticked) if due <= now.mono => self.fetch(now),
            // What is being asked for at this moment holds whatever triggers it.
            (Phase::Flying { begun }, Input::Triggered) if begun == now.mono => Step::to(self),
            (Phase::Flying { begun }, Input::Triggered) => {
                Step::to(Self { phase: Phase::FlyingStale { begun }, ..self })
            }
            (Phase::Flying { begun }, Input::Answered(answer)) => {
                let due = begun.after(interval).max(now.mono);
                Self { phase: Phase::Waiting { due }, ..self }.judge(now, begun, *answer)
            }
            (Phase::FlyingStale { begun }, Input::Answered(answer)) => {
                Self { phase: Phase::Waiting { due: now.mono }, ..self }.judge(now, begun, *answer)
            }
            (
                Phase::Dormant
                | Phase::Flying { .. }
                | Phase::FlyingStale { .. }
                | Phase::Waiting { .. },
                Input::Quieted,
            ) => Step::to(Self { phase: Phase::Dormant, ..self }),
            (Phase::Dormant, Input::Triggered | Input::Answered(_) | Input::Ticked)
            | (Phase::Flying { .. }, Input::Armed | Input::Ticked)
            | (Phase::FlyingStale { .. }, Input::Armed | Input::Triggered | Input::Ticked)
            | (Phase::Waiting { .. }, Input::Armed | Input::Answered(_) | Input::Ticked) => {
                Step::to(self)
            }
        }
    }

    /// Whether a trigger has an effect.
    pub const fn is_awake(&self) -> bool {
        !matches!(self.phase, Phase::Dormant)
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match self.phase {
            Phase::Waiting { due } => Some(due),
            Phase::Dormant | Phase::Flying { .. } | Phase::FlyingStale { .. } => None,
        }
    }

    fn fetch(self, now: Now) -> Step<Self, Effect> {
        Step::to(Self { phase: Phase::Flying { begun: now.mono }, ..self }).emit(Effect::Fetch)
    }

    fn judge(self, now: Now, asked: Mono, answer: Fetched<Pulled>) -> Step<Self, Effect> {
        match answer {
            Fetched::Got(pulled) => Step::to(Self { succeeded: Some(now.mono), ..self })
                .emit(Effect::Admitted)
                .emit(Effect::Pulled { asked, pulled: Box::new(pulled) }),
            Fetched::Unauthorized(reason) => {
                Step::to(self).emit(Effect::Unauthorized).emit(Effect::Tell(Notice::error(
                    format!("the control plane does not admit this node: {reason}"),
                )))
            }
            Fetched::ClockSkew(reason) | Fetched::Failed(reason) => {
                Step::to(self).emit(Effect::Tell(Notice::warn(format!(
                    "the state pull failed, what is known is kept: {reason}"
                ))))
            }
        }
    }
}
