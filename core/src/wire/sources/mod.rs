//! What other programs and the kernel write of this node, read into records; one file a source.
//!
//! All of it is foreign text: whatever the bytes are, reading them ends, panics on none and holds no more than its
//! limits. What is no record is counted and passed over.

pub mod auditd;
pub mod crowd;
pub mod journald;
pub mod k8s;
pub mod lines;
pub mod own;
pub mod pattern;
pub mod peers;
pub mod proc;
pub mod raw;
pub mod tail;
