//! One frame of an event stream as a rule bends it, from nothing but its text.
//!
//! Specification: "Events" (Frame) for what is bent; `decisions.md` section 6 (`/test/faults`).

use alloc::{format, string::String, vec, vec::Vec};
use core::time::Duration;

use super::act::Bend;
use crate::{
    time::{Now, Wall},
    wire::{sse::Frame, timestamp::Timestamp},
};

/// How old the time of a stale event is; "`issued_at` must be at most 5 minutes old".
pub const STALE: Duration = Duration::from_secs(3600);

/// What a byte-order mark is in UTF-8.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

const DATA: &str = "\ndata: ";
const ISSUED_AT: &str = ",\"issued_at\":\"";
const SIGNATURE: &str = ",\"signature\":\"";

/// What is sent in the place of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bent {
    Frames(Vec<Frame>),
    Unsigned(Unsigned),
}

/// A frame that lacks the signature of its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsigned {
    /// What is to be signed.
    pub bytes: Vec<u8>,
    front: String,
    back: String,
}

impl Unsigned {
    /// The whole frame.
    pub fn signed(&self, signature: &str) -> Frame {
        frame(format!("{}{signature}{}", self.front, self.back).as_bytes())
    }
}

/// Bends one frame; one that lacks what is to be bent goes as it is.
pub fn bend(bend: Bend, whole: &Frame, now: Now) -> Bent {
    let as_it_is = || vec![whole.clone()];
    let Ok(text) = core::str::from_utf8(&whole.0) else { return Bent::Frames(as_it_is()) };
    Bent::Frames(match bend {
        Bend::Cr => vec![frame(text.replace('\n', "\r").as_bytes())],
        Bend::Crlf => vec![frame(text.replace('\n', "\r\n").as_bytes())],
        Bend::Split => split(&whole.0),
        Bend::Duplicate => vec![whole.clone(), whole.clone()],
        Bend::Missing => Vec::new(),
        Bend::BadSignature => corrupted(text).map_or_else(as_it_is, |bent| vec![bent]),
        Bend::StaleIssuedAt => match backdated(text, now.wall) {
            Some(unsigned) => return Bent::Unsigned(unsigned),
            None => as_it_is(),
        },
    })
}

fn frame(bytes: &[u8]) -> Frame {
    Frame(bytes.into())
}

/// Cuts within a field name, within the data, inside a character where one is long, and before the last line break.
fn split(bytes: &[u8]) -> Vec<Frame> {
    let long = bytes.iter().position(|byte| !byte.is_ascii()).map(|at| at + 1);
    let mut cuts = vec![1, long.unwrap_or(bytes.len() / 2), bytes.len().saturating_sub(1)];
    cuts.retain(|cut| *cut < bytes.len());
    cuts.sort_unstable();
    cuts.dedup();
    let mut pieces = Vec::new();
    let mut from = 0;
    for cut in cuts {
        pieces.push(frame(&bytes[from..cut]));
        from = cut;
    }
    pieces.push(frame(&bytes[from..]));
    pieces
}

/// Another signature of the same form.
fn corrupted(text: &str) -> Option<Frame> {
    let at = text.rfind(SIGNATURE)? + SIGNATURE.len();
    let mut bytes = text.as_bytes().to_vec();
    let first = bytes.get_mut(at)?;
    *first = if *first == b'A' { b'B' } else { b'A' };
    Some(frame(&bytes))
}

/// The envelope an hour older, to be signed anew.
fn backdated(text: &str, wall: Wall) -> Option<Unsigned> {
    let data = text.find(DATA)? + DATA.len();
    let issued = data + text.get(data..)?.find(ISSUED_AT)? + ISSUED_AT.len();
    let behind = issued + text.get(issued..)?.find('"')?;
    let signature = text.rfind(SIGNATURE).filter(|at| *at > behind)?;
    let value = signature + SIGNATURE.len();
    let closing = value + text.get(value..)?.find('"')?;
    let then = Wall::from_origin(wall.since_origin().saturating_sub(STALE));
    let before = format!("{}{}", text.get(..issued)?, Timestamp::from(then));
    let middle = text.get(behind..signature)?;
    let bytes = format!("{}{middle}}}", before.get(data..)?).into_bytes();
    let front = format!("{before}{middle}{SIGNATURE}");
    Some(Unsigned { bytes, front, back: text.get(closing..)?.into() })
}
