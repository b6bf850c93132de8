//! One function a fuzz target, each taking the bytes that the fuzzer or the committed corpus hands over.
//!
//! A target panics when a promise is broken and returns otherwise. The binaries in `fuzz_targets/` hand it to the
//! fuzzer, `tests/replay.rs` runs every file of `corpus/` through it on stable.
#![forbid(unsafe_code)]

mod answer;
mod counters;
mod decode;
mod differential;
mod encode;
mod envelope;
mod framing;
mod hooks;
mod host_key;
mod local;
mod local_ask;
mod local_check;
mod local_http;
mod local_node;
mod logs;
mod manifest;
mod numbers;
mod plane;
mod request;
mod route;
mod sources;
mod spool;
mod sse;
mod streams;
mod stun;
mod tree;
mod upload;
mod watch;

pub use decode::{
    bearer, decode_callback, decode_event, decode_heartbeat, decode_ingest, decode_register,
    decode_report, decode_rotation, decode_secret, decode_session, decode_snapshot, timestamp,
};
pub use differential::json_differential;
pub use encode::encode;
pub use envelope::envelope;
pub use framing::framing;
pub use hooks::{hook_environment, hook_name, hook_sidecar};
pub use host_key::host_key;
pub use local::decode_local;
pub use local_http::{local_http, local_statuses};
pub use logs::{journald_entry, log_lines, log_pattern};
pub use manifest::{decode_capabilities, decode_endpoint, decode_integrity};
pub use numbers::numbers;
pub use plane::{plane_http, plane_statuses};
pub use sources::{auditd, k8s_audit};
pub use spool::spool;
pub use sse::sse;
pub use stun::stun;
pub use upload::upload_url;
pub use watch::decode_watch;

/// A fuzz target by the name of its binary and of its folder in `corpus/`.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
}

/// Every target, in alphabetical order.
pub const TARGETS: [Target; 37] = [
    Target { name: "auditd", run: auditd },
    Target { name: "bearer", run: bearer },
    Target { name: "decode_callback", run: decode_callback },
    Target { name: "decode_capabilities", run: decode_capabilities },
    Target { name: "decode_endpoint", run: decode_endpoint },
    Target { name: "decode_event", run: decode_event },
    Target { name: "decode_heartbeat", run: decode_heartbeat },
    Target { name: "decode_ingest", run: decode_ingest },
    Target { name: "decode_integrity", run: decode_integrity },
    Target { name: "decode_local", run: decode_local },
    Target { name: "decode_register", run: decode_register },
    Target { name: "decode_report", run: decode_report },
    Target { name: "decode_rotation", run: decode_rotation },
    Target { name: "decode_secret", run: decode_secret },
    Target { name: "decode_session", run: decode_session },
    Target { name: "decode_snapshot", run: decode_snapshot },
    Target { name: "decode_watch", run: decode_watch },
    Target { name: "encode", run: encode },
    Target { name: "envelope", run: envelope },
    Target { name: "framing", run: framing },
    Target { name: "hook_environment", run: hook_environment },
    Target { name: "hook_name", run: hook_name },
    Target { name: "hook_sidecar", run: hook_sidecar },
    Target { name: "host_key", run: host_key },
    Target { name: "journald_entry", run: journald_entry },
    Target { name: "json_differential", run: json_differential },
    Target { name: "k8s_audit", run: k8s_audit },
    Target { name: "local_http", run: local_http },
    Target { name: "log_lines", run: log_lines },
    Target { name: "log_pattern", run: log_pattern },
    Target { name: "numbers", run: numbers },
    Target { name: "plane_http", run: plane_http },
    Target { name: "spool", run: spool },
    Target { name: "sse", run: sse },
    Target { name: "stun", run: stun },
    Target { name: "timestamp", run: timestamp },
    Target { name: "upload_url", run: upload_url },
];
