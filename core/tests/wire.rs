//! Every type of the wire against bodies written by hand from the specification: both ways, byte for byte but for
//! white space between tokens, so that a misspelled, missing or additional member shows.

use std::{borrow::Cow, fmt::Debug, path::Path};

use meshward_core::{
    secret::Secret,
    wire::{
        control::Health,
        execution::{Callback, CallbackResponse, Execution, Output, Status},
        grammar::{Checksum, PublicKey, Uuid},
        heartbeat::{HeartbeatDraft, HeartbeatRequest, HeartbeatResponse, NatSummary},
        identity::IdentityFile,
        json::{decode_strict, decode_tolerant, encode},
        local,
        problem::{Problem, ProblemSeen, title},
        register::{RegisterDraft, RegisterRequest, RegisterResponse},
        rotation::{KeyRotateDraft, KeyRotateRequest, Receipt},
        snapshot::{Projection, Snapshot},
        timestamp::Timestamp,
    },
};
use serde::{Serialize, de::DeserializeOwned};

/// A golden body as the contract writes it: compact.
fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    compact(&std::fs::read_to_string(path.with_added_extension("json")).expect(name))
}

/// Drops white space between tokens.
fn compact(text: &str) -> String {
    let mut in_string = false;
    let mut is_escaped = false;
    text.chars()
        .filter(|character| {
            let is_quote = *character == '"' && !is_escaped;
            is_escaped = *character == '\\' && !is_escaped;
            in_string ^= is_quote;
            in_string || !character.is_whitespace()
        })
        .collect()
}

fn text_of<T: Serialize>(value: &T) -> String {
    String::from_utf8(encode(value)).expect("JSON is UTF-8")
}

/// Reads a golden body through both doors, and writes it again.
#[track_caller]
fn both_ways<T: DeserializeOwned + Serialize + PartialEq + Debug>(name: &str) -> T {
    let text = golden(name);
    let value: T = decode_strict(text.as_bytes()).expect(name);
    assert_eq!(decode_tolerant::<T>(text.as_bytes()).expect(name), value, "{name}");
    assert_eq!(text_of(&value), text, "{name}");
    value
}

fn key(byte: u8) -> PublicKey {
    PublicKey::from_bytes([byte; 32]).expect("not zero")
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).expect(text)
}

fn problem(kind: &str, status: u16, detail: &str) -> Problem {
    Problem {
        kind: kind.into(),
        title: title(status),
        status,
        detail: detail.into(),
        instance: "/v1/register".into(),
        correlation_id: "0123456789abcdef0123456789abcdef".into(),
        code: None,
    }
}

#[test]
fn a_problem_with_and_without_code() {
    let detail = "client_now is 61 s from the time of the server";
    let coded = Problem {
        instance: "/v1/nodes/n1/heartbeat".into(),
        code: Some("clock_skew".into()),
        ..problem("https://problems.example/clock_skew", 400, detail)
    };
    assert_eq!(text_of(&coded), golden("problem.with_code"));
    assert_eq!(
        text_of(&problem("about:blank", 422, "nonce is required")),
        golden("problem.without_code")
    );
    for written in [coded, problem("about:blank", 422, "nonce is required")] {
        let seen: ProblemSeen = decode_tolerant(&encode(&written)).expect("a problem");
        assert_eq!(
            (seen.code, seen.detail, seen.correlation_id),
            (written.code, written.detail, written.correlation_id)
        );
    }
}

#[test]
fn the_health_status() {
    let health: Health = both_ways("health.healthy");
    let check = &health.checks[1];
    assert_eq!((&*check.name, &*check.status, &*check.detail), ("clock", "degraded", "2 s slow"));
    both_ways::<Health>("health.without_checks");
}

