//! Server-sent events as bytes.
//!
//! A frame is encoded once, when its event gets its sequence number, and shared by the log and all streams; the other
//! end takes a stream apart as its bytes come.
//!
//! Specification: "Events" (Frame; rule 3).

mod parser;

use alloc::{string::ToString, sync::Arc, vec::Vec};
use core::fmt;

pub use parser::{FRAME_MAX, HELD_MAX, ID_MAX, Item, KIND_MAX, Parser, RETRY_MAX, RETRY_MIN};

/// What says that a stream is alive: a comment, which no client takes for an event.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// One encoded frame, shared by all that it is sent to.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame(pub Arc<[u8]>);

impl Frame {
    /// Encodes one event; neither `kind` nor `data` may hold a line break.
    pub fn event(sequence: u64, kind: &str, data: &[u8]) -> Self {
        let sequence = sequence.to_string();
        let mut bytes = Vec::with_capacity(sequence.len() + kind.len() + data.len() + FIELDS_LEN);
        let parts: [&[u8]; 7] = [
            b"id: ",
            sequence.as_bytes(),
            b"\nevent: ",
            kind.as_bytes(),
            b"\ndata: ",
            data,
            b"\n\n",
        ];
        for part in parts {
            bytes.extend_from_slice(part);
        }
        Self(bytes.into())
    }
}

/// What a frame holds besides its three values.
const FIELDS_LEN: usize = "id: \nevent: \ndata: \n\n".len();

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}
