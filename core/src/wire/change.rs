//! What a watcher of the node-local API is told: that something changed, never what it is now.
//!
//! Specification: none; `docs/deviations.md` (`GET /v1/watch`).

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// One `change` event of `GET /v1/watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub kind: ChangeKind,
    /// Absent where the whole of its kind is meant, and is to be read again.
    pub key: Option<String>,
    /// Absent where it has none, and where it is gone.
    pub version: Option<u64>,
    pub deleted: bool,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Metadata,
    Data,
    Secret,
    Report,
    Peers,
    Policy,
    Readiness,
}

impl Change {
    /// All of its kind may have changed.
    pub const fn whole(kind: ChangeKind) -> Self {
        Self { kind, key: None, version: None, deleted: false }
    }

    /// There is a new value under a key.
    pub const fn of(kind: ChangeKind, key: String, version: Option<u64>) -> Self {
        Self { kind, key: Some(key), version, deleted: false }
    }

    /// There is no value under a key any more.
    pub const fn gone(kind: ChangeKind, key: String) -> Self {
        Self { kind, key: Some(key), version: None, deleted: true }
    }
}
