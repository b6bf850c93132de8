//! Rotation of a node's mesh key.
//!
//! Specification: "Key rotation" and "POST /v1/keys/rotate".

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::grammar::PublicKey;

/// The longest request body, in bytes.
pub const BODY_MAX: usize = 4096;

/// What an agent sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KeyRotateRequest {
    pub new_public_key: PublicKey,
}

/// The request as it came, decoded strictly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KeyRotateDraft {
    pub new_public_key: String,
}

/// What the control plane answers, and what the agent keeps as `last_rotation`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Receipt {
    pub rotation_id: String,
    pub kid: String,
    pub wrap_key_version: u64,
}

impl Receipt {
    /// A receipt without an id or a kid completes nothing.
    pub const fn is_complete(&self) -> bool {
        !self.rotation_id.is_empty() && !self.kid.is_empty()
    }
}
