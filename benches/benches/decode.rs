//! Bytes to types: the bearer, and request bodies through the strict door beside the usual derive on `serde_json`.
//!
//! The two of a pair run in one process; only their ratio means something on another machine.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use meshward_core::{
    plane::site,
    wire::{
        bearer::Credential,
        execution::{Callback, Output, Status},
        heartbeat::HeartbeatDraft,
        json::{decode_strict, encode},
        register::RegisterDraft,
    },
};
use serde::Deserialize;

const REGISTER: &[u8] = br#"{
  "project_id": "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a0",
  "resource_handle": "edge-frankfurt-17",
  "bootstrap_token": "psb_dev_abc_node_aaaaaaaaaaaaaaaaaaaa",
  "nonce": "3f0c7f0e-7c52-4d1e-9d43-0d8d8c9d7b11",
  "public_key": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
}"#;

const HEARTBEAT: &[u8] = br#"{"client_now":"2026-01-15T10:30:00.123456789Z",
"binary_checksum":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=","binary_version":"1.4.2",
"nat_summary":{"endpoint":"203.0.113.7:51820","nat_type":"full_cone"}}"#;

/// The registration request as it is usually declared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Derived {
    project_id: Option<String>,
    resource_handle: Option<String>,
    bootstrap_token: Option<String>,
    nonce: Option<String>,
    public_key: Option<String>,
    requested_resource_id: Option<String>,
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

fn register(c: &mut Criterion) {
    let mut group = c.benchmark_group("register");
    group.throughput(Throughput::Bytes(REGISTER.len() as u64));
    group.bench_function("strict door", |b| {
        b.iter(|| {
            let draft: RegisterDraft =
                decode_strict(black_box(REGISTER)).expect("the body is good");
            [
                draft.project_id.text(),
                draft.resource_handle.text(),
                draft.bootstrap_token.text(),
                draft.nonce.text(),
                draft.public_key.text(),
                draft.requested_resource_id.text(),
            ]
        })
    });
    group.bench_function("derive", |b| {
        b.iter(|| {
            let derived: Derived =
                serde_json::from_slice(black_box(REGISTER)).expect("the body is good");
            [
                derived.project_id,
                derived.resource_handle,
                derived.bootstrap_token,
                derived.nonce,
                derived.public_key,
                derived.requested_resource_id,
            ]
        })
    });
    group.finish();
}

fn heartbeat(c: &mut Criterion) {
    let mut group = c.benchmark_group("heartbeat");
    group.throughput(Throughput::Bytes(HEARTBEAT.len() as u64));
    group.bench_function("strict door", |b| {
        b.iter(|| decode_strict::<HeartbeatDraft>(black_box(HEARTBEAT)))
    });
    group.finish();
}

/// A callback near its cap, which both decoders read into the same type.
fn callback(c: &mut Criterion) {
    let output = Output { inline: "QUJD".repeat(5461), ..Output::default() };
    let text = encode(&Callback { output: Some(output), ..Callback::of(Status::Succeeded) });
    let mut group = c.benchmark_group("callback with 16 KiB of output");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("strict door", |b| b.iter(|| decode_strict::<Callback>(black_box(&text))));
    group.bench_function("derive", |b| {
        b.iter(|| serde_json::from_slice::<Callback>(black_box(&text)))
    });
    group.finish();
}

criterion_group!(benches, bearer, register, heartbeat, callback);
criterion_main!(benches);
