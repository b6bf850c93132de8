//! Bodies of the node-local API.
//!
//! Specification: "Local entries" and "Local HTTP API".

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{json::Raw, timestamp::Timestamp};

/// The content type of a data entry that came with the pull.
pub const PULLED_CONTENT_TYPE: &str = "text/plain; charset=utf-8";

/// `GET /v1/state`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateSummary {
    pub metadata: BTreeMap<String, String>,
    pub data_keys: Vec<DataSummary>,
    pub secret_keys: Vec<KeySummary>,
    pub report_keys: Vec<KeySummary>,
}

/// A data entry without its payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSummary {
    pub key: String,
    pub version: u64,
    pub content_type: String,
}

/// A secret or report without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySummary {
    pub key: String,
    pub version: u64,
}

/// `GET /v1/state/metadata/{key}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadatum {
    pub key: String,
    pub value: String,
}

/// `GET /v1/state/data/{key}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataEntry {
    pub key: String,
    pub content_type: String,
    pub payload: Raw,
    /// Starts at 1, one more on each change of the value.
    pub version: u64,
    pub updated_at: Timestamp,
}

/// `GET /v1/state/report/{key}`, and the answer to a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportEntry {
    pub key: String,
    pub content_type: String,
    /// Compact. Null is a value, and the same as an absent member.
    #[serde(default = "Raw::null")]
    pub payload: Raw,
    /// Starts at 1, one more on each update.
    pub version: u64,
    pub updated_at: Timestamp,
}

/// The body of every refusal of the local API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalError {
    pub error: String,
}

/// `GET /v1/status`, which the `status` command prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub ready: bool,
    pub reason: String,
    pub node_id: Option<String>,
    pub mesh_ip: Option<String>,
    pub delivery_mode: String,
    pub last_heartbeat_age_seconds: Option<u64>,
    pub last_pull_age_seconds: Option<u64>,
    pub queues: Queues,
}

/// How much waits where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queues {
    pub executions_active: u64,
    pub executions_waiting: u64,
    /// What the control plane has not been told yet.
    pub reports_unsynced: u64,
    /// What is on its way to the disk.
    pub reports_writing: u64,
}
