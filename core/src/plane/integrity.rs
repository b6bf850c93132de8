//! Integrity violations: a batch is read whole, and its first entry that breaks a rule refuses all of it.
//!
//! | Rule of an entry, in order | Refusal |
//! |---|---|
//! | `kind` is one of three | `Kind` |
//! | `detected_by` is one of three | `DetectedBy` |
//! | `artifact_id` is not blank | `ArtifactId` |
//! | a host key has no digest, anything else no fingerprint | `Mismatch` |
//! | a host key has an observed fingerprint, and each one is canonical | `Fingerprint` |
//! | anything else has an observed digest, and each one is base64 of 32 bytes | `Checksum` |
//!
//! Nothing is kept: a batch is counted and answered.
//!
//! Specification: "Integrity violations" and "POST /v1/nodes/{id}/integrity-violations"; `gaps-control-plane.md` 1.16.
//! Unspecified: an empty member is an absent one.

use alloc::vec::Vec;

use thiserror::Error;

pub use crate::wire::integrity::BODY_MAX;
use crate::{
    time::Now,
    wire::{
        grammar::{Checksum, Fingerprint, Malformed},
        http::{Body, UNREADABLE},
        integrity::{
            DetectedBy, Finding, IntegrityViolation, IntegrityViolationDraft,
            IntegrityViolationsDraft, IntegrityViolationsRequest, IntegrityViolationsResponse,
            Kind, Seen, VIOLATIONS_MAX,
        },
        json::{self, Fault},
    },
};

/// Why a batch is refused; a number is the position of the entry.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 32768 bytes; send the violations in several batches")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not a batch of integrity violations: {0}")]
    Malformed(Fault),
    #[error("violations must hold at least one entry")]
    Empty,
    #[error("violations must hold at most 128 entries; send them in several batches")]
    TooMany,
    #[error("violations[{0}].kind must be binary_checksum, hook_checksum or ssh_host_key")]
    Kind(usize),
    #[error("violations[{0}].detected_by must be startup_scan, inotify or pre_dispatch")]
    DetectedBy(usize),
    #[error("violations[{0}].artifact_id must not be empty")]
    ArtifactId(usize),
    #[error(
        "violations[{0}] must have fingerprints for ssh_host_key, checksums for any other kind"
    )]
    Mismatch(usize),
    #[error("violations[{0}] must have an observed_fingerprint, each being SHA256: and base64")]
    Fingerprint(usize),
    #[error(
        "violations[{0}] must have an observed_checksum, each being standard base64 for 32 bytes"
    )]
    Checksum(usize),
}

/// Reads a batch out of a request body and judges it, entry by entry.
pub fn read(body: &Body) -> Result<IntegrityViolationsRequest, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    let draft: IntegrityViolationsDraft = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    match draft.violations.len() {
        0 => return Err(Refusal::Empty),
        1..=VIOLATIONS_MAX => {}
        _ => return Err(Refusal::TooMany),
    }
    let entries = draft.violations.into_iter().enumerate();
    let violations: Result<Vec<_>, _> = entries.map(|(at, draft)| entry(at, draft)).collect();
    violations.map(|violations| IntegrityViolationsRequest { violations })
}

fn entry(at: usize, draft: IntegrityViolationDraft) -> Result<IntegrityViolation, Refusal> {
    let kind = Kind::parse(&draft.kind).ok_or(Refusal::Kind(at))?;
    let detected_by = DetectedBy::parse(&draft.detected_by).ok_or(Refusal::DetectedBy(at))?;
    if draft.artifact_id.as_str().trim().is_empty() {
        return Err(Refusal::ArtifactId(at));
    }
    let finding = match kind {
        Kind::BinaryChecksum => Finding::BinaryChecksum(digests(at, &draft)?),
        Kind::HookChecksum => Finding::HookChecksum(digests(at, &draft)?),
        Kind::SshHostKey => Finding::SshHostKey(fingerprints(at, &draft)?),
    };
    Ok(IntegrityViolation { finding, detected_by, artifact_id: draft.artifact_id })
}

fn digests(at: usize, draft: &IntegrityViolationDraft) -> Result<Seen<Checksum>, Refusal> {
    let [observed, expected] = [&draft.observed_checksum, &draft.expected_checksum];
    if !(draft.observed_fingerprint.is_empty() && draft.expected_fingerprint.is_empty()) {
        return Err(Refusal::Mismatch(at));
    }
    seen(observed, expected, Checksum::parse_base64).map_err(|_| Refusal::Checksum(at))
}

fn fingerprints(at: usize, draft: &IntegrityViolationDraft) -> Result<Seen<Fingerprint>, Refusal> {
    let [observed, expected] = [&draft.observed_fingerprint, &draft.expected_fingerprint];
    if !(draft.observed_checksum.is_empty() && draft.expected_checksum.is_empty()) {
        return Err(Refusal::Mismatch(at));
    }
    seen(observed, expected, Fingerprint::parse).map_err(|_| Refusal::Fingerprint(at))
}

fn seen<T>(
    observed: &str,
    expected: &str,
    parse: impl Fn(&str) -> Result<T, Malformed>,
) -> Result<Seen<T>, Malformed> {
    let expected = if expected.is_empty() { None } else { Some(parse(expected)?) };
    Ok(Seen { observed: parse(observed)?, expected })
}

/// The answer to a batch that passed.
pub fn response(now: Now, batch: &IntegrityViolationsRequest) -> IntegrityViolationsResponse {
    IntegrityViolationsResponse {
        accepted_at: now.wall.into(),
        violation_count: batch.violations.len() as u64,
    }
}
