//! The NAT endpoint: where a node is reached from outside, and until when that counts.
//!
//! Specification: "NAT endpoint" and "PUT /v1/nodes/{id}/endpoint".

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{grammar::ReachableAddr, register::Loose, timestamp::Timestamp};

/// "Body cap: 4 KiB", in bytes.
pub const BODY_MAX: usize = 4 << 10;

/// What an agent sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EndpointRequest {
    pub endpoint: ReachableAddr,
    pub nat_type: NatType,
    pub reported_at: Timestamp,
}

/// How the NAT in front of a node behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NatType {
    FullCone,
    Restricted,
    PortRestricted,
    Symmetric,
    Unknown,
}

impl NatType {
    /// Every type, in the specification's order.
    pub const ALL: [Self; 5] =
        [Self::FullCone, Self::Restricted, Self::PortRestricted, Self::Symmetric, Self::Unknown];
}

/// The request as it came, decoded strictly: a `nat_type` outside the enum fails to decode, the rest is judged after.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct EndpointDraft {
    #[serde(default)]
    pub endpoint: String,
    pub nat_type: NatType,
    #[serde(default)]
    pub reported_at: Option<Timestamp>,
}

/// What the control plane answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointResponse {
    pub accepted_at: Timestamp,
    pub stale_after: Timestamp,
}

/// The answer as a node reads it: a member that is no time counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct EndpointSeen {
    accepted_at: Loose,
    stale_after: Loose,
}

impl EndpointSeen {
    /// When it was accepted, by the clock of the control plane.
    pub fn accepted_at(&self) -> Option<Timestamp> {
        time(&self.accepted_at)
    }

    /// Until when it counts, by the clock of the control plane.
    pub fn stale_after(&self) -> Option<Timestamp> {
        time(&self.stale_after)
    }
}

/// The zero timestamp is none.
fn time(member: &Loose) -> Option<Timestamp> {
    let text = member.text().ok().flatten()?;
    Timestamp::parse(&text).ok().filter(|at| !at.is_zero())
}

/// The body of `POST /test/configure-endpoint`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigureEndpoint {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<i64>,
}
