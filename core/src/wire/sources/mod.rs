//! What the sources of a node's records say, read from their bytes.
//!
//! Whatever the bytes are, reading them ends, panics on none and holds no more than its limits.

pub mod own;
pub mod peers;
pub mod proc;
pub mod journald;
pub mod lines;
pub mod pattern;
pub mod tail;
//! What other programs and the kernel write of this node, read into records; one file a source.
//!
//! All of it is foreign text: no byte of it breaks a reader, and what is no record is counted and passed over.

pub mod auditd;
pub mod k8s;
pub mod raw;
