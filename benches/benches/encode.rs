//! Batches written and compressed as the agent does it, beside the usual way: owned records with a time of `chrono` on
//! `serde_json`, and a new encoder of `miniz_oxide` for each batch, as `flate2` makes it where nobody says otherwise.
//!
//! The two of a pair take turns; only their ratio means something on another machine.

use std::{collections::BTreeMap, hint::black_box, io::Write as _, sync::Arc};

use chrono::{DateTime, Utc};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use meshward_benches::{tell, worked};
use meshward_core::wire::{
    ingest::{Severity, encode},
    record::{
        AuditEntry, AuditOrigin, LogEntry, LogSource, MetricPoint, Outcome, PointGroup, Reading,
    },
    timestamp::Timestamp,
};
use meshward_shell::gzip::Packer;
use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, compress, create_comp_flags_from_zip_params,
};
use serde::Serialize;

/// How often each of a pair is done in its turn.
const TURN: u32 = 20;

#[derive(Serialize)]
struct UsualLine {
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    message: String,
    timestamp: DateTime<Utc>,
}

#[derive(Serialize)]
struct UsualEvent {
    source: &'static str,
    action: String,
    outcome: &'static str,
    timestamp: DateTime<Utc>,
}

#[derive(Serialize)]
struct UsualSample {
    group: &'static str,
    name: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    timestamp: DateTime<Utc>,
}

fn time(at: usize) -> (Timestamp, DateTime<Utc>) {
    let nanos = drawn(at + 104_729) % 1_000_000_000;
    let text = format!("2026-01-15T10:{:02}:{:02}.{nanos:09}Z", at / 60 % 60, at % 60);
    let usual = text.parse().expect("the time is well spelled");
    (Timestamp::parse(&text).expect("the time is well spelled"), usual)
}

