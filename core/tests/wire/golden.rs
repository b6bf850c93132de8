//! Golden texts, written by hand from the specification, against the types in both directions.
//!
//! Both ends share each type, so a misspelled member would agree with itself; these texts would not.

use std::{fmt::Debug, fs, ops::Range};

use meshward_core::{
    secret::Secret,
    wire::{
        control::{Bearer, Health, HealthCheck, Info},
        endpoint::NatType,
        execution::{Callback, CallbackResponse, Output, Status},
        grammar::{Checksum, Name, PublicKey, ReachableAddr, Uuid},
        heartbeat::{
            ConfigureHeartbeat, HeartbeatDraft, HeartbeatRequest, HeartbeatResponse, NatSummary,
        },
        json::{Raw, decode_strict, decode_tolerant, encode},
        problem::{Problem, ProblemSeen},
        register::{RegisterDraft, RegisterPeer, RegisterRequest, RegisterResponse},
        rotation::{KeyRotateDraft, KeyRotateRequest, Receipt},
        timestamp::Timestamp,
    },
};
use serde::{Serialize, de::DeserializeOwned};

pub(crate) const NODE: &str = "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3";
pub(crate) const SIGNING: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const KEY_A: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
const KEY_B: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A part of a compact JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Name,
    Scalar,
}

/// The names and scalars of a compact JSON text, with where they stand.
pub(crate) fn parts(text: &str) -> Vec<(Part, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if bytes[at] == b'"' {
            at += 1;
            while bytes[at] != b'"' {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            at += 1;
            let name = bytes.get(at) == Some(&b':');
            found.push((if name { Part::Name } else { Part::Scalar }, start..at));
        } else if b"{}[],:".contains(&bytes[at]) {
            at += 1;
        } else {
            at += bytes[at..].iter().take_while(|byte| !b"{}[],:\"".contains(byte)).count();
            found.push((Part::Scalar, start..at));
        }
    }
    found
}

/// A golden text without the white space that makes it readable.
pub(crate) fn golden(name: &str) -> String {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut compact = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for character in text.chars() {
        if quoted || !character.is_ascii_whitespace() {
            compact.push(character);
        }
        quoted ^= character == '"' && !escaped;
        escaped = quoted && character == '\\' && !escaped;
    }
    compact
}

/// The value is written as the golden text.
pub(crate) fn written<T: Serialize>(name: &str, value: &T) {
    assert_eq!(String::from_utf8_lossy(&encode(value)), golden(name), "{name}");
}

/// The golden text is read as the value, and each of its member names is needed for that.
pub(crate) fn read<T: DeserializeOwned + PartialEq + Debug>(name: &str, value: &T) {
    let text = golden(name);
    assert_eq!(decode_strict::<T>(text.as_bytes()).as_ref(), Ok(value), "{name}");
    assert_eq!(decode_tolerant::<T>(text.as_bytes()).as_ref(), Ok(value), "{name}");
    for (_, range) in parts(&text).into_iter().filter(|(part, _)| *part == Part::Name) {
        let (before, after) = text.split_at(range.end - 1);
        let misspelled = decode_strict::<T>(format!("{before}~{after}").as_bytes());
        assert_ne!(misspelled.as_ref(), Ok(value), "{name}: {} is not needed", &text[range]);
    }
}

pub(crate) fn both<T: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, value: &T) {
    written(name, value);
    read(name, value);
}

pub(crate) fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("a timestamp")
}

pub(crate) fn raw(text: &str) -> Raw {
    Raw::parse(text).expect("JSON")
}

fn key(text: &str) -> PublicKey {
    PublicKey::parse(text).expect("a key")
}

#[test]
fn health() {
    let check = HealthCheck { name: "mock".into(), status: "ok".into(), detail: String::new() };
    both("health.ok", &Health { status: "ok".into(), checks: vec![check] });
}

