//! Requests drawn byte by byte, mostly ones that a node or an operator would send.
//!
//! Every choice takes one byte from the front, so that a corpus file can be written by hand:
//! route, method, credential, body, and one byte of detail, in this order.

use crate::{manifest, route, watch};
use arbitrary::{Result, Unstructured};
use meshward_core::{
    plane::{Listener, site},
    secret::Secret,
    time::Now,
    wire::{
        bearer::Credential,
        call::{Call, Sink, Test},
        event::{ConfigureEvents, InjectEvent, Mode},
        execution::{Callback, Execution, Output, Status},
        grammar::{Checksum, Name, PublicKey, Uuid, base64_text},
        heartbeat::{ConfigureHeartbeat, HeartbeatRequest, NatSummary},
        http::{Body, Headers, Method, Request},
        ingest::RECORDS_MAX,
        json::{Raw, encode},
        register::RegisterRequest,
        report::ReportRequest,
        rotation::KeyRotateRequest,
        secret::ConfigureSecrets,
        session::{Activity, K8sActivity, Phase, SshActivity, TcpActivity, TerminatedBy},
        snapshot::{Session, Snapshot},
        timestamp::{Spelled, Timestamp},
    },
};

/// The longest body and path that are drawn raw.
const RAW_MAX: usize = 255;

/// A request, and the route it was drawn for unless its path was drawn raw.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) call: Option<Call>,
    pub(crate) listener: Listener,
    pub(crate) request: Request,
}

/// What earlier answers gave away.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    /// The query of the last upload URL.
    pub(crate) upload_query: Option<String>,
}

pub(crate) fn draw(u: &mut Unstructured<'_>, now: Now, learnt: &Learnt) -> Result<Drawn> {
    let call = route::decode(u.arbitrary()?);
    let method = match u.arbitrary::<u8>()? {
        byte @ 240.. => odd_method(byte),
        _ => call.as_ref().map_or(Method::Get, Call::method),
    };
    let mut headers = credential(u)?;
    if let Some(Call::Events { .. }) = &call {
        headers = cursor(u, headers)?;
    }
    let body = body(u, call.as_ref(), now)?;
    let headers = match &call {
        Some(Call::Ingest { .. }) => batch_head(u, headers)?,
        _ => headers,
    };
    let path = match &call {
        Some(call) => call.path(),
        None => format!("/{}", printable(u)?),
    };
    let query = match &call {
        Some(Call::ExecOutput { .. }) => learnt.upload_query.clone(),
        Some(Call::Secret { .. }) => version(u)?,
        _ => None,
    };
    let listener = match &call {
        Some(Call::Local(_)) => Listener::Tls,
        _ => Listener::Main,
    };
    Ok(Drawn { call, listener, request: Request { method, path, query, headers, body } })
}

fn odd_method(byte: u8) -> Method {
    [Method::Get, Method::Head, Method::Post, Method::Put, Method::Delete, Method::Other]
        [usize::from(byte % 6)]
}

/// The query of a secret, mostly one that names a version.
fn version(u: &mut Unstructured<'_>) -> Result<Option<String>> {
    Ok(match u.arbitrary::<u8>()? {
        0..100 => None,
        byte @ 100..200 => Some(format!("version={}", byte % 4)),
        200..220 => Some("version=&version=1".to_owned()),
        _ => Some(format!("version={}", printable(u)?)),
    })
}

/// What a batch needs besides its credential, mostly as it should be.
fn batch_head(u: &mut Unstructured<'_>, headers: Headers) -> Result<Headers> {
    let sent_at = "X-Service-Sent-At";
    let good = "2026-01-15T10:30:00.123456789Z";
    Ok(match u.arbitrary::<u8>()? {
        0..160 => headers.with(sent_at, good),
        160..200 => headers.with(sent_at, good).with("content-encoding", "gzip"),
        200..210 => headers,
        210..220 => headers.with(sent_at, good).with(sent_at, good),
        220..230 => headers.with(sent_at, good).with("content-encoding", "br"),
        230..240 => headers.with("content-encoding", "br"),
        _ => headers.with(sent_at, &printable(u)?),
    })
}

fn credential(u: &mut Unstructured<'_>) -> Result<Headers> {
    let good = format!("Bearer {}", node_credential().envelope(site::BEARER_ENV).expose());
    let headers = Headers::new().with("host", "127.0.0.1");
    Ok(match u.arbitrary::<u8>()? {
        0..200 => headers.with("authorization", &good),
        200..215 => headers,
        215..225 => headers.with("authorization", &good).with("authorization", &good),
        225..235 => headers.with("authorization", &good[..good.len() - 1]),
        _ => headers.with("authorization", &printable(u)?),
    })
}

/// A cursor, mostly one that is good.
fn cursor(u: &mut Unstructured<'_>, headers: Headers) -> Result<Headers> {
    const CURSOR: &str = "last-event-id";
    Ok(match u.arbitrary::<u8>()? {
        0 => headers,
        byte @ 1..200 => headers.with(CURSOR, &(byte - 1).to_string()),
        200..220 => headers.with(CURSOR, ""),
        220..240 => headers.with(CURSOR, "1").with(CURSOR, "1"),
        _ => headers.with(CURSOR, &printable(u)?),
    })
}

