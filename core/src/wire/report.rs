//! Reports: values that a node stores under keys at the control plane.
//!
//! Specification: "State report" and "PUT /v1/nodes/{id}/state/reports/{key}".

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{grammar::Name, timestamp::Timestamp};

/// The longest value, in bytes: "State report value: 4096 bytes".
pub const VALUE_MAX: usize = 4096;

/// What an agent sends, and what the plane reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportRequest {
    /// Opaque; required, so that a request without it can be told from one with an empty value.
    pub value: Option<String>,
    #[serde(skip_serializing_if = "Name::is_empty")]
    pub workload_tag: Name,
}

/// What the control plane answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportResponse {
    pub accepted_at: Timestamp,
    pub key: String,
}