#[test]
fn problem() {
    let coded = Problem {
        kind: "https://meshward.example/problems/token_consumed".into(),
        title: "Forbidden",
        status: 403,
        detail: "the bootstrap token has been used".into(),
        instance: "/v1/register".into(),
        correlation_id: "0123456789abcdef0123456789abcdef".into(),
        code: Some("token_consumed".into()),
    };
    written("problem.code", &coded);
    let bare = Problem {
        kind: "about:blank".into(),
        title: "Unprocessable Content",
        status: 422,
        detail: "nonce is required".into(),
        code: None,
        ..coded.clone()
    };
    written("problem.bare", &bare);
    for (name, problem) in [("problem.code", coded), ("problem.bare", bare)] {
        let seen: ProblemSeen = decode_tolerant(golden(name).as_bytes()).unwrap();
        let expected = ProblemSeen {
            detail: problem.detail,
            correlation_id: problem.correlation_id,
            code: problem.code,
        };
        assert_eq!(seen, expected);
    }
}

#[test]
fn register_request() {
    let full = RegisterRequest {
        project_id: "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a0".into(),
        resource_handle: "web-1".into(),
        bootstrap_token: Secret::new("psb_prod_abc27_node_abcdefghijklmnopqrst".into()),
        nonce: Uuid::parse("6f1c2c1e-6d0b-4c2a-9a53-0d2f4f3c9b11").unwrap(),
        public_key: key(KEY_A),
        requested_resource_id: Some("res-7".into()),
    };
    written("register_request.full", &full);
    written("register_request.required", &RegisterRequest { requested_resource_id: None, ..full });
    let draft: RegisterDraft = decode_strict(golden("register_request.full").as_bytes()).unwrap();
    read("register_request.full", &draft);
    for (member, expected) in [
        (&draft.project_id, "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a0"),
        (&draft.resource_handle, "web-1"),
        (&draft.bootstrap_token, "psb_prod_abc27_node_abcdefghijklmnopqrst"),
        (&draft.nonce, "6f1c2c1e-6d0b-4c2a-9a53-0d2f4f3c9b11"),
        (&draft.public_key, KEY_A),
        (&draft.requested_resource_id, "res-7"),
    ] {
        assert_eq!(member.text(), Ok(Some(expected.to_owned())));
    }
    let required: RegisterDraft =
        decode_strict(golden("register_request.required").as_bytes()).unwrap();
    assert_eq!(required.requested_resource_id.text(), Ok(None));
}

#[test]
fn register_response() {
    let peer = |node: &str, mesh_ip: &str, key: &str, endpoint: &str| RegisterPeer {
        node_id: Name(node.into()),
        mesh_ip: mesh_ip.into(),
        public_key: key.into(),
        fallback_endpoint: endpoint.into(),
    };
    let response = RegisterResponse {
        node_id: Name(NODE.into()),
        mesh_ip: "10.99.0.1".into(),
        signing_public_key: SIGNING.into(),
        signing_key_id: "did:web:meshward.example#key-e2e".into(),
        nsk: Secret::new("AAECAwQFBgcICQoLDA0OD4CRorPE1eb3+Onay7ytno8=".into()),
        peer_snapshot: vec![
            peer("0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0b1", "10.99.0.2", KEY_A, "203.0.113.1:51820"),
            peer("0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0b2", "10.99.0.3", KEY_B, ""),
        ],
        domain_mesh_cidr: "10.99.0.0/24".into(),
    };
    both("register_response.created", &response);
}

