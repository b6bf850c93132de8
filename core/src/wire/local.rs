//! Bodies of the node-local API.
//!
//! Specification: "Local entries" and "Local HTTP API".

use alloc::{
    collections::BTreeMap,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use serde::{Deserialize, Serialize};

use super::{
    json::{QUOTED_MAX, Raw, quote},
    timestamp::Timestamp,
};
use crate::secret::Secret;

/// The content type of a data entry that came with the pull.
pub const PULLED_CONTENT_TYPE: &str = "text/plain; charset=utf-8";

/// The key of the metadata that the agent tells itself: how the desired state reaches this node.
pub const DELIVERY_MODE: &str = "delivery_mode";

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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// `GET /v1/state/secrets/{key}`, borrowed, so that its value is copied nowhere.
pub struct SecretEntry<'s> {
    pub key: &'s str,
    pub value: &'s str,
    /// The one that the control plane answered.
    pub version: u64,
}

impl SecretEntry<'_> {
    /// Writes it as JSON with a newline behind, into bytes that never grow and are zeroed when they are dropped.
    pub fn encode(&self) -> Secret<Vec<u8>> {
        let texts = (self.key.len() + self.value.len()) * QUOTED_MAX;
        let mut bytes = Vec::with_capacity(texts + SECRET_FRAME_MAX);
        bytes.extend_from_slice(b"{\"key\":");
        quote(&mut bytes, self.key);
        bytes.extend_from_slice(b",\"value\":");
        quote(&mut bytes, self.value);
        bytes.extend_from_slice(b",\"version\":");
        bytes.extend_from_slice(self.version.to_string().as_bytes());
        bytes.extend_from_slice(b"}\n");
        Secret::new(bytes)
    }
}

/// More than the names, the version, the quotes and the punctuation of a [`SecretEntry`].
const SECRET_FRAME_MAX: usize = 64;

impl fmt::Debug for SecretEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretEntry({}, version {})", self.key, self.version)
    }
}

/// One of `GET /v1/peers`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerRow {
    pub id: String,
    pub public_key: String,
    pub mesh_ip: String,
    /// Empty where none is known.
    pub endpoint: String,
}

/// `GET /v1/actions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actions {
    pub builtin_actions: Vec<ActionInfo>,
    /// By their names.
    pub hooks: Vec<HookInfo>,
}

/// A hook that was discovered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookInfo {
    pub name: String,
    pub description: String,
    /// Where it comes from: `local`.
    pub source: String,
    /// Of what stands in its file now, in hex.
    pub checksum: String,
    pub parameters: Vec<ActionParameter>,
    /// As its sidecar says; empty where it does not.
    pub timeout: String,
    /// As its sidecar says; empty where it does not.
    pub sandbox: String,
    /// Why it does not run at present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// `POST /v1/hooks/reload`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// `reloaded`.
    pub status: String,
    pub hooks: Vec<HookInfo>,
    /// What is wrong in the hooks directory, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An action that this node can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionInfo {
    pub name: String,
    pub description: String,
    pub parameters: Vec<ActionParameter>,
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionParameter {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub required: bool,
    /// In the spelling in which a value is given.
    pub default: String,
    pub description: String,
}

/// `GET /readyz`, where JSON is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    pub ready: bool,
    pub reason: String,
    /// In the order in which they are looked at, up to the first that is not ready.
    pub parts: Vec<ReadyPart>,
}

/// One thing that has to be well for a node to be useful.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyPart {
    pub part: String,
    pub ready: bool,
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

/// `GET /v1/log-status` and `GET /v1/audit/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwarderStatus {
    pub enabled: bool,
    /// How many records wait now.
    pub buffer_size: u64,
    pub source_count: u64,
    /// How many requests to the control plane did not end well.
    pub error_count: u64,
    /// When the control plane took a batch last, in whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_report_at: Option<Timestamp>,
}

/// How much waits where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queues {
    /// Audited events that wait to be sent.
    pub audit: u64,
    /// Events in a row that name a signing key which this node does not hold; 0 for fewer than three.
    pub events_of_unknown_key: u64,
    pub executions_active: u64,
    pub executions_waiting: u64,
    /// What programs of this node have ordered.
    pub local_runs: u64,
    /// Lines of logs that wait to be sent.
    pub logs: u64,
    /// Points of measurement that wait to be sent.
    pub metrics: u64,
    /// What the control plane has not been told yet.
    pub reports_unsynced: u64,
    /// What is on its way to the disk.
    pub reports_writing: u64,
    pub sessions_open: u64,
    /// Those listed of a kind that this agent does not serve.
    pub sessions_unsupported: u64,
    /// Those of integrity that the control plane does not take, each told in the log.
    pub violations_dropped: u64,
    /// Those that it has not been told yet.
    pub violations_waiting: u64,
}
