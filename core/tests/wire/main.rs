//! The wire types: the JSON door, every grammar, and golden texts taken from the specification.

mod auditd;
mod backoff;
mod bearer;
mod canary;
mod capabilities;
mod checksums;
mod differential;
mod encode;
mod endpoint;
mod envelope;
mod event;
#[path = "../support/exposed.rs"]
mod exposed;
mod exposition;
mod framing;
mod golden;
mod golden_local;
mod golden_snapshot;
mod golden_store;
mod golden_watch;
mod grammar;
mod hook;
mod host_key;
mod http;
mod ingest;
mod integrity;
mod json;
mod json_types;
mod k8s_audit;
mod problem;
mod process;
mod pulled;
mod quote;
mod retry_after;
mod secret;
mod signing_keys;
mod sources_journal_reading;
mod sources_journald;
mod sources_lines;
mod sources_numbers;
mod sources_pattern;
mod sources_tail;
mod spool;
mod sse;
mod sse_parser;
mod stun;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the machines' own properties are not needed here")]
mod support;
mod timestamp;
mod upload_url;
