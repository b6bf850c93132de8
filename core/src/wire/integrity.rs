//! Integrity violations: what no longer is as it was installed, in a batch.
//!
//! Specification: "Integrity violations" and "POST /v1/nodes/{id}/integrity-violations". Unspecified: the names of the
//! batch's members and of its enums; they are the public contract's.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize, Serializer};

use super::{
    grammar::{Checksum, Fingerprint, Name},
    timestamp::Timestamp,
};

/// "Body cap: 32 KiB", in bytes.
pub const BODY_MAX: usize = 32 << 10;

/// The most entries of one batch.
pub const VIOLATIONS_MAX: usize = 128;

/// What an agent sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IntegrityViolationsRequest {
    pub violations: Vec<IntegrityViolation>,
}

/// One artifact that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegrityViolation {
    pub finding: Finding,
    pub detected_by: DetectedBy,
    pub artifact_id: Name,
}

/// The kind of an artifact with what it was seen to be: a digest for files, a fingerprint for the host key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    BinaryChecksum(Seen<Checksum>),
    HookChecksum(Seen<Checksum>),
    SshHostKey(Seen<Fingerprint>),
}

/// What was seen, and what should have been where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen<T> {
    pub observed: T,
    pub expected: Option<T>,
}

/// What kind of artifact an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    BinaryChecksum,
    HookChecksum,
    SshHostKey,
}

impl Kind {
    /// Reads a kind of the closed set.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "binary_checksum" => Some(Self::BinaryChecksum),
            "hook_checksum" => Some(Self::HookChecksum),
            "ssh_host_key" => Some(Self::SshHostKey),
            _ => None,
        }
    }
}

/// When the difference was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DetectedBy {
    StartupScan,
    Inotify,
    PreDispatch,
}

impl DetectedBy {
    /// Reads a detector of the closed set.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "startup_scan" => Some(Self::StartupScan),
            "inotify" => Some(Self::Inotify),
            "pre_dispatch" => Some(Self::PreDispatch),
            _ => None,
        }
    }
}

/// An entry as its members stand on the wire.
#[derive(Serialize)]
struct Entry<'v> {
    kind: Kind,
    detected_by: DetectedBy,
    artifact_id: &'v Name,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_checksum: Option<&'v Checksum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_checksum: Option<&'v Checksum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_fingerprint: Option<&'v Fingerprint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_fingerprint: Option<&'v Fingerprint>,
}

impl Serialize for IntegrityViolation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { finding, detected_by, artifact_id } = self;
        let (kind, digests, fingerprints) = match finding {
            Finding::BinaryChecksum(digests) => (Kind::BinaryChecksum, Some(digests), None),
            Finding::HookChecksum(digests) => (Kind::HookChecksum, Some(digests), None),
            Finding::SshHostKey(fingerprints) => (Kind::SshHostKey, None, Some(fingerprints)),
        };
        let entry = Entry {
            kind,
            detected_by: *detected_by,
            artifact_id,
            observed_checksum: digests.map(|seen| &seen.observed),
            expected_checksum: digests.and_then(|seen| seen.expected.as_ref()),
            observed_fingerprint: fingerprints.map(|seen| &seen.observed),
            expected_fingerprint: fingerprints.and_then(|seen| seen.expected.as_ref()),
        };
        entry.serialize(serializer)
    }
}

/// The request as it came: decoded strictly, each entry judged in its turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct IntegrityViolationsDraft {
    pub violations: Vec<IntegrityViolationDraft>,
}

/// An entry as it came; an absent member is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct IntegrityViolationDraft {
    pub kind: String,
    pub detected_by: String,
    pub artifact_id: Name,
    pub observed_checksum: String,
    pub expected_checksum: String,
    pub observed_fingerprint: String,
    pub expected_fingerprint: String,
}

/// What the control plane answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrityViolationsResponse {
    pub accepted_at: Timestamp,
    pub violation_count: u64,
}
