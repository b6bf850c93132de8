//! The heartbeat: at once when armed, then at its interval; one in flight, beats due meanwhile are dropped.
//!
//! Specification: "Heartbeat" and "Limits" (heartbeat interval).

use alloc::format;
use core::time::Duration;

use super::{notice::Notice, verdict::Fetched};
use crate::{
    step::Step,
    time::{Mono, Now},
    wire::{heartbeat::HeartbeatResponse, timestamp::Timestamp},
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heartbeat {
    phase: Phase,
    /// When the last one was accepted.
    pub accepted: Option<Mono>,
    /// Whether the last one was not.
    failing: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Dormant,
    Flying {
        begun: Mono,
    },
    Waiting {
        due: Mono,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    Answered(Fetched<HeartbeatResponse>),
    /// The agent drains: nothing more is sent.
    Quieted,
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
            (Phase::Flying { begun }, Input::Answered(answer)) => {
                let due = next_beat(begun, interval, now.mono);
                Self { phase: Phase::Waiting { due }, ..self }.judge(now, answer)
            }
            (Phase::Dormant | Phase::Flying { .. } | Phase::Waiting { .. }, Input::Quieted) => {
                Step::to(Self { phase: Phase::Dormant, ..self })
            }
            (Phase::Dormant, Input::Answered(_) | Input::Ticked)
            | (Phase::Flying { .. }, Input::Armed | Input::Ticked)
            | (Phase::Waiting { .. }, Input::Armed | Input::Answered(_) | Input::Ticked) => {
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

    fn beat(self, now: Now) -> Step<Self, Effect> {
        Step::to(Self { phase: Phase::Flying { begun: now.mono }, ..self }).emit(Effect::Post)
    }

    fn judge(self, now: Now, answer: Fetched<HeartbeatResponse>) -> Step<Self, Effect> {
        let again =
            self.failing.then(|| Effect::Tell(Notice::info("heartbeats are accepted again")));
        let failed = Step::to(Self { failing: true, ..self });
        match answer {
            Fetched::Got(response) => Step::to(Self { accepted: Some(now.mono), failing: false, ..self })
                .emit(Effect::Admitted)
                .emit_all(again)
                .emit(Effect::Tell(drift(now, response.accepted_at)))
                .emit_all(response.reconcile.then_some(Effect::Reconcile))
                .emit_all(response.rotate_keys.then_some(Effect::RotateKeys)),
            Fetched::Unauthorized(reason) => failed
                .emit(Effect::Unauthorized)
                .emit(Effect::Tell(Notice::error(format!("the control plane does not admit this node: {reason}")))),
            Fetched::ClockSkew(reason) => failed.emit(Effect::Tell(Notice::error(format!(
                "the heartbeat was refused: {reason}. The clock of this node is off: check its time service (NTP)"
            )))),
            Fetched::Failed(reason) => {
                failed.emit(Effect::Tell(Notice::warn(format!("the heartbeat failed: {reason}"))))
            }
        }
    }
}

fn drift(now: Now, accepted_at: Timestamp) -> Notice {
    Notice::debug(format!(
        "heartbeat accepted at {accepted_at}, {} ms apart from this node's clock",
        accepted_at.skew(now.wall).as_millis()
    ))
}

/// The first beat of the rhythm that began with `begun` which is still to come.
fn next_beat(begun: Mono, interval: Duration, now: Mono) -> Mono {
    let nanos = interval.as_nanos().max(1);
    let beats = now.since(begun).as_nanos() / nanos + 1;
    begun.after(Duration::from_nanos_u128(beats.saturating_mul(nanos)))
}
