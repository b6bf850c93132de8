//! What other programs and the kernel write of this node, read into records; one file a source.
//!
//! All of it is foreign text: no byte of it breaks a reader, and what is no record is counted and passed over.

pub mod auditd;
pub mod k8s;
pub mod raw;
