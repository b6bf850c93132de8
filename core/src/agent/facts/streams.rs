//! What is ordered of the streams of the watchers.

use alloc::vec::Vec;

use crate::{ids::CallId, wire::sse::Frame};

/// An order about event streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Answer the request of this name with a stream that begins so.
    Open { watcher: CallId, hello: Frame },
    /// Put a frame into the buffer of each; one whose buffer is full is ended.
    Send { to: Vec<CallId>, frame: Frame },
    /// End all.
    Close,
}
