//! Batches of records: the strict reader of the plane beside the usual owned derive on `serde_json`, and the whole way
//! of a gzip batch.
//!
//! The ones of a group run in one process; only their ratios mean something on another machine. The usual decoder does
//! less: it keeps the timestamp as text, takes two equal labels, and judges no rule of a record.

use std::{
    collections::BTreeMap,
    hint::black_box,
    io::{Read as _, Write as _},
};

use core::time::Duration;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use flate2::{Compression, bufread::MultiGzDecoder, write::GzEncoder};
use meshward_core::{
    ids::CallId,
    plane::{Arrival, Drawn, Effect, Input, Listener, Plane, Settings, ingest, site},
    time::{Mono, Now, Wall},
    wire::{
        bearer::Credential,
        call::{Call, Sink},
        http::{Body, Headers, Request},
        ingest::{
            AuditEvent, AuditSource, Finite, Labels, LogLine, MetricGroup, MetricSample, Severity,
            Stamp,
        },
        json::encode,
        text::{Filled, Identifier, Label, Text},
        timestamp::Timestamp,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "decoded and let go")]
struct OwnedLog {
    severity: String,
    unit: Option<String>,
    hostname: Option<String>,
    message: String,
    timestamp: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "decoded and let go")]
struct OwnedAudit {
    source: String,
    action: String,
    outcome: String,
    timestamp: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "decoded and let go")]
struct OwnedSample {
    group: String,
    name: String,
    value: f64,
    labels: Option<BTreeMap<String, String>>,
    timestamp: String,
}

fn stamp(at: usize) -> Stamp {
    let text = format!(
        "2026-01-15T10:{:02}:{:02}.{:09}Z",
        at / 60 % 60,
        at % 60,
        at * 7_654_321 % 1_000_000_000
    );
    let at = Timestamp::parse(&text).expect("the time is well spelled");
    Stamp::new(at).expect("the time is set")
}

fn lines<T: Serialize>(count: usize, record: impl Fn(usize) -> T) -> Vec<u8> {
    let lines: Vec<Vec<u8>> = (0..count).map(|at| encode(&record(at))).collect();
    lines.join(&b'\n')
}

fn filled(text: String) -> Filled<'static> {
    Filled::parse(text).expect("the text is not empty")
}

fn logs() -> Vec<u8> {
    let messages = [
        "Accepted publickey for deploy from 203.0.113.7 port 51234 ssh2: ED25519 SHA256:Tm90QVJlYWxLZXk",
        "pam_unix(sshd:session): session opened for user deploy(uid=1001) by (uid=0)",
        "time=\"2026-01-15T10:30:00Z\" level=info msg=\"reconciled 12 objects\" took=8.3ms",
        "GET /healthz 200 1ms",
        "Started Session 4711 of User deploy.",
    ];
    lines(200, |at| LogLine {
        severity: [Severity::Info, Severity::Warning, Severity::Err][at % 3],
        unit: Label::parse("sshd.service").ok(),
        hostname: Label::parse(format!("edge-frankfurt-{}", at % 17)).ok(),
        message: filled(format!("{} [{at}]", messages[at % messages.len()])),
        timestamp: stamp(at),
    })
}

fn audits() -> Vec<u8> {
    lines(500, |at| AuditEvent {
        source: [AuditSource::Auditd, AuditSource::K8s][at % 2],
        action: Identifier::parse(["execve", "openat", "create", "delete"][at % 4])
            .expect("a name"),
        outcome: filled(["success", "failure"][at % 5 / 4].to_owned()),
        timestamp: stamp(at),
    })
}

fn samples() -> Vec<u8> {
    let label = |name: &'static str, value: String| {
        (Label::parse(name).expect("no NUL"), Text::parse(value).expect("any text"))
    };
    let samples: Vec<MetricSample<'_>> = (0..100)
        .map(|at| MetricSample {
            group: [MetricGroup::NodeResources, MetricGroup::PeerLatency][at % 2],
            name: Identifier::parse("cpu_seconds_total").expect("a name"),
            value: Finite::new(at as f64 * 1.234_567).expect("finite"),
            labels: Labels(vec![
                label("cpu", (at % 8).to_string()),
                label("mode", "user".to_owned()),
                label("peer", format!("0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0{at:02x}")),
            ]),
            timestamp: stamp(at),
        })
        .collect();
    encode(&samples)
}

