//! Bytes to types: the bearer, and every request body of the plane through its own door beside `serde_json`.
//!
//! The two of a pair run in one process; only their ratio means something on another machine. `serde_json` reads the
//! same text into the same type, or into the type as it is usually declared where a member is kept as its text. It
//! checks less: equal members, arrays in place of objects, and members that it does not know pass.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use meshward_core::{
    plane::{default_snapshot::default_snapshot, site},
    wire::{
        bearer::Credential,
        capabilities::CapabilityManifestDraft,
        endpoint::{ConfigureEndpoint, EndpointDraft},
        event::{ConfigureEvents, InjectEvent},
        execution::{Callback, Output, Status},
        faults::FaultRule,
        heartbeat::{ConfigureHeartbeat, HeartbeatDraft},
        integrity::IntegrityViolationsDraft,
        journal::Verify,
        json::{decode_strict, decode_tolerant, encode},
        register::RegisterDraft,
        report::ReportRequest,
        rotation::KeyRotateDraft,
        secret::ConfigureSecrets,
        session::Activity,
        snapshot::Snapshot,
        timestamp::Timestamp,
    },
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

const REGISTER: &str = r#"{
  "project_id": "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a0",
  "resource_handle": "edge-frankfurt-17",
  "bootstrap_token": "psb_dev_abc_node_aaaaaaaaaaaaaaaaaaaa",
  "nonce": "3f0c7f0e-7c52-4d1e-9d43-0d8d8c9d7b11",
  "public_key": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
}"#;

const ROTATE: &str = r#"{"new_public_key":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="}"#;

const HEARTBEAT: &str = r#"{"client_now":"2026-01-15T10:30:00.123456789Z",
"binary_checksum":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=","binary_version":"1.4.2",
"nat_summary":{"endpoint":"203.0.113.7:51820","nat_type":"full_cone"}}"#;

const ENDPOINT: &str = r#"{"endpoint":"203.0.113.7:51820","nat_type":"full_cone",
"reported_at":"2026-01-15T10:30:00.123456789Z"}"#;

const CALLBACK: &str =
    r#"{"status":"failed","exit_code":3,"error":"exit status 3","declared_output_bytes":1048576}"#;

const SSH: &str = r#"{"ssh":{"command":"journalctl -u meshward --since today | tail -n 50",
"exit_code":0,"started_at":"2026-01-15T10:30:00.5Z","completed_at":"2026-01-15T10:30:02.25Z"}}"#;

const TCP: &str = r#"{"tcp":{"phase":"session_ended","target_host":"db.internal","target_port":5432,
"bytes_in":1048576,"bytes_out":73,"terminated_by":"idle_timeout"}}"#;

const SECRETS: &str = r#"{"current_version":7,"rate_limit_next":2,"retry_after_seconds":30}"#;

const EVENT: &str = r#"{"id":"evt-0190a8b8","type":"policy_updated","scope":"domain:1",
"payload":{"revision_id":"0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0c1","rules":[1,2,3]}}"#;

const FAULT: &str = r#"{"path":"/v1/nodes/*/heartbeat","method":"POST","times":2,"status":503,
"code":"busy","delay_ms":250}"#;

const VERIFY: &str =
    r#"{"method":"POST","path":"/v1/nodes/*/heartbeat","at_least":3,"within_ms":30000}"#;

/// The registration request as it is usually declared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "decoded and let go")]
struct UsualRegistration {
    project_id: Option<String>,
    resource_handle: Option<String>,
    bootstrap_token: Option<String>,
    nonce: Option<String>,
    public_key: Option<String>,
    requested_resource_id: Option<String>,
}

/// The heartbeat as it is usually declared, with the plane's own time.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "decoded and let go")]
struct UsualHeartbeat {
    client_now: Option<Timestamp>,
    binary_checksum: String,
    binary_version: String,
    nat_summary: Option<Box<RawValue>>,
}

/// The event to broadcast as it is usually declared.
#[derive(Deserialize)]
#[expect(dead_code, reason = "decoded and let go")]
struct UsualEvent {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    scope: String,
    payload: Option<Box<RawValue>>,
}

fn bearer(c: &mut Criterion) {
    let served = Credential { node: site::NODE_UUID, key: site::node_secret_key() };
    let header = format!("Bearer {}", served.envelope(site::BEARER_ENV).expose());
    let mut group = c.benchmark_group("bearer");
    group.bench_function("parse", |b| b.iter(|| Credential::parse(black_box(&header))));
    group.bench_function("parse and compare", |b| {
        b.iter(|| Credential::parse(black_box(&header)).is_ok_and(|claimed| claimed == served))
    });
    group.finish();
}

/// Decodes a body and lets it go; insists on success, so that no bench measures a refusal.
type Reader = fn(&[u8]);

fn strict<T: DeserializeOwned>(body: &[u8]) {
    black_box(decode_strict::<T>(body).expect("the body is good"));
}

fn tolerant<T: DeserializeOwned>(body: &[u8]) {
    black_box(decode_tolerant::<T>(body).expect("the body is good"));
}

