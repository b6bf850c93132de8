//! The heartbeat.
//!
//! Specification: "Heartbeat" and "POST /v1/nodes/{id}/heartbeat".

use core::time::Duration;

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{
    endpoint::NatType,
    grammar::{Checksum, ReachableAddr},
    json::Raw,
    timestamp::Timestamp,
};

/// How far `client_now` may be from the server's time, either direction; exactly this far is accepted.
pub const CLOCK_SKEW_MAX: Duration = Duration::from_secs(60);

/// What an agent sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeartbeatRequest {
    pub client_now: Timestamp,
    pub binary_checksum: Checksum,
    pub binary_version: String,
    pub nat_summary: NatSummary,
}

/// What is known of the NAT in front of a node: an empty object before discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NatSummary {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<ReachableAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nat_type: Option<NatType>,
}

/// The request as it came: decoded strictly, each member judged in the order of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HeartbeatDraft {
    pub client_now: Option<Timestamp>,
    pub binary_checksum: String,
    pub binary_version: String,
    pub nat_summary: Option<Raw>,
}

/// What the control plane answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeartbeatResponse {
    pub accepted_at: Timestamp,
    pub reconcile: bool,
    pub rotate_keys: bool,
}

/// The body of `POST /test/configure-heartbeat`; a missing member is false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigureHeartbeat {
    pub reconcile: bool,
    pub rotate_keys: bool,
}
