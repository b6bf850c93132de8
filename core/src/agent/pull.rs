//! The pull of the desired state: at once when armed, at its interval, and when triggered; one in flight.
//!
//! | State | Trigger | Next |
//! |---|---|---|
//! | dormant | armed | flying |
//! | flying | triggered at the moment of its beginning | flying; it holds what is wanted |
//! | flying | triggered later | flying, and wanted once more behind it |
//! | flying | a good answer | waiting for the interval since its beginning; wanted once more: for [`FLOOR`] since then |
//! | flying | a failure | waiting for the interval; wanted once more, or itself triggered: for the backoff |
//! | waiting | triggered | flying, as soon as floor and backoff allow it |
//! | waiting | the time has come | flying |
//! | waiting | another interval holds | waiting, no longer than that from now on |
//!
//! So triggers coalesce, and none is lost: what a pull that failed was to bring is fetched again after a wait that
//! doubles up to the interval, spread by chance so that many agents do not come back at once. A control plane that
//! names a wait is given it, up to the interval. A failure changes nothing of what is known.
//!
//! Specification: "What the service does" of the node agent and "Limits" (reconcile interval); `gaps-agent.md`
//! section 2.2.

pub mod diff;
pub mod last;

use alloc::{boxed::Box, format};
use core::time::Duration;

use super::{
    notice::{
        Notice,
        streak::{Kind, Streak},
    },
    verdict::Fetched,
};
use crate::{
    backoff::{Backoff, Jitter},
    step::Step,
    time::{Mono, Now},
    wire::pulled::Pulled,
};

/// Two pulls begin at least this far apart.
pub const FLOOR: Duration = Duration::from_millis(200);

/// The first wait before a pull that failed is made again for a trigger; it doubles up to the interval.
pub const RETRY_BASE: Duration = Duration::from_secs(1);

/// How far a wait is spread, in percent of itself.
pub const JITTER_PERCENT: u32 = 25;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pull {
    phase: Phase,
    /// When the last one was begun.
    begun: Option<Mono>,
    /// When the last one succeeded.
    pub succeeded: Option<Mono>,
    streak: Streak,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Dormant,
    Flying {
        begun: Mono,
        /// What it is to bring was asked for by a trigger.
        triggered: bool,
        /// One more is wanted behind it.
        stale: bool,
    },
    Waiting {
        due: Mono,
        /// The next one is for a trigger.
        triggered: bool,
        /// Before this no trigger makes it earlier.
        ready: Mono,
    },
}

