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
