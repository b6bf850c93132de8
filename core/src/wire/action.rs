//! Bodies of a run that a co-located program orders, and what the built-in actions print.
//!
//! Specification: "Local HTTP API" (`POST /v1/actions/run`) and "Built-in actions".

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{local::PeerRow, timestamp::Timestamp};

/// `POST /v1/actions/run`. Other members are passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    pub action: Option<String>,
    pub parameters: Option<BTreeMap<String, String>>,
}

/// The answer to a [`RunRequest`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// `success`, `failed` or `error`.
    pub status: String,
    pub exit_code: i64,
    /// What is not UTF-8 in it is replaced.
    pub stdout: String,
    /// Where there was an error, its text stands last.
    pub stderr: String,
}

/// What `system.info` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemInfo {
    pub hostname: String,
    pub os: String,
    pub arch: String,
    /// Of the agent.
    pub version: String,
    /// Empty before the registration.
    pub mesh_ip: String,
    pub peer_count: usize,
    /// Empty before the registration.
    pub node_id: String,
}

/// What `health.check` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthCheck {
    pub tunnel_count: usize,
    pub connected_peers: usize,
    /// In seconds.
    pub uptime: u64,
    /// When the last one was accepted; null where there was none.
    pub last_heartbeat: Option<Timestamp>,
    /// When the last pull succeeded; null where there was none.
    pub last_reconcile: Option<Timestamp>,
    /// `healthy` or `degraded`.
    pub status: String,
    /// As the health listener tells it.
    pub reason: String,
    pub include_peers: bool,
    /// Empty where they are not included.
    pub peers: Vec<PeerRow>,
}

/// What an action prints that only tells that something has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    pub status: String,
    /// The process that was signalled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// Writes what an action prints: JSON for people, indented.
pub fn print<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec_pretty(value).expect("wire types have string keys and no failing serializer")
}
