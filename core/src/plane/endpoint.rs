//! NAT endpoint reports: an ordered list of checks, and an answer that tells when the report goes stale.
//!
//! Specification: "NAT endpoint" and "PUT /v1/nodes/{id}/endpoint"; `decisions.md` section 7 (`ttl_seconds`, Link-local
//! multicast hosts).

use core::{ops::RangeInclusive, time::Duration};

use thiserror::Error;

pub use crate::wire::endpoint::BODY_MAX;
use crate::{
    step::Step,
    time::{Now, Wall},
    wire::{
        endpoint::{ConfigureEndpoint, EndpointDraft, EndpointRequest, EndpointResponse},
        grammar::ReachableAddr,
        heartbeat::CLOCK_SKEW_MAX,
        http::{Body, UNREADABLE},
        json::{self, Fault},
    },
};

/// "Endpoint TTL: default 5 minutes".
pub const TTL: Duration = Duration::from_secs(300);

/// The seconds that a TTL may be configured to; a year is the longest.
const TTL_SECONDS: RangeInclusive<u64> = 1..=31_536_000;

/// A fact for the endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A report passed every check.
    Reported,
    /// The TTL was replaced.
    Configured { ttl: Duration },
}

/// An order of the endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Answer(EndpointResponse),
}

/// Why a report is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 4096 bytes")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not an endpoint request: {0}")]
    Malformed(Fault),
    #[error("reported_at must be within 60 s of the server's time; check the clock of the node")]
    ClockSkew,
    #[error(
        "endpoint must be ip:port with a port from 1 to 65535 and a host that is not loopback, link-local or unspecified"
    )]
    Unparseable,
}

/// Why a TTL is not taken over.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TtlRefusal {
    #[error("the body is over 16 MiB")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body does not configure an endpoint: {0}")]
    Malformed(Fault),
    #[error("ttl_seconds must be from 1 to 31536000")]
    OutOfRange,
}

/// For how long a report counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoints {
    ttl: Duration,
}

impl Default for Endpoints {
    fn default() -> Self {
        Self { ttl: TTL }
    }
}

/// Reads a report out of a request body and judges it, in the order of the specification.
pub fn read(body: &Body, wall: Wall) -> Result<EndpointRequest, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    let draft: EndpointDraft = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    let reported_at = match draft.reported_at {
        Some(at) if at.skew(wall) <= CLOCK_SKEW_MAX => at,
        Some(_) | None => return Err(Refusal::ClockSkew),
    };
    let endpoint = ReachableAddr::parse(&draft.endpoint).map_err(|_| Refusal::Unparseable)?;
    Ok(EndpointRequest { endpoint, nat_type: draft.nat_type, reported_at })
}

/// Reads a TTL out of the body of `POST /test/configure-endpoint`.
pub fn read_ttl(body: &Body) -> Result<Duration, TtlRefusal> {
    let bytes = body.whole(TtlRefusal::TooLarge, TtlRefusal::Unreadable)?;
    let ConfigureEndpoint { ttl_seconds } =
        json::decode_tolerant(bytes).map_err(TtlRefusal::Malformed)?;
    let seconds = ttl_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let seconds = seconds.filter(|seconds| TTL_SECONDS.contains(seconds));
    seconds.map(Duration::from_secs).ok_or(TtlRefusal::OutOfRange)
}

impl Endpoints {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Reported => Step::to(self).emit(Effect::Answer(self.answer(now))),
            Input::Configured { ttl } => Step::to(Self { ttl }),
        }
    }

    fn answer(self, now: Now) -> EndpointResponse {
        EndpointResponse {
            accepted_at: now.wall.into(),
            stale_after: now.wall.after(self.ttl).into(),
        }
    }
}