#[test]
fn the_registration_request() {
    let token = "psb_e2e_abc234_node_abcdefghijklmnopqrst";
    let mut request = RegisterRequest {
        project_id: "11111111-1111-4111-8111-111111111111".into(),
        resource_handle: "edge-1".into(),
        bootstrap_token: Secret::new(token.into()),
        nonce: Uuid::parse("22222222-2222-4222-8222-222222222222").expect("a UUID"),
        public_key: key(1),
        requested_resource_id: Some("res-9".into()),
    };
    let text = golden("register_request.full");
    assert_eq!(text_of(&request), text);
    let draft: RegisterDraft = decode_strict(text.as_bytes()).expect("a draft");
    let members = [
        (draft.project_id, "11111111-1111-4111-8111-111111111111"),
        (draft.resource_handle, "edge-1"),
        (draft.bootstrap_token, token),
        (draft.nonce, "22222222-2222-4222-8222-222222222222"),
        (draft.public_key, "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="),
        (draft.requested_resource_id, "res-9"),
    ];
    for (member, expected) in members {
        assert_eq!(member.text(), Ok(Some(expected.into())));
    }
    request.requested_resource_id = None;
    let text = golden("register_request.without_resource_id");
    assert_eq!(text_of(&request), text);
    let draft: RegisterDraft = decode_strict(text.as_bytes()).expect("a draft");
    assert_eq!(draft.requested_resource_id.text(), Ok(None));
}

