//! The event streams of one plane: each is given every event once and in order, and every event can be verified.

use std::collections::BTreeMap;

use meshward_core::{
    ids::CallId,
    plane::{
        Input,
        stream::{Audience, Opening, RING_LEN},
    },
    wire::{
        event::Envelope,
        grammar::{base64_bytes, base64_text},
        json::decode_strict,
        sse::Frame,
    },
};

/// So many streams are open before the oldest leaves.
const OPEN_MAX: usize = 4;

/// What the open streams were given.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    newest: u64,
    /// The sequence number that each waits for.
    open: BTreeMap<CallId, u64>,
}

/// The answer to an order to sign: the bytes themselves stand for their signature.
pub(crate) fn signed(call: CallId, bytes: &[u8]) -> Input {
    Input::Signed { call, signature: base64_text(bytes) }
}

impl Streams {
    pub(crate) fn open(&mut self, call: CallId, opening: &Opening) {
        assert!(opening.replay.len() <= RING_LEN, "the log is bounded");
        let length = u64::try_from(opening.replay.len()).expect("a length");
        let first = self.newest + 1 - length;
        for (number, frame) in (first..).zip(&opening.replay) {
            check(number, frame);
        }
        assert!(self.open.insert(call, self.newest + 1).is_none(), "one stream a call");
    }

    pub(crate) fn send(&mut self, audience: &Audience, frame: &Frame) {
        self.newest += 1;
        check(self.newest, frame);
        for (call, due) in &mut self.open {
            let meant = match audience {
                Audience::Everyone => true,
                Audience::Only(calls) => calls.contains(call),
            };
            assert!(meant && *due == self.newest, "a stream misses an event");
            *due += 1;
        }
    }

    pub(crate) fn close(&mut self) {
        self.open.clear();
    }

    /// The oldest stream, where there are too many.
    pub(crate) fn oldest_of_many(&mut self) -> Option<CallId> {
        if self.open.len() <= OPEN_MAX {
            return None;
        }
        self.open.pop_first().map(|(call, _)| call)
    }
}

/// A frame is three lines and a blank one, and its envelope gives back the bytes that were signed.
fn check(number: u64, frame: &Frame) {
    let text = core::str::from_utf8(&frame.0).expect("a frame is text");
    let lines: Vec<&str> = text.split('\n').collect();
    let [id, kind, data, "", ""] = lines.as_slice() else { panic!("{text:?}") };
    assert_eq!(*id, format!("id: {number}"));
    let data = data.strip_prefix("data: ").expect("a data line");
    let envelope: Envelope = decode_strict(data.as_bytes()).expect("an envelope");
    assert_eq!(kind.strip_prefix("event: "), Some(envelope.event.kind.as_str()));
    assert_eq!(base64_bytes(&envelope.signature), Some(envelope.event.signed_bytes()));
}
