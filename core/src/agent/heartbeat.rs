//! The heartbeat: at once when armed, then at its interval; one in flight, beats due meanwhile are dropped.
//!
//! What becomes of a beat is told by the rule of `notice/streak`. A clock that is off is told with the measured difference, by
//! the `Date` of the refusal; one that drifts is told before it is refused, once. Neither leads to a new registration.
//!
//! Specification: "Heartbeat" and "Limits" (heartbeat interval).

pub mod skew;

use alloc::{format, string::String};
use core::time::Duration;

use super::{
    notice::{
        Notice,
        streak::{Kind, Streak},
    },
    verdict::Fetched,
};
use crate::{
    duration,
    step::Step,
    time::{Mono, Now, Wall},
    wire::{
        heartbeat::{CLOCK_SKEW_MAX, HeartbeatResponse},
        timestamp::Timestamp,
    },
};
use skew::{DATE_PRECISION, SKEW_CALM, SKEW_WARN, Skew};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heartbeat {
    phase: Phase,
    /// When the last one was accepted.
    pub accepted: Option<Mono>,
    /// How far the clocks were apart when it could be told last.
    pub skew: Option<Skew>,
    streak: Streak,
    /// The clock is far off although beats are accepted, which was told.
    is_drifting: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Dormant,
    Flying {
        begun: Now,
    },
    Waiting {
        due: Mono,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    Answered {
        fetched: Fetched<HeartbeatResponse>,
        /// When the answer was written, by the clock of who wrote it.
        date: Option<Timestamp>,
    },
    /// The agent drains: nothing more is sent.
    Quieted,
    /// The interval may have changed.
    Retimed,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Post,
    Reconcile,
    /// The control plane asks for a new mesh key.
    RotateKeys,
    Admitted,
    Unauthorized,
    Tell(Notice),
}

impl Heartbeat {
    /// Moves on one input; `interval` is `heartbeat.interval`.
    pub fn step(self, interval: Duration, now: Now, input: Input) -> Step<Self, Effect> {
        match (self.phase, input) {
            (Phase::Dormant, Input::Armed) => self.beat(now),
            (Phase::Waiting { due }, Input::Ticked) if due <= now.mono => self.beat(now),
            (Phase::Flying { begun }, Input::Answered { fetched, date }) => {
                let due = next_beat(begun.mono, interval, now.mono);
                let waiting = Self { phase: Phase::Waiting { due }, ..self };
                match fetched {
                    Fetched::Got(response) => waiting.accepted(begun.wall, now, response),
                    Fetched::Unauthorized(_) | Fetched::ClockSkew(_) | Fetched::Failed(_) => {
                        let skew =
                            date.map(|at| Skew::measured(begun.wall, now.wall, at, DATE_PRECISION));
                        waiting.failed(now, skew, fetched)
                    }
                }
            }
            (Phase::Dormant | Phase::Flying { .. } | Phase::Waiting { .. }, Input::Quieted) => {
                Step::to(Self { phase: Phase::Dormant, ..self })
            }
            (Phase::Waiting { due }, Input::Retimed) => {
                let due = due.min(now.mono.after(interval));
                Step::to(Self { phase: Phase::Waiting { due }, ..self })
            }
            (Phase::Dormant, Input::Answered { .. } | Input::Retimed | Input::Ticked)
            | (Phase::Flying { .. }, Input::Armed | Input::Retimed | Input::Ticked)
            | (Phase::Waiting { .. }, Input::Armed | Input::Answered { .. } | Input::Ticked) => {
                Step::to(self)
            }
        }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match self.phase {
            Phase::Waiting { due } => Some(due),
            Phase::Dormant | Phase::Flying { .. } => None,
        }
    }

    /// Whether the next one was due, or an answer awaited, so long ago.
    pub fn is_overdue(&self, grace: Duration, now: Mono) -> bool {
        match self.phase {
            Phase::Dormant => false,
            Phase::Waiting { due } => now > due.after(grace),
            Phase::Flying { begun } => now > begun.mono.after(grace),
        }
    }

    fn beat(self, now: Now) -> Step<Self, Effect> {
        Step::to(Self { phase: Phase::Flying { begun: now }, ..self }).emit(Effect::Post)
    }

    fn accepted(mut self, sent: Wall, now: Now, response: HeartbeatResponse) -> Step<Self, Effect> {
        let again = self.streak.ended(now.mono, "heartbeats are accepted");
        let skew = Skew::measured(sent, now.wall, response.accepted_at, Duration::ZERO);
        let drift = self.drift(skew);
        let seen = Notice::debug(format!(
            "heartbeat accepted at {}, this node's clock is {} the control plane's",
            response.accepted_at,
            skew.words()
        ));
        let told = again.into_iter().chain(drift).chain([seen]).map(Effect::Tell);
        let accepted = Some(now.mono);
        Step::to(Self { accepted, skew: Some(skew), streak: Streak::default(), ..self })
            .emit(Effect::Admitted)
            .emit_all(told)
            .emit_all(response.reconcile.then_some(Effect::Reconcile))
            .emit_all(response.rotate_keys.then_some(Effect::RotateKeys))
    }

    /// Warns of a clock that is still near enough, and tells when it agrees again; in between nothing is told twice.
    fn drift(&mut self, skew: Skew) -> Option<Notice> {
        match (self.is_drifting, skew.amount()) {
            (false, by) if by > SKEW_WARN => {
                self.is_drifting = true;
                Some(Notice::warn(format!(
                    "this node's clock is {} the control plane's, which refuses heartbeats from {} on: check the time \
                     service of this node (NTP)",
                    skew.words(),
                    duration::words(CLOCK_SKEW_MAX)
                )))
            }
            (true, by) if by <= SKEW_CALM => {
                self.is_drifting = false;
                Some(Notice::info("this node's clock agrees with the control plane's again"))
            }
            (false | true, _) => None,
        }
    }

    fn failed(
        self,
        now: Now,
        skew: Option<Skew>,
        fetched: Fetched<HeartbeatResponse>,
    ) -> Step<Self, Effect> {
        let (kind, notice) = match fetched {
            Fetched::Unauthorized(reason) => (Kind::Unauthorized, Notice::unadmitted(&reason)),
            Fetched::ClockSkew(reason) => (Kind::ClockSkew, Notice::error(off(&reason, skew))),
            Fetched::Failed(reason) => {
                (Kind::Failed, Notice::warn(format!("the heartbeat failed: {reason}")))
            }
            Fetched::Got(_) => return Step::to(self),
        };
        // Who writes the date of another failure need not be the control plane.
        let measured = skew.filter(|_| kind == Kind::ClockSkew).or(self.skew);
        let refused = (kind == Kind::Unauthorized).then_some(Effect::Unauthorized);
        let (streak, notice) = self.streak.failed(now.mono, kind, notice);
        Step::to(Self { streak, skew: measured, ..self })
            .emit_all(refused)
            .emit(Effect::Tell(notice))
    }
}

/// A date that explains no refusal is not repeated: who wrote it need not be who refused.
fn off(reason: &str, skew: Option<Skew>) -> String {
    let measured = match skew {
        Some(skew) if skew.amount() >= SKEW_WARN => {
            format!("This node's clock is {} the control plane's", skew.words())
        }
        Some(_) | None => "The clock of this node is off".into(),
    };
    format!("the heartbeat was refused: {reason}. {measured}: check its time service (NTP)")
}

/// The first beat of the rhythm that began with `begun` which is still to come.
fn next_beat(begun: Mono, interval: Duration, now: Mono) -> Mono {
    let nanos = interval.as_nanos().max(1);
    let beats = now.since(begun).as_nanos() / nanos + 1;
    begun.after(Duration::from_nanos_u128(beats.saturating_mul(nanos)))
}
