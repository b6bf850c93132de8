//! The capability manifest: what a node runs, which hooks it declares and which SSH host key it has.
//!
//! Specification: "Capabilities" and "PUT /v1/nodes/{id}/capabilities".

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{
    grammar::{Checksum, Fingerprint, Name},
    timestamp::Timestamp,
};

/// "Declared hooks: 128".
pub const DECLARED_HOOKS_MAX: usize = 128;

/// What an agent sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapabilityManifestRequest {
    pub binary_version: String,
    pub binary_checksum: Checksum,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_host_key_fingerprint: Option<Fingerprint>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub declared_hooks: Vec<DeclaredHook>,
}

/// A hook that a node offers, by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeclaredHook {
    pub name: Name,
    pub checksum: Checksum,
}

/// The request as it came: decoded strictly, each member judged in the order of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CapabilityManifestDraft {
    pub binary_version: String,
    pub binary_checksum: String,
    pub ssh_host_key_fingerprint: String,
    pub declared_hooks: Vec<DeclaredHookDraft>,
}

/// A hook as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DeclaredHookDraft {
    pub name: Name,
    pub checksum: String,
}

/// What the control plane answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityManifestResponse {
    pub accepted_at: Timestamp,
    /// The members that differ from the manifest before, sorted; a set that may grow.
    pub fields_changed: Vec<String>,
    pub host_key_changed: bool,
}
