//! The health of the control plane.
//!
//! Specification: "Health status" and "GET /v1/health".

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

/// The status that means that all is well, of the whole and of a check.
pub const OK: &str = "ok";

/// What `GET /v1/health` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HealthStatus {
    /// As the peer spelled it: a set that may grow.
    pub status: String,
    pub checks: Vec<HealthCheck>,
}

/// One part of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HealthCheck {
    pub name: String,
    pub status: String,
    /// Written also when it is empty.
    pub detail: String,
}
