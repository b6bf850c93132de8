//! Integrity violations against their golden texts.

use meshward_core::wire::{
    grammar::{Checksum, Fingerprint},
    integrity::{
        DetectedBy, Finding, IntegrityViolation, IntegrityViolationDraft, IntegrityViolationsDraft,
        IntegrityViolationsRequest, IntegrityViolationsResponse, Kind, Seen,
    },
    json::encode,
};

use crate::golden::{at, both, read, written};

const DIGEST_A: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
const DIGEST_B: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const KEY_A: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";
const KEY_B: &str = "SHA256:uNiVztksCsDhcc0u9e8BrrJXVGDcGA==";
const HOST_KEY: &str = "/etc/ssh/ssh_host_ed25519_key.pub";

#[test]
fn what_the_agent_writes_is_the_golden_batch() {
    let digest = |text: &str| Checksum::parse_base64(text).expect("a digest");
    let key = |text: &str| Fingerprint::parse(text).expect("a fingerprint");
    let entry = |finding, detected_by, artifact: &str| IntegrityViolation {
        finding,
        detected_by,
        artifact_id: artifact.into(),
    };
    let binary = Seen { observed: digest(DIGEST_A), expected: Some(digest(DIGEST_B)) };
    let hook = Seen { observed: digest(DIGEST_B), expected: None };
    let replaced = Seen { observed: key(KEY_A), expected: Some(key(KEY_B)) };
    let unknown = Seen { observed: key(KEY_A), expected: None };
    let batch = IntegrityViolationsRequest {
        violations: vec![
            entry(Finding::BinaryChecksum(binary), DetectedBy::StartupScan, "/usr/bin/meshward"),
            entry(Finding::HookChecksum(hook), DetectedBy::Inotify, "backup"),
            entry(Finding::SshHostKey(replaced), DetectedBy::PreDispatch, HOST_KEY),
            entry(Finding::SshHostKey(unknown), DetectedBy::StartupScan, HOST_KEY),
        ],
    };
    written("integrity_violations.kinds", &batch);
}

#[test]
fn what_the_plane_reads_is_the_golden_batch() {
    let entry = |kind: &str, detected_by: &str, artifact: &str| IntegrityViolationDraft {
        kind: kind.into(),
        detected_by: detected_by.into(),
        artifact_id: artifact.into(),
        ..IntegrityViolationDraft::default()
    };
    let batch = IntegrityViolationsDraft {
        violations: vec![
            IntegrityViolationDraft {
                observed_checksum: DIGEST_A.into(),
                expected_checksum: DIGEST_B.into(),
                ..entry("binary_checksum", "startup_scan", "/usr/bin/meshward")
            },
            IntegrityViolationDraft {
                observed_checksum: DIGEST_B.into(),
                ..entry("hook_checksum", "inotify", "backup")
            },
            IntegrityViolationDraft {
                observed_fingerprint: KEY_A.into(),
                expected_fingerprint: KEY_B.into(),
                ..entry("ssh_host_key", "pre_dispatch", HOST_KEY)
            },
            IntegrityViolationDraft {
                observed_fingerprint: KEY_A.into(),
                ..entry("ssh_host_key", "startup_scan", HOST_KEY)
            },
        ],
    };
    read("integrity_violations.kinds", &batch);
}

#[test]
fn the_answer_to_a_batch_has_its_two_members() {
    let response = IntegrityViolationsResponse {
        accepted_at: at("2026-01-15T10:30:00.5Z"),
        violation_count: 4,
    };
    both("integrity_violations_response.four", &response);
}

#[test]
fn every_member_of_the_closed_sets_is_read_as_it_is_written() {
    for kind in [Kind::BinaryChecksum, Kind::HookChecksum, Kind::SshHostKey] {
        assert_eq!(Kind::parse(unquoted(&encode(&kind))), Some(kind));
    }
    for detected_by in [DetectedBy::StartupScan, DetectedBy::Inotify, DetectedBy::PreDispatch] {
        assert_eq!(DetectedBy::parse(unquoted(&encode(&detected_by))), Some(detected_by));
    }
    for text in ["", "BinaryChecksum", "binary_checksum ", "Inotify"] {
        assert_eq!((Kind::parse(text), DetectedBy::parse(text)), (None, None), "{text}");
    }
}

fn unquoted(text: &[u8]) -> &str {
    str::from_utf8(text).expect("text").trim_matches('"')
}