#[test]
fn the_registration_answer() {
    let answer: RegisterResponse = both_ways("register_response.two_peers");
    assert_eq!(answer.nsk.expose(), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    assert_eq!(answer.peer_snapshot[0].fallback_endpoint, "203.0.113.7:51820");
    assert_eq!(answer.peer_snapshot[1].fallback_endpoint, "");
}

#[test]
fn the_heartbeat_request_before_and_after_discovery() {
    let mut request = HeartbeatRequest {
        client_now: time("2026-01-15T10:30:00Z"),
        binary_checksum: Checksum::from_bytes([1; 32]),
        binary_version: "1.2.3".into(),
        nat_summary: NatSummary::default(),
    };
    assert_eq!(text_of(&request), golden("heartbeat_request.before_discovery"));
    request.client_now = time("2026-01-15T10:30:00.25Z");
    request.nat_summary = NatSummary {
        endpoint: Some("203.0.113.7:51820".into()),
        nat_type: Some("port_restricted".into()),
    };
    let text = golden("heartbeat_request.after_discovery");
    assert_eq!(text_of(&request), text);
    let draft: HeartbeatDraft = decode_strict(text.as_bytes()).expect("a draft");
    assert_eq!(draft.client_now, Some(request.client_now));
    assert_eq!(Checksum::parse(&draft.binary_checksum), Ok(request.binary_checksum));
    assert_eq!(draft.binary_version, request.binary_version);
    let nat = draft.nat_summary.expect("present");
    assert_eq!(nat.text(), r#"{"endpoint":"203.0.113.7:51820","nat_type":"port_restricted"}"#);
}

#[test]
fn the_heartbeat_answer() {
    let answer: HeartbeatResponse = both_ways("heartbeat_response.default");
    assert!(answer.reconcile && !answer.rotate_keys);
}

#[test]
fn the_rotation_request_and_its_receipt() {
    let text = golden("key_rotate_request.valid");
    assert_eq!(text_of(&KeyRotateRequest { new_public_key: key(2) }), text);
    let draft: KeyRotateDraft = decode_strict(text.as_bytes()).expect("a draft");
    assert_eq!(PublicKey::parse(&draft.new_public_key), Ok(key(2)));
    let receipt: Receipt = both_ways("receipt.first");
    assert_eq!((&*receipt.rotation_id, &*receipt.kid), ("e2e-rotation-0001", "e2e-wrap-key"));
    assert_eq!(receipt.wrap_key_version, 1);
}

#[test]
fn the_snapshot_with_every_block() {
    let snapshot: Snapshot = both_ways("snapshot.full");
    let projection = Projection {
        peers: &snapshot.peers,
        reachability: &snapshot.reachability,
        policy: &snapshot.policy,
        bridge: &snapshot.bridge,
        state: &snapshot.state,
        reports: &snapshot.reports,
        executions: snapshot.executions.iter().map(Cow::Borrowed).collect(),
        sessions: snapshot.sessions.iter().flatten().collect(),
    };
    assert_eq!(text_of(&projection), golden("snapshot.full"));
}

#[test]
fn the_snapshot_with_nothing_populated() {
    assert_eq!(both_ways::<Snapshot>("snapshot.nulls"), Snapshot::default());
    let snapshot: Snapshot = both_ways("snapshot.null_bridge_blocks");
    assert_eq!(snapshot.sessions, Some(Vec::new()));
    assert!(snapshot.bridge.is_some_and(|bridge| bridge.relay.is_none()));
}

#[test]
fn a_snapshot_member_that_is_absent_or_null_is_empty() {
    assert_eq!(decode_strict(b"{}"), Ok(Snapshot::default()));
    let nulls = r#"{"peers":null,"reachability":null,"executions":null,"sessions":null}"#;
    assert_eq!(decode_strict(nulls.as_bytes()), Ok(Snapshot::default()));
}

#[test]
fn the_execution_entry_keeps_its_parameters_and_times_as_written() {
    let entry: Execution = both_ways("execution.parameters");
    let parameters = entry.parameters.expect("present");
    assert_eq!(
        parameters.text(),
        r#"{"offset":9007199254740993,"ratio":1.50,"nested":{"z":[1,null],"a":"x y"}}"#
    );
    let entry: Execution = both_ways("execution.null_parameters");
    assert_eq!((entry.kind.as_str(), entry.parameters), ("hook", None));
}

#[test]
fn the_callback_of_each_kind() {
    let inline = Output { inline: "aGVsbG8=".into(), ..Output::default() };
    let uploaded = Output {
        object_key: "exec-output/exec-1".into(),
        sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824".into(),
        ..Output::default()
    };
    let of = Callback::of;
    let succeeded =
        |output| Callback { exit_code: Some(0), output: Some(output), ..of(Status::Succeeded) };
    for (name, expected) in [
        ("callback.ack", of(Status::Ack)),
        ("callback.started", of(Status::Started)),
        (
            "callback.declaring",
            Callback { declared_output_bytes: Some(70_000), ..of(Status::Started) },
        ),
        ("callback.inline", succeeded(inline)),
        ("callback.object_key", succeeded(uploaded)),
        (
            "callback.failed",
            Callback {
                exit_code: Some(-1),
                error: Some("no such action".into()),
                ..of(Status::Failed)
            },
        ),
        (
            "callback.cancelled",
            Callback { error: Some("the deadline passed".into()), ..of(Status::Cancelled) },
        ),
    ] {
        assert_eq!(both_ways::<Callback>(name), expected, "{name}");
    }
}

#[test]
fn the_callback_status_set_is_closed_and_spelled_one_way() {
    for status in Status::ALL {
        let text = format!(r#"{{"status":"{}"}}"#, status.as_str());
        assert_eq!(decode_strict(text.as_bytes()), Ok(Callback::of(status)));
        assert_eq!(text_of(&Callback::of(status)), text);
    }
    for other in ["pending", "timeout", "", "ACK", "Started"] {
        let text = format!(r#"{{"status":"{other}"}}"#);
        assert!(decode_tolerant::<Callback>(text.as_bytes()).is_err(), "{other}");
    }
}

#[test]
fn the_callback_answer_with_and_without_url() {
    let answer: CallbackResponse = both_ways("callback_response.with_url");
    assert!(answer.output_upload_url.is_some_and(|url| url.ends_with("?token=abc")));
    let answer: CallbackResponse = both_ways("callback_response.without_url");
    assert_eq!((answer.status, answer.output_upload_url), (Status::Succeeded, None));
}

#[test]
fn the_identity_file_new_and_rotated() {
    assert_eq!(both_ways::<IdentityFile>("identity.new").last_rotation, None);
    let rotated: IdentityFile = both_ways("identity.rotated");
    assert_eq!(rotated.last_rotation.as_ref().map(|receipt| receipt.wrap_key_version), Some(1));
    let text = rotated.encode();
    assert_eq!(text, format!("{}\n", golden("identity.rotated")).into_bytes());
    assert_eq!(IdentityFile::decode(&text), Ok(rotated));
}

#[test]
fn an_older_identity_file_loads_with_empty_values() {
    let older = IdentityFile::decode(golden("identity.older").as_bytes()).expect("loads");
    assert_eq!(older, both_ways::<IdentityFile>("identity.older_rewritten"));
}

#[test]
fn the_bodies_of_the_local_api() {
    both_ways::<local::StateSummary>("local_summary.filled");
    assert_eq!(
        both_ways::<local::StateSummary>("local_summary.empty"),
        local::StateSummary::default()
    );
    let entry: local::DataEntry = both_ways("local_data_entry.pulled");
    assert_eq!(entry.content_type, local::PULLED_CONTENT_TYPE);
    assert_eq!(entry.payload.text(), r#""{\"a\": 1}""#);
    both_ways::<local::Metadatum>("local_metadatum.one");
    both_ways::<local::LocalError>("local_error.one");
    both_ways::<local::Status>("local_status.ready");
    both_ways::<local::Status>("local_status.unregistered");
}