fn node_credential() -> Credential {
    Credential { node: site::NODE_UUID, key: site::node_secret_key() }
}

fn body(u: &mut Unstructured<'_>, call: Option<&Call>, now: Now) -> Result<Body> {
    let kind: u8 = u.arbitrary()?;
    Ok(match kind {
        0..200 => Body::Whole(template(u, call, now)?),
        200..220 => {
            let text = template(u, call, now)?;
            Body::Whole(bent(u, text)?)
        }
        220..245 => Body::Whole(raw(u)?.to_vec()),
        245..250 => Body::Oversized,
        _ => Body::Unreadable,
    })
}

/// The template with one byte changed or everything from there cut off.
fn bent(u: &mut Unstructured<'_>, mut text: Vec<u8>) -> Result<Vec<u8>> {
    let (at, byte): (u8, u8) = (u.arbitrary()?, u.arbitrary()?);
    let at = usize::from(at);
    match text.get_mut(at) {
        Some(_) if byte == 0 => text.truncate(at),
        Some(here) => *here = byte,
        None => text.push(byte),
    }
    Ok(text)
}

/// A body that the route accepts at least in some state, its one choice made by a byte.
fn template(u: &mut Unstructured<'_>, call: Option<&Call>, now: Now) -> Result<Vec<u8>> {
    let choice: u8 = u.arbitrary()?;
    Ok(match call {
        Some(Call::Register) => encode(&registration(choice)),
        Some(Call::Heartbeat { .. }) => encode(&heartbeat(choice, now)),
        Some(Call::RotateKeys) => encode(&KeyRotateRequest { new_public_key: key(choice) }),
        Some(Call::Execution { .. }) => encode(&callback(choice)),
        Some(Call::ExecOutput { .. }) => vec![choice; usize::from(choice)],
        Some(Call::Test(Test::ConfigureState)) => encode(&snapshot(choice, now)),
        Some(Call::Test(Test::ConfigureHeartbeat)) => {
            encode(&ConfigureHeartbeat { reconcile: choice & 1 == 1, rotate_keys: choice & 2 == 2 })
        }
        Some(Call::Local(_)) => b"[]".to_vec(),
        Some(Call::Capabilities { .. }) => encode(&manifest::manifest(choice)),
        Some(Call::Endpoint { .. }) => encode(&manifest::endpoint(choice, now)),
        Some(Call::IntegrityViolations { .. }) => encode(&manifest::violations(choice)),
        Some(Call::Test(Test::ConfigureEndpoint)) => encode(&manifest::ttl(choice)),
        Some(Call::Test(Test::InjectEvent)) => encode(&event(choice)),
        Some(Call::Test(Test::ConfigureEvents)) => encode(&ConfigureEvents { mode: mode(choice) }),
        Some(Call::Ingest { sink, .. }) => batch(choice, *sink),
        Some(Call::Session { .. }) => encode(&activity(choice)),
        Some(Call::PutReport { .. }) => encode(&report(choice)),
        Some(Call::Test(Test::ConfigureSecrets)) => encode(&secrets(choice)),
        Some(Call::Test(Test::Verify)) => encode(&watch::verification(choice)),
        Some(Call::Test(Test::AddFault)) => encode(&watch::rule(choice)),
        Some(
            Call::Health
            | Call::State { .. }
            | Call::Reachability { .. }
            | Call::Events { .. }
            | Call::Secret { .. }
            | Call::DeleteReport { .. }
            | Call::Release { .. }
            | Call::OpenApi
            | Call::Test(_),
        )
        | None => Vec::new(),
    })
}

fn key(choice: u8) -> PublicKey {
    PublicKey::from_bytes([choice % 4 + 1; 32]).expect("the bytes are not zero")
}

fn registration(choice: u8) -> RegisterRequest {
    let handles =
        ["node-1", "unknown-resource", "exhausted-pool", "contended-allocator", "boom-internal"];
    let randoms = ["aaaaaaaaaaaaaaaaaaaa", "consumedaaaaaaaaaaaa", "revokedaaaaaaaaaaaaa", "short"];
    let token = format!("psb_dev_abc_node_{}", randoms[usize::from((choice >> 3).min(3))]);
    RegisterRequest {
        project_id: site::PROJECT_ID.to_owned(),
        resource_handle: handles[usize::from(choice % 5)].to_owned(),
        bootstrap_token: Secret::new(token),
        nonce: Uuid::drawn([choice % 3; 16]),
        public_key: key(choice),
        requested_resource_id: None,
    }
}

fn heartbeat(choice: u8, now: Now) -> HeartbeatRequest {
    HeartbeatRequest {
        client_now: Timestamp::from(now.wall),
        binary_checksum: Checksum::from_bytes([choice; 32]),
        binary_version: if choice == 255 { String::new() } else { "1.0.0".to_owned() },
        nat_summary: NatSummary::default(),
    }
}

