//! Server-sent events as bytes.
//!
//! Specification: "Events" (Frame).

use alloc::sync::Arc;
use core::fmt;

/// One encoded frame, shared by all that it is sent to.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame(pub Arc<[u8]>);

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}
