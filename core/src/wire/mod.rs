//! What crosses the network, the disk and the local socket; one file a resource, in the specification's order.
//!
//! Bytes become types once, through [`json::decode_strict`] or [`json::decode_tolerant`], and types become bytes
//! once, through [`json::encode`]. Only this module derives serde.

pub mod action;
pub mod bearer;
pub mod call;
pub mod capabilities;
pub mod change;
pub mod checksums;
pub mod control;
mod crc;
pub mod endpoint;
pub mod event;
pub mod execution;
pub mod exposition;
pub mod faults;
pub mod files;
pub mod framing;
pub mod grammar;
pub mod heartbeat;
pub mod hook;
pub mod host;
pub mod host_key;
pub mod http;
pub mod identity;
pub mod ingest;
pub mod integrity;
pub mod journal;
pub mod json;
pub mod kept;
pub mod local;
pub mod own_report;
pub mod positions;
pub mod problem;
pub mod process;
pub mod pulled;
pub mod record;
pub mod register;
pub mod release;
pub mod report;
pub mod retry_after;
pub mod rotation;
pub mod secret;
pub mod session;
pub mod signing_keys;
pub mod snapshot;
pub mod sources;
pub mod spool;
pub mod sse;
pub mod stun;
pub mod text;
pub mod timestamp;
pub mod upload_url;