fn event(choice: u8) -> InjectEvent {
    let payloads = ["", "null", "{ \"b\" : 1.50, \"a\":\"<\" }", "\" \\\" & \"", "[1e400 ,-0]"];
    InjectEvent {
        id: format!("evt {choice}"),
        kind: ["policy_updated", "rotate_keys", "odd <type>"][usize::from(choice % 3)].to_owned(),
        scope: if choice & 4 == 4 { "node".to_owned() } else { String::new() },
        payload: Raw::parse(payloads[usize::from(choice % 5)]),
    }
}

fn mode(choice: u8) -> Mode {
    if choice & 1 == 1 { Mode::Descoped } else { Mode::Streaming }
}

fn callback(choice: u8) -> Callback {
    let status = Status::ALL[usize::from(choice % 5)];
    let output = Output {
        inline: if choice & 64 == 64 { base64_text(&[choice; 8]) } else { String::new() },
        ..Output::default()
    };
    Callback {
        declared_output_bytes: (choice >= 128).then_some(i64::from(choice)),
        exit_code: status.is_terminal().then_some(i64::from(choice)),
        output: (choice & 64 == 64).then_some(output),
        ..Callback::of(status)
    }
}

fn batch(choice: u8, sink: Sink) -> Vec<u8> {
    let record = match sink {
        Sink::Metrics => {
            r#"{"group":"agent_stats","name":"n","value":1e2,"labels":{"":"a"},"timestamp":"2026-01-15T10:30:00Z"}"#
        }
        Sink::Logs => r#"{"severity":"err","message":"m","timestamp":"2026-01-15T10:30:00Z"}"#,
        Sink::Audit => {
            r#"{"source":"k8s","action":"get","outcome":"ok","timestamp":"2026-01-15T10:30:00Z"}"#
        }
    };
    let count = if choice == 255 { RECORDS_MAX + 1 } else { usize::from(choice % 4) };
    let records = vec![record; count];
    match sink {
        Sink::Metrics => format!("[{}]", records.join(",")).into_bytes(),
        Sink::Logs | Sink::Audit => records.join("\r\n\n").into_bytes(),
    }
}

fn snapshot(choice: u8, now: Now) -> Snapshot {
    let until = now.after(core::time::Duration::from_secs(u64::from(choice)));
    let entry = |name: u8| Execution {
        execution_id: Name(format!("run {name}")),
        action: Name::from("diagnostics.collect"),
        kind: "builtin".to_owned(),
        status: ["pending", "ack", "started", "odd"][usize::from(choice % 4)].to_owned(),
        requested_at: Some(Spelled::from(Timestamp::from(now.wall))),
        expires_at: Some(Spelled::from(Timestamp::from(until.wall))),
        ..Execution::default()
    };
    let session = |name: u8| Session {
        session_id: Name(format!("session-{name}")),
        expires_at: Some(Spelled::from(Timestamp::from(until.wall))),
        ..Session::default()
    };
    Snapshot {
        executions: (0..choice % 3).map(entry).collect(),
        sessions: Some((0..choice % 3).map(session).collect()),
        ..Snapshot::default()
    }
}

fn activity(choice: u8) -> Activity {
    let command = "c".repeat(usize::from(choice) * 5);
    let ssh = SshActivity { command, exit_code: Some(i64::from(choice)), ..Default::default() };
    let k8s = K8sActivity { verb: Name::from("get"), ..K8sActivity::default() };
    let ended = TcpActivity {
        bytes_in: Some(u64::from(choice)),
        terminated_by: Some(TerminatedBy::ALL[usize::from(choice % 4)]),
        ..TcpActivity::of(Phase::SessionEnded)
    };
    Activity {
        ssh: (choice.is_multiple_of(4)).then_some(ssh),
        k8s: (choice % 4 == 1 || choice == 255).then_some(k8s),
        tcp: (choice % 4 > 1).then_some(ended),
    }
}

fn report(choice: u8) -> ReportRequest {
    let value = "v".repeat(usize::from(choice) * 17);
    let workload_tag = Name::from(if choice & 1 == 1 { "web" } else { "" });
    ReportRequest { value: (choice != 254).then_some(value), workload_tag }
}

fn secrets(choice: u8) -> ConfigureSecrets {
    ConfigureSecrets {
        current_version: i64::from(choice % 4),
        rate_limit_next: i64::from(choice / 4 % 4) - 1,
        retry_after_seconds: i64::from(choice / 16),
    }
}

fn raw<'u>(u: &mut Unstructured<'u>) -> Result<&'u [u8]> {
    let length = usize::from(u.arbitrary::<u8>()?).min(u.len()).min(RAW_MAX);
    u.bytes(length)
}

/// Text that a header or a request line can hold.
fn printable(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(raw(u)?.iter().map(|byte| char::from(byte % 94 + 33)).collect())
}