/// How a pull ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub fetched: Fetched<Pulled>,
    /// How long the control plane asks to wait.
    pub retry_after: Option<Duration>,
    pub jitter: Jitter,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    Triggered,
    Answered(Box<Answered>),
    /// The agent drains: nothing more is fetched.
    Quieted,
    /// The interval may have changed.
    Retimed,
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
            (Phase::Dormant, Input::Armed) => {
                let ready = self.begun.map_or(now.mono, |begun| begun.after(FLOOR));
                self.wait(now, Phase::Waiting { due: ready, triggered: false, ready })
            }
            (Phase::Waiting { due, ready, .. }, Input::Triggered) => {
                let due = due.min(ready.max(now.mono));
                self.wait(now, Phase::Waiting { due, triggered: true, ready })
            }
            (phase @ Phase::Waiting { .. }, Input::Ticked) => self.wait(now, phase),
            // What is being asked for at this moment holds whatever triggers it.
            (Phase::Flying { begun, stale, .. }, Input::Triggered) if begun == now.mono => {
                Step::to(Self { phase: Phase::Flying { begun, triggered: true, stale }, ..self })
            }
            (Phase::Flying { begun, triggered, .. }, Input::Triggered) => {
                Step::to(Self { phase: Phase::Flying { begun, triggered, stale: true }, ..self })
            }
            (Phase::Flying { begun, triggered, stale }, Input::Answered(answered)) => {
                let pending = (stale, triggered || stale);
                self.answered(interval, now, begun, pending, *answered)
            }
            (Phase::Dormant | Phase::Flying { .. } | Phase::Waiting { .. }, Input::Quieted) => {
                Step::to(Self { phase: Phase::Dormant, ..self })
            }
            // A wait that the control plane has named, or that failures have earned, stays as long as it is.
            (Phase::Waiting { due, triggered, ready }, Input::Retimed) => {
                let due = due.min(now.mono.after(interval).max(ready));
                self.wait(now, Phase::Waiting { due, triggered, ready })
            }
            (
                Phase::Dormant,
                Input::Triggered | Input::Answered(_) | Input::Retimed | Input::Ticked,
            )
            | (Phase::Flying { .. }, Input::Armed | Input::Retimed | Input::Ticked)
            | (Phase::Waiting { .. }, Input::Armed | Input::Answered(_)) => Step::to(self),
        }
    }

    /// Whether a trigger has an effect.
    pub const fn is_awake(&self) -> bool {
        !matches!(self.phase, Phase::Dormant)
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match self.phase {
            Phase::Waiting { due, .. } => Some(due),
            Phase::Dormant | Phase::Flying { .. } => None,
        }
    }

    /// Fetches what is due.
    fn wait(self, now: Now, phase: Phase) -> Step<Self, Effect> {
        let begun = now.mono;
        match phase {
            Phase::Waiting { due, triggered, .. } if due <= begun => {
                let phase = Phase::Flying { begun, triggered, stale: false };
                Step::to(Self { phase, begun: Some(begun), ..self }).emit(Effect::Fetch)
            }
            Phase::Waiting { .. } | Phase::Flying { .. } | Phase::Dormant => {
                Step::to(Self { phase, ..self })
            }
        }
    }

    fn answered(
        self,
        interval: Duration,
        now: Now,
        begun: Mono,
        (stale, pending): (bool, bool),
        answered: Answered,
    ) -> Step<Self, Effect> {
        let Answered { fetched, retry_after, jitter } = answered;
        let rhythm = begun.after(interval).max(now.mono);
        match fetched {
            Fetched::Got(pulled) => {
                let ready = begun.after(FLOOR);
                let due = if stale { ready.max(now.mono) } else { rhythm };
                let phase = Phase::Waiting { due, triggered: stale, ready };
                self.succeeded(now, phase, begun, pulled)
            }
            Fetched::Unauthorized(_) | Fetched::ClockSkew(_) | Fetched::Failed(_) => {
                let failed = self.failed(now, fetched);
                let wait = backoff(interval, failed.state.streak.failures(), jitter);
                let asked = retry_after.map(|asked| {
                    now.mono.after(jitter.stretched(asked.min(interval), JITTER_PERCENT))
                });
                let ready = begun.after(FLOOR).max(now.mono.after(wait));
                let ready = asked.map_or(ready, |asked| asked.max(ready));
                // A wait that was named is kept by the interval too.
                let rhythm = asked.map_or(rhythm, |asked| asked.max(rhythm));
                let due = if pending { ready.min(rhythm) } else { rhythm };
                let phase = Phase::Waiting { due, triggered: pending, ready };
                Step { state: Self { phase, ..failed.state }, effects: failed.effects }
            }
        }
    }

    fn succeeded(self, now: Now, phase: Phase, asked: Mono, pulled: Pulled) -> Step<Self, Effect> {
        let again = self.streak.ended(now.mono, "the state is pulled");
        let streak = Streak::default();
        Step::to(Self { phase, succeeded: Some(now.mono), streak, ..self })
            .emit(Effect::Admitted)
            .emit_all(again.map(Effect::Tell))
            .emit(Effect::Pulled { asked, pulled: Box::new(pulled) })
    }

    fn failed(self, now: Now, fetched: Fetched<Pulled>) -> Step<Self, Effect> {
        let (kind, notice) = match fetched {
            Fetched::Unauthorized(reason) => (Kind::Unauthorized, Notice::unadmitted(&reason)),
            Fetched::ClockSkew(reason) | Fetched::Failed(reason) => {
                let text = format!("the state pull failed, what is known is kept: {reason}");
                (Kind::Failed, Notice::warn(text))
            }
            Fetched::Got(_) => return Step::to(self),
        };
        let refused = (kind == Kind::Unauthorized).then_some(Effect::Unauthorized);
        let (streak, notice) = self.streak.failed(now.mono, kind, notice);
        Step::to(Self { streak, ..self }).emit_all(refused).emit(Effect::Tell(notice))
    }
}

fn backoff(interval: Duration, failures: u32, jitter: Jitter) -> Duration {
    let growth =
        Backoff { base: RETRY_BASE, factor: 2, cap: interval, jitter_percent: JITTER_PERCENT };
    growth.wait(failures, jitter)
}
