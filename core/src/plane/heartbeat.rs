//! The heartbeat: an ordered list of checks, and a configurable answer that arms a rotation whenever it asks for one.
//!
//! Specification: "Heartbeat" and "POST /v1/nodes/{id}/heartbeat".

use thiserror::Error;

use crate::{
    step::Step,
    time::{Now, Wall},
    wire::{
        grammar::Checksum,
        heartbeat::{CLOCK_SKEW_MAX, ConfigureHeartbeat, HeartbeatDraft, HeartbeatResponse},
        http::{Body, UNREADABLE},
        json::{self, Fault, Raw},
        timestamp::Timestamp,
    },
};

/// A fact for the heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A heartbeat passed every check.
    Beat,
    /// The answer was replaced.
    Configured(ConfigureHeartbeat),
}

/// An order of the heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Answer(HeartbeatResponse),
    ArmRotation,
}

/// Why a heartbeat is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 16 MiB")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not a heartbeat request: {0}")]
    Malformed(Fault),
    #[error("nat_summary must be an object, {{}} before discovery")]
    NatSummary,
    #[error("client_now must be within 60 s of the server's time; check the clock of the node")]
    ClockSkew,
    #[error(
        "binary_checksum must be 64 lower-case hex digits or 44 characters of base64 for 32 bytes"
    )]
    Checksum,
    #[error("binary_version must not be empty")]
    Version,
}

/// The configured answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat(ConfigureHeartbeat);

impl Default for Heartbeat {
    fn default() -> Self {
        Self(ConfigureHeartbeat { reconcile: true, rotate_keys: false })
    }
}

/// Judges a request body, in the order of the specification.
pub fn judge(body: &Body, wall: Wall) -> Result<(), Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    let draft: HeartbeatDraft = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    if !draft.nat_summary.as_ref().is_some_and(Raw::is_object) {
        return Err(Refusal::NatSummary);
    }
    match draft.client_now {
        Some(at) if at.skew(wall) <= CLOCK_SKEW_MAX => {}
        Some(_) | None => return Err(Refusal::ClockSkew),
    }
    Checksum::parse(&draft.binary_checksum).map_err(|_| Refusal::Checksum)?;
    if draft.binary_version.trim().is_empty() {
        return Err(Refusal::Version);
    }
    Ok(())
}

impl Heartbeat {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Beat => self.answer(now),
            Input::Configured(answer) => {
                Step::to(Self(answer)).emit_all(answer.rotate_keys.then_some(Effect::ArmRotation))
            }
        }
    }

    fn answer(self, now: Now) -> Step<Self, Effect> {
        let ConfigureHeartbeat { reconcile, rotate_keys } = self.0;
        let accepted_at = Timestamp::from(now.wall);
        Step::to(self)
            .emit_all(rotate_keys.then_some(Effect::ArmRotation))
            .emit(Effect::Answer(HeartbeatResponse { accepted_at, reconcile, rotate_keys }))
    }
}
