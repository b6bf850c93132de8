//! The capability manifest against its golden texts, and the grammar of fingerprints.

use meshward_core::wire::{
    capabilities::{
        CapabilityManifestDraft, CapabilityManifestRequest, CapabilityManifestResponse,
        DeclaredHook, DeclaredHookDraft,
    },
    grammar::{Checksum, Fingerprint, Malformed},
    json::decode_strict,
};
use proptest::prelude::*;
use regex_lite::Regex;

use crate::{
    golden::{at, both, read, written},
    support::seeds_in,
};

const DIGEST_A: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
const DIGEST_B: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const KEY: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";
const FINGERPRINT: &str = "^SHA256:[A-Za-z0-9+/]+={0,2}$";

fn digest(text: &str) -> Checksum {
    Checksum::parse_base64(text).expect("a digest")
}

#[test]
fn what_the_agent_writes_is_the_golden_manifest() {
    let hook = |name: &str, text: &str| DeclaredHook { name: name.into(), checksum: digest(text) };
    let full = CapabilityManifestRequest {
        binary_version: "1.4.0".into(),
        binary_checksum: digest(DIGEST_A),
        ssh_host_key_fingerprint: Fingerprint::parse(KEY).ok(),
        declared_hooks: vec![hook("backup", DIGEST_B), hook("restart", DIGEST_A)],
    };
    written("capability_manifest.full", &full);
    let required = CapabilityManifestRequest {
        ssh_host_key_fingerprint: None,
        declared_hooks: Vec::new(),
        ..full
    };
    written("capability_manifest.required", &required);
}

#[test]
fn what_the_plane_reads_is_the_golden_manifest() {
    let hook =
        |name: &str, text: &str| DeclaredHookDraft { name: name.into(), checksum: text.into() };
    let full = CapabilityManifestDraft {
        binary_version: "1.4.0".into(),
        binary_checksum: DIGEST_A.into(),
        ssh_host_key_fingerprint: Some(KEY.into()),
        declared_hooks: Some(vec![hook("backup", DIGEST_B), hook("restart", DIGEST_A)]),
    };
    read("capability_manifest.full", &full);
    let required =
        CapabilityManifestDraft { ssh_host_key_fingerprint: None, declared_hooks: None, ..full };
    read("capability_manifest.required", &required);
}

#[test]
fn hooks_beyond_the_most_are_decoded_and_not_kept() {
    for (sent, kept) in [(0, 0), (128, 128), (129, 129), (130, 129), (5000, 129)] {
        let mut hooks = vec![r#"{"name":"a"}"#; sent];
        let text = format!(r#"{{"declared_hooks":[{}]}}"#, hooks.join(","));
        let draft: CapabilityManifestDraft = decode_strict(text.as_bytes()).unwrap();
        assert_eq!(draft.declared_hooks.unwrap().len(), kept, "{sent}");
        hooks.push(r#"{"x":1}"#);
        let text = format!(r#"{{"declared_hooks":[{}]}}"#, hooks.join(","));
        let fault = decode_strict::<CapabilityManifestDraft>(text.as_bytes());
        assert_eq!(fault.unwrap_err().path(), format!("declared_hooks[{sent}].x"));
    }
}

#[test]
fn the_answer_to_a_manifest_has_its_three_members() {
    let changed = CapabilityManifestResponse {
        accepted_at: at("2026-01-15T10:30:00.5Z"),
        fields_changed: vec!["binary_version".into(), "ssh_host_key_fingerprint".into()],
        host_key_changed: true,
    };
    both("capability_manifest_response.changed", &changed);
    let unchanged = CapabilityManifestResponse {
        accepted_at: at("2026-01-15T10:30:00Z"),
        fields_changed: Vec::new(),
        host_key_changed: false,
    };
    both("capability_manifest_response.unchanged", &unchanged);
}

fn judged(text: &str) {
    let expected = Regex::new(FINGERPRINT).expect("a pattern").is_match(text);
    let parsed = Fingerprint::parse(text);
    assert_eq!(parsed.is_ok(), expected, "{text:?}");
    if let Ok(fingerprint) = parsed {
        assert_eq!((fingerprint.as_str(), fingerprint.to_string().as_str()), (text, text));
    }
}

proptest! {
    #![proptest_config(seeds_in("fingerprint"))]
    #[test]
    fn a_fingerprint_is_what_its_pattern_says(
        text in "(SHA256:|sha256:|SHA1:|)[A-Za-z0-9+/]{0,3}[-_ =\\n\\x00é]{0,2}[A-Za-z0-9=]{0,3}={0,3}",
    ) {
        judged(&text);
    }
}

#[test]
fn a_fingerprint_may_be_of_any_length_and_padded_up_to_twice() {
    for text in [
        KEY,
        "SHA256:a",
        "SHA256:a=",
        "SHA256:a==",
        "SHA256:a===",
        "SHA256:",
        "SHA256:=",
        "SHA256:a=a",
        "SHA256:a\n",
        " SHA256:a",
        "SHA256:SHA256:a",
        "sha256:a",
        "SHA256a",
        "",
    ] {
        judged(text);
    }
    let refused = Fingerprint::parse("CANARY").unwrap_err();
    assert_eq!(refused, Malformed::Fingerprint);
    assert!(!refused.to_string().contains("CANARY"));
}

#[test]
fn a_digest_of_the_manifest_is_base64_and_never_hex() {
    assert_eq!(Checksum::parse_base64(DIGEST_A), Checksum::parse(DIGEST_A));
    let hex = "0f".repeat(32);
    assert!(Checksum::parse(&hex).is_ok());
    for text in [hex.as_str(), "", &DIGEST_A[1..], &DIGEST_A.replace('=', ""), "CANARY"] {
        let refused = Checksum::parse_base64(text).unwrap_err();
        assert_eq!(refused, Malformed::Base64Key, "{text}");
    }
}