fn usual<T: DeserializeOwned>(body: &[u8]) {
    black_box(serde_json::from_slice::<T>(body).expect("the body is good"));
}

/// A registration's members become texts one by one, in the order of their checks.
fn registration(body: &[u8]) {
    let draft: RegisterDraft = decode_tolerant(body).expect("the body is good");
    let texts = [
        draft.project_id.text(),
        draft.resource_handle.text(),
        draft.bootstrap_token.text(),
        draft.nonce.text(),
        draft.public_key.text(),
        draft.requested_resource_id.text(),
    ];
    assert!(black_box(texts).iter().all(Result::is_ok), "the members are texts");
}

/// One request body, how the plane reads it, and how it is usually read.
struct Row {
    name: &'static str,
    body: Vec<u8>,
    door: Reader,
    usual: Reader,
}

impl Row {
    fn new(name: &'static str, body: impl Into<Vec<u8>>, door: Reader, usual: Reader) -> Self {
        Self { name, body: body.into(), door, usual }
    }

    /// A body that both decoders read into the same type.
    fn strict<T: DeserializeOwned>(name: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(name, body, strict::<T>, usual::<T>)
    }

    /// As [`Row::strict`], where the plane passes over members that it does not know.
    fn tolerant<T: DeserializeOwned>(name: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(name, body, tolerant::<T>, usual::<T>)
    }
}

/// So many elements between these texts.
fn list(before: &str, element: impl Fn(usize) -> String, count: usize, behind: &str) -> String {
    let elements: Vec<String> = (0..count).map(element).collect();
    format!("{before}{}{behind}", elements.join(","))
}

fn manifest() -> String {
    let before = r#"{"binary_version":"1.4.2","binary_checksum":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
"declared_hooks":["#;
    let hook = |at| {
        format!(
            r#"{{"name":"hook-{at}","checksum":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="}}"#
        )
    };
    list(before, hook, 16, "]}")
}

fn violations() -> String {
    let violation = |at| {
        format!(
            r#"{{"kind":"hook_checksum","detected_by":"inotify","artifact_id":"hook-{at}",
"observed_checksum":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
"expected_checksum":"AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="}}"#
        )
    };
    list(r#"{"violations":["#, violation, 16, "]}")
}

/// The snapshot of the start with many peers, and without the one block that is kept as its text.
fn snapshot() -> Vec<u8> {
    let mut snapshot = Snapshot { reachability: None, ..default_snapshot() };
    snapshot.peers = snapshot.peers.into_iter().cycle().take(100).collect();
    encode(&snapshot)
}

/// A callback near its cap.
fn long_callback() -> Vec<u8> {
    let output = Output { inline: "QUJD".repeat(5461), ..Output::default() };
    encode(&Callback { output: Some(output), ..Callback::of(Status::Succeeded) })
}

fn report() -> Vec<u8> {
    let value = Some(r#"{"disk":"ok","load":[0.5,0.25]}"#.repeat(32));
    encode(&ReportRequest { value, workload_tag: "agent".into() })
}

fn contract() -> Vec<Row> {
    vec![
        Row::new("registration", REGISTER, registration, usual::<UsualRegistration>),
        Row::strict::<KeyRotateDraft>("rotation", ROTATE),
        Row::new("heartbeat", HEARTBEAT, strict::<HeartbeatDraft>, usual::<UsualHeartbeat>),
        Row::strict::<CapabilityManifestDraft>("manifest of 16 hooks", manifest()),
        Row::strict::<EndpointDraft>("endpoint", ENDPOINT),
        Row::strict::<Callback>("callback", CALLBACK),
        Row::strict::<Callback>("callback with 16 KiB of output", long_callback()),
        Row::strict::<Activity>("ssh row", SSH),
        Row::strict::<Activity>("tcp row", TCP),
        Row::strict::<IntegrityViolationsDraft>("16 violations", violations()),
        Row::strict::<ReportRequest>("report", report()),
    ]
}

fn steering() -> Vec<Row> {
    let mode = r#"{"mode":"descoped"}"#;
    let reconcile = r#"{"reconcile":true,"rotate_keys":false}"#;
    vec![
        Row::strict::<Snapshot>("snapshot of 100 peers", snapshot()),
        Row::tolerant::<ConfigureHeartbeat>("heartbeat to come", reconcile),
        Row::tolerant::<ConfigureEndpoint>("endpoint to come", r#"{"ttl_seconds":30}"#),
        Row::strict::<ConfigureEvents>("mode of events", mode),
        Row::strict::<ConfigureSecrets>("secrets to come", SECRETS),
        Row::new("event", EVENT, tolerant::<InjectEvent>, usual::<UsualEvent>),
        Row::strict::<FaultRule>("fault", FAULT),
        Row::strict::<Verify>("verification", VERIFY),
    ]
}

fn bodies(c: &mut Criterion) {
    for Row { name, body, door, usual } in contract().into_iter().chain(steering()) {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function("door", |b| b.iter(|| door(black_box(&body))));
        group.bench_function("serde_json", |b| b.iter(|| usual(black_box(&body))));
        group.finish();
    }
}

criterion_group!(benches, bearer, bodies);
criterion_main!(benches);