/// Numbers that differ from line to line as those of a real log do, and are the same at each run.
fn drawn(at: usize) -> u64 {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn message(at: usize) -> String {
    let (one, other) = (drawn(at), drawn(at + 7_919));
    let (port, host) = (one % 65_536, other % 256);
    match at % 6 {
        0 => format!(
            "Accepted publickey for deploy from 203.0.113.{host} port {port} ssh2: ED25519 SHA256:{one:016x}{other:016x}"
        ),
        1 => {
            format!("pam_unix(sshd:session): session opened for user deploy(uid={port}) by (uid=0)")
        }
        2 => format!(
            "time=\"2026-01-15T10:30:00Z\" level=info msg=\"reconciled {host} objects\" took={port}us"
        ),
        3 => format!("GET /api/v1/items/{one:x}?page={host} 200 {port}us"),
        4 => format!("Started Session {port} of User deploy."),
        _ => format!("audit: type=1400 pid={port} comm=\"nginx\" name=\"/var/lib/{other:x}\""),
    }
}

fn lines() -> (Vec<LogEntry>, Vec<UsualLine>) {
    let hostname: Arc<str> = "edge-frankfurt-17".into();
    let units = ["sshd.service", "kubelet.service", "nginx.service"];
    let pair = |at: usize| {
        let (timestamp, usual) = time(at);
        let severity = [Severity::Info, Severity::Warning, Severity::Err][at % 3];
        let message = message(at);
        let usual = UsualLine {
            severity: severity.name(),
            unit: Some(units[at % 3].to_owned()),
            hostname: Some(hostname.to_string()),
            message: message.clone(),
            timestamp: usual,
        };
        let (source, unit) = (LogSource::Journald, units[at % 3].into());
        let hostname = Arc::clone(&hostname);
        (LogEntry { timestamp, source, unit, message, severity, hostname }, usual)
    };
    (0..200).map(pair).unzip()
}

fn events() -> (Vec<AuditEntry>, Vec<UsualEvent>) {
    let pair = |at: usize| {
        let (timestamp, usual) = time(at);
        let action = ["execve", "openat", "create", "delete"][drawn(at) as usize % 4];
        let failed = drawn(at + 3) % 5 == 4;
        let usual = UsualEvent {
            source: ["auditd", "k8s"][at % 2],
            action: action.to_owned(),
            outcome: if failed { "failure" } else { "success" },
            timestamp: usual,
        };
        let entry = AuditEntry {
            timestamp,
            source: [AuditOrigin::Auditd, AuditOrigin::K8sAudit][at % 2],
            event_type: "SYSCALL".to_owned(),
            subject: "{}".to_owned(),
            object: "{}".to_owned(),
            action: action.to_owned(),
            result: Some(if failed { Outcome::Failure } else { Outcome::Success }),
            hostname: "edge-frankfurt-17".into(),
            raw: String::new(),
        };
        (entry, usual)
    };
    (0..500).map(pair).unzip()
}

/// Ten points of ten samples: one of the machine, and nine peers in turns.
fn points() -> (Vec<MetricPoint>, Vec<UsualSample>) {
    let mut usual = Vec::new();
    let points = (0..10).map(|at| {
        let (timestamp, written) = time(at);
        let group = if at == 0 { PointGroup::System } else { PointGroup::Tunnel };
        let peer = (at > 0).then(|| format!("0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0{at:02x}"));
        let data: Vec<(Reading, f64)> = Reading::ALL[..10]
            .iter()
            .enumerate()
            .map(|(place, reading)| {
                let whole = (drawn(place * 10 + at) >> 30) as f64;
                (*reading, if place % 3 == 0 { whole / 7.0 } else { whole })
            })
            .collect();
        usual.extend(data.iter().map(|(reading, value)| UsualSample {
            group: if at == 0 { "node_resources" } else { "tunnel_health" },
            name: reading.name(),
            value: *value,
            labels: peer.iter().map(|peer| ("peer_id".to_owned(), peer.clone())).collect(),
            timestamp: written,
        }));
        MetricPoint { timestamp, group, peer_id: peer, data }
    });
    (points.collect(), usual)
}

fn usual_lines<T: Serialize>(records: &[T]) -> Vec<u8> {
    let mut body = Vec::new();
    for record in records {
        serde_json::to_writer(&mut body, record).expect("memory takes all");
        body.push(b'\n');
    }
    body
}

fn usual_array<T: Serialize>(records: &[T]) -> Vec<u8> {
    serde_json::to_vec(records).expect("memory takes all")
}

/// What `flate2` does with a `GzEncoder` over a `Vec` on its usual backend, where the batch comes in one piece.
fn usual_gzip(body: &[u8]) -> Vec<u8> {
    let flags = create_comp_flags_from_zip_params(6, -15, 0);
    let mut state = CompressorOxide::new(flags);
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let mut piece = vec![0; 32 << 10];
    let mut rest = body;
    loop {
        let (status, read, written) = compress(&mut state, rest, &mut piece, TDEFLFlush::Finish);
        rest = &rest[read..];
        packed.extend_from_slice(&piece[..written]);
        if status == miniz_oxide::deflate::core::TDEFLStatus::Done {
            break;
        }
    }
    packed.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    packed.extend_from_slice(&(body.len() as u32).to_le_bytes());
    packed
}

/// One batch in both ways.
struct Pair<O, U> {
    name: &'static str,
    ours: O,
    usual: U,
}

impl<O: Fn(&mut Vec<u8>) -> usize, U: Fn() -> Vec<u8>> Pair<O, U> {
    fn bench(&self, c: &mut Criterion) {
        self.alone(c);
        self.in_turns();
    }

    fn write(&self, body: &mut Vec<u8>) {
        body.clear();
        black_box((self.ours)(body));
    }

    fn alone(&self, c: &mut Criterion) {
        let (mut body, mut packer) = (Vec::new(), Packer::default());
        self.write(&mut body);
        let mut group = c.benchmark_group(format!("encode {}", self.name));
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function("written", |b| b.iter(|| self.write(&mut body)));
        group.bench_function("serde_json and chrono", |b| b.iter(|| (self.usual)()));
        group
            .bench_function("packed", |b| b.iter(|| packer.pack(&body).expect("memory takes all")));
        group.bench_function("packed as usual", |b| b.iter(|| usual_gzip(&body)));
        group.finish();
    }

    fn in_turns(&self) {
        let (mut body, mut packer) = (Vec::new(), Packer::default());
        tell(&format!("{}: usual time of writing over ours", self.name), || {
            (worked(TURN, || (self.usual)()), worked(TURN, || self.write(&mut body)))
        });
        tell(&format!("{}: usual time of writing and gzip over ours", self.name), || {
            let usual = worked(TURN, || usual_gzip(&(self.usual)()));
            let ours = worked(TURN, || {
                self.write(&mut body);
                packer.pack(&body).expect("memory takes all")
            });
            (usual, ours)
        });
        let usual = usual_gzip(&(self.usual)()).len();
        let ours = packer.pack(&body).expect("memory takes all").len();
        let told = format!(
            "{}: {ours} of {} bytes, usual {usual}: {:.3}\n",
            self.name,
            body.len(),
            ours as f64 / usual as f64
        );
        std::io::stdout().write_all(told.as_bytes()).expect("somebody reads");
    }
}

fn bench(c: &mut Criterion) {
    let ((lines, usual_l), (events, usual_e), (points, usual_p)) = (lines(), events(), points());
    let logs = Pair {
        name: "200 log lines",
        ours: |into: &mut Vec<u8>| encode::lines(into, black_box(&lines)),
        usual: || usual_lines(black_box(&usual_l)),
    };
    let audit = Pair {
        name: "500 audit events",
        ours: |into: &mut Vec<u8>| encode::events(into, black_box(&events)),
        usual: || usual_lines(black_box(&usual_e)),
    };
    let metrics = Pair {
        name: "100 samples",
        ours: |into: &mut Vec<u8>| encode::samples(into, black_box(&points)),
        usual: || usual_array(black_box(&usual_p)),
    };
    logs.bench(c);
    audit.bench(c);
    metrics.bench(c);
}

criterion_group!(benches, bench);
criterion_main!(benches);