fn owned_lines<T: DeserializeOwned>(bytes: &[u8]) -> usize {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.fold(0, |count, line| {
        black_box(serde_json::from_slice::<T>(line).expect("the line is good"));
        count + 1
    })
}

fn owned_samples(bytes: &[u8]) -> usize {
    serde_json::from_slice::<Vec<OwnedSample>>(bytes).expect("the batch is good").len()
}

fn decode(c: &mut Criterion) {
    type Owned = fn(&[u8]) -> usize;
    let batches: [(&str, Sink, Vec<u8>, Owned); 3] = [
        ("decode 200 log lines", Sink::Logs, logs(), owned_lines::<OwnedLog>),
        ("decode 500 audit events", Sink::Audit, audits(), owned_lines::<OwnedAudit>),
        ("decode 100 samples", Sink::Metrics, samples(), owned_samples),
    ];
    for (name, sink, bytes, owned) in batches {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        let body = Body::Whole(bytes.clone());
        group.bench_function("strict", |b| {
            b.iter(|| ingest::read(sink, black_box(&body)).expect("the batch is good"))
        });
        group.bench_function("serde_json owned", |b| b.iter(|| owned(black_box(&bytes))));
        group.finish();
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

fn inflate(compressed: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length);
    MultiGzDecoder::new(compressed).read_to_end(&mut bytes).expect("the batch is gzip");
    bytes
}

fn requested(body: Vec<u8>) -> Input {
    let call = Call::Ingest { node: site::NODE_ID.to_owned(), sink: Sink::Audit };
    let served = Credential { node: site::NODE_UUID, key: site::node_secret_key() };
    let headers = Headers::new()
        .with("host", "127.0.0.1")
        .with("authorization", &format!("Bearer {}", served.envelope(site::BEARER_ENV).expose()))
        .with("content-encoding", "gzip")
        .with("x-service-sent-at", "2026-01-15T10:30:00.123456789Z");
    let request = Request {
        method: call.method(),
        path: call.path(),
        query: None,
        headers,
        body: Body::Whole(body),
    };
    let arrival = Arrival {
        listener: Listener::Main,
        request,
        begun: Mono::from_origin(Duration::from_secs(5)),
        drawn: Drawn::default(),
    };
    Input::Requested { call: CallId::default(), arrival }
}

/// 500 audit events in gzip: from the bytes on the wire to the receipt, beside inflating and a loose decode alone.
fn whole_path(c: &mut Criterion) {
    let bytes = audits();
    let compressed = gzip(&bytes);
    let settings = Settings::default();
    let now = Now {
        mono: Mono::from_origin(Duration::from_secs(5)),
        wall: Wall::from_origin(Duration::from_secs(1_800_000_000)),
    };
    let mut group = c.benchmark_group("gzip with 500 audit events");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("inflate alone", |b| {
        b.iter(|| inflate(black_box(&compressed), bytes.len()))
    });
    group.bench_function("inflate and serde_json owned", |b| {
        b.iter(|| owned_lines::<OwnedAudit>(&inflate(black_box(&compressed), bytes.len())))
    });
    group.bench_function("the whole request", |b| {
        b.iter_batched(
            Plane::default,
            |plane| {
                let input = requested(inflate(black_box(&compressed), bytes.len()));
                let step = plane.step(&settings, now, input);
                let accepted = step.effects.iter().all(
                    |effect| matches!(effect, Effect::Reply { response, .. } if response.status == 202),
                );
                assert!(accepted, "no bench measures a refusal");
                step
            },
            BatchSize::SmallInput,
        )
    });
    group.finish();
}

criterion_group!(benches, decode, whole_path);
criterion_main!(benches);
