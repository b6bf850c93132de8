//! How this node is seen from outside, and that the control plane is told.
//!
//! | state | input | next | also |
//! |---|---|---|---|
//! | off | armed | probing | waiting, where the last report was sent a moment ago |
//! | probing | discovered | reporting | |
//! | probing | failed, an endpoint is known for less than an hour | reporting | the known endpoint once more |
//! | probing | failed | waiting | discover again with backoff |
//! | reporting | answered | waiting | until the endpoint is about to lapse, at most the refresh interval |
//! | waiting | ticked | probing | |
//! | waiting | retimed | waiting | no longer than the refresh interval from now on, no sooner than planned at the earliest |
//! | any | quieted | off | |
//!
//! Two reports are never closer to each other than `min_report_interval`, whatever was answered and whatever the clocks
//! do. An outcome of another round is ignored. A later failure keeps the endpoint: it is most often the server that
//! fails and not the mapping, and peers are better off with the old endpoint than without any.
//! What failed is told by the rule of `notice/streak`; that the node is not known also when it is so the third time.
//! Left out: no registration follows a 404 or 410, as the contract heals those by the one of heartbeats.
//!
//! Specification: "PUT /v1/nodes/{id}/endpoint" and "Limits" (NAT re-report); `gaps-agent.md` 2.11.

mod limits;
mod mapping;
mod notices;
mod reported;
mod wait;

use alloc::{string::String, vec::Vec};

pub use limits::{KEPT_MAX, MARGIN, RETRY, SERVERS_MAX, STRANGER_MIN, TIMEOUT_MAX};
pub use mapping::{Mapping, judge};

use super::{
    facts::{Discovery, NatSettings, Seen},
    notice::{Notice, streak::Streak},
    verdict::endpoint::Reported,
};
use crate::{
    backoff::Jitter,
    step::Step,
    time::{Mono, Now},
    wire::{endpoint::NatType, grammar::ReachableAddr},
};
use reported::Troubles;
use wait::Wait;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nat {
    phase: Phase,
    /// The discovery that is under way, or was the last.
    round: u64,
    found: Option<Found>,
    /// When the last report was sent.
    posted: Option<Mono>,
    /// Discoveries in a row that found nothing.
    missed: Streak,
    troubles: Troubles,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Off,
    Probing,
    Reporting,
    Waiting(Wait),
}

/// Where this node is reached from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub endpoint: ReachableAddr,
    pub nat_type: NatType,
    /// When a server confirmed it last.
    at: Mono,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    Discovered { round: u64, outcome: Result<Vec<Result<Seen, String>>, String>, jitter: Jitter },
    Quieted,
    Retimed,
    Reported { reported: Reported, jitter: Jitter },
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Discover(Discovery),
    Report { endpoint: ReachableAddr, nat_type: NatType },
    Tell(Notice),
}

impl Nat {
    /// Moves on one input.
    pub fn step(self, settings: &NatSettings, now: Now, input: Input) -> Step<Self, Effect> {
        match (self.phase, input) {
            (Phase::Off, Input::Armed) => self.armed(settings, now),
            (Phase::Probing, Input::Discovered { round, outcome, jitter })
                if round == self.round =>
            {
                match judge(settings, outcome) {
                    Ok(seen) => self.seen(now, seen),
                    Err(reason) => self.unseen(settings, now, (reason, jitter)),
                }
            }
            (Phase::Reporting, Input::Reported { reported, jitter }) => {
                self.reported(settings, now, (reported, jitter))
            }
            (Phase::Waiting(wait), Input::Ticked) if wait.is_over(now) => self.probe(settings),
            (Phase::Waiting(wait), Input::Ticked) => {
                Step::to(Self { phase: Phase::Waiting(wait.looked(now)), ..self })
            }
            (Phase::Waiting(wait), Input::Retimed) => self.retime(settings, now, wait),
            (_, Input::Quieted) => Step::to(self.afresh()),
            (Phase::Off | Phase::Probing | Phase::Reporting, Input::Retimed)
            | (Phase::Off, Input::Discovered { .. } | Input::Reported { .. } | Input::Ticked)
            | (
                Phase::Probing,
                Input::Armed | Input::Discovered { .. } | Input::Reported { .. } | Input::Ticked,
            )
            | (Phase::Reporting, Input::Armed | Input::Discovered { .. } | Input::Ticked)
            | (
                Phase::Waiting(_),
                Input::Armed | Input::Discovered { .. } | Input::Reported { .. },
            ) => Step::to(self),
        }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match &self.phase {
            Phase::Waiting(wait) => Some(wait.hint),
            Phase::Off | Phase::Probing | Phase::Reporting => None,
        }
    }

    /// Where this node is reached, as far as is known.
    pub const fn found(&self) -> Option<&Found> {
        self.found.as_ref()
    }
}