#[test]
fn heartbeat() {
    let checksum =
        Checksum::parse("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
            .unwrap();
    let undiscovered = HeartbeatRequest {
        client_now: at("2026-01-15T10:30:00.123456789Z"),
        binary_checksum: checksum,
        binary_version: "0.1.0".into(),
        nat_summary: NatSummary::default(),
    };
    written("heartbeat_request.undiscovered", &undiscovered);
    let summary = NatSummary {
        endpoint: ReachableAddr::parse("198.51.100.7:40000").ok(),
        nat_type: Some(NatType::PortRestricted),
    };
    let discovered = HeartbeatRequest {
        client_now: at("2026-01-15T10:30:00Z"),
        nat_summary: summary,
        ..undiscovered.clone()
    };
    written("heartbeat_request.discovered", &discovered);
    for (name, request, nat) in [
        ("heartbeat_request.undiscovered", undiscovered, "{}"),
        (
            "heartbeat_request.discovered",
            discovered,
            r#"{"endpoint":"198.51.100.7:40000","nat_type":"port_restricted"}"#,
        ),
    ] {
        let draft = HeartbeatDraft {
            client_now: Some(request.client_now),
            binary_checksum: request.binary_checksum.to_string(),
            binary_version: request.binary_version,
            nat_summary: Some(raw(nat)),
        };
        read(name, &draft);
    }
    let response = HeartbeatResponse {
        accepted_at: at("2026-01-15T10:30:00.5Z"),
        reconcile: true,
        rotate_keys: false,
    };
    both("heartbeat_response.default", &response);
    both("configure_heartbeat.armed", &ConfigureHeartbeat { reconcile: false, rotate_keys: true });
}

#[test]
fn key_rotation() {
    written("key_rotate_request.valid", &KeyRotateRequest { new_public_key: key(KEY_B) });
    read("key_rotate_request.valid", &KeyRotateDraft { new_public_key: KEY_B.into() });
    both("key_rotate_response.first", &receipt());
}

pub(crate) fn receipt() -> Receipt {
    Receipt {
        rotation_id: "e2e-rotation-0001".into(),
        kid: "did:web:meshward.example#psk-2026-04".into(),
        wrap_key_version: 1,
    }
}

#[test]
fn callback() {
    let output = |inline: &str| Some(Output { inline: inline.into(), ..Output::default() });
    both("callback.ack", &Callback::of(Status::Ack));
    both("callback.started", &Callback::of(Status::Started));
    let declaring =
        Callback { declared_output_bytes: Some(1_048_576), ..Callback::of(Status::Started) };
    both("callback.declaring", &declaring);
    let succeeded = Callback { exit_code: Some(0), ..Callback::of(Status::Succeeded) };
    both(
        "callback.succeeded_inline",
        &Callback { output: output("aGVsbG8K"), ..succeeded.clone() },
    );
    let uploaded = Output {
        inline: String::new(),
        object_key: "exec-output/exec-1".into(),
        sha256: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03".into(),
    };
    both("callback.succeeded_uploaded", &Callback { output: Some(uploaded), ..succeeded });
    let failed = Callback {
        exit_code: Some(-1),
        error: Some("timed out after 10 s".into()),
        output: output("cGFydA=="),
        ..Callback::of(Status::Failed)
    };
    both("callback.failed", &failed);
    let cancelled = Callback {
        error: Some("the agent is shutting down".into()),
        ..Callback::of(Status::Cancelled)
    };
    both("callback.cancelled", &cancelled);
}

#[test]
fn callback_response() {
    both(
        "callback_response.bare",
        &CallbackResponse { status: Status::Ack, output_upload_url: None },
    );
    let url = "http://127.0.0.1:8080/exec-output/exec-1?token=exec-upload-0001";
    let minted = CallbackResponse { status: Status::Started, output_upload_url: Some(url.into()) };
    both("callback_response.upload", &minted);
}

#[test]
fn every_status_has_its_spelling() {
    for status in Status::ALL {
        assert_eq!(encode(&status), format!("\"{}\"", status.as_str()).as_bytes());
        assert_eq!(decode_strict::<Status>(&encode(&status)), Ok(status));
        assert_eq!(status.is_terminal(), !matches!(status, Status::Ack | Status::Started));
    }
}

#[test]
fn controls() {
    let bearer = "nsk_e2e_AZCouKDAegqKCqCgoKCgowABAgMEBQYHCAkKCwwNDg-AkaKzxNXm9_jp2su8rZ6P";
    written("test_bearer.served", &Bearer { bearer: Secret::new(bearer.into()) });
    let info = Info {
        addr: "127.0.0.1:8080",
        tls_addr: "127.0.0.1:8443",
        pid: 7,
        version: "0.1.0",
        started_at: "2026-01-15T10:30:00Z",
    };
    written("test_info.served", &info);
}
