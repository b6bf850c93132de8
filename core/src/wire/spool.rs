//! Records as they wait on the disk: each in a frame of its own, so that a damaged one takes no other with it.
//!
//! | Bytes | Content |
//! |---|---|
//! | 4 | [`MARK`], whose first byte stands in no text |
//! | 4 | the CRC-32 of all behind it, little-endian |
//! | 4 | how long the record is, little-endian |
//! | the rest | the record as JSON |
//!
//! Where a frame is damaged, the next one is looked for by its mark; what lies between is counted and passed over. A
//! frame that was cut off by a crash is the same at the end of a file. Whatever stands in a file, reading it takes time in
//! proportion to its length.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{crc::crc32, json};

/// How each frame begins.
pub const MARK: [u8; 4] = [0xff, b'M', b'W', b'1'];

/// The bytes in front of a record.
pub const HEAD_LEN: usize = 12;

const SUM_LEN: usize = 4;

/// The longest record, in bytes: a message and a raw text, each byte of which may become six.
pub const RECORD_MAX: usize = 256 << 10;

/// What stands in the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'b> {
    /// A record, and where the next frame begins.
    Record { payload: &'b [u8], end: usize },
    /// So many bytes are no frame.
    Damaged { bytes: usize },
}

/// Writes a record in its frame; `false` where it is too long, and nothing is written then.
pub fn frame<T: Serialize>(into: &mut Vec<u8>, record: &T) -> bool {
    let payload = json::encode(record);
    if payload.len() > RECORD_MAX {
        return false;
    }
    let Ok(length) = u32::try_from(payload.len()) else { return false };
    into.extend_from_slice(&MARK);
    let sum_at = into.len();
    into.extend_from_slice(&[0; SUM_LEN]);
    into.extend_from_slice(&length.to_le_bytes());
    into.extend_from_slice(&payload);
    let sum = crc32(&into[sum_at + SUM_LEN..]);
    into[sum_at..sum_at + SUM_LEN].copy_from_slice(&sum.to_le_bytes());
    true
}

/// Reads a record back.
pub fn read<T: for<'t> Deserialize<'t>>(payload: &[u8]) -> Result<T, json::Fault> {
    json::decode_strict(payload)
}

/// The frames of a file, from the first on.
#[derive(Clone, Debug)]
pub struct Frames<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Frames<'b> {
    /// `at` is where a frame begins, or any place before one.
    pub const fn new(bytes: &'b [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The frame that begins here, if it is whole and sound.
    fn here(&self, at: usize) -> Option<(&'b [u8], usize)> {
        let head = self.bytes.get(at..at.checked_add(HEAD_LEN)?)?;
        let (mark, rest) = head.split_first_chunk()?;
        let (sum, rest) = rest.split_first_chunk()?;
        let length = rest.first_chunk()?;
        let size = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        if *mark != MARK || size > RECORD_MAX {
            return None;
        }
        let end = at + HEAD_LEN + size;
        let payload = self.bytes.get(at + HEAD_LEN..end)?;
        // Text holds no such byte: a head that is none hides no frame behind it, and no byte is summed up twice.
        if payload.contains(&MARK[0]) {
            return None;
        }
        let summed = &self.bytes[at + MARK.len() + SUM_LEN..end];
        (crc32(summed) == u32::from_le_bytes(*sum)).then_some((payload, end))
    }

    /// Where the next sound frame begins behind this place, or the end.
    fn next_sound(&self, at: usize) -> usize {
        let marked = |at: &usize| self.bytes[*at..].starts_with(&MARK) && self.here(*at).is_some();
        (at + 1..self.bytes.len()).find(marked).unwrap_or(self.bytes.len())
    }
}

impl<'b> Iterator for Frames<'b> {
    type Item = Found<'b>;

    fn next(&mut self) -> Option<Found<'b>> {
        if self.at >= self.bytes.len() {
            return None;
        }
        if let Some((payload, end)) = self.here(self.at) {
            self.at = end;
            return Some(Found::Record { payload, end });
        }
        let next = self.next_sound(self.at);
        let bytes = next - self.at;
        self.at = next;
        Some(Found::Damaged { bytes })
    }
}

/// How far a spool was acknowledged, as it is kept beside its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The number of a file.
    pub segment: u64,
    /// The bytes of it that are done with.
    pub offset: u64,
}

impl Place {
    /// Absent where the text says no place.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        json::decode_strict(bytes).ok()
    }

    pub fn encode(self) -> Vec<u8> {
        json::encode(&self)
    }
}

/// The name of a file of a spool.
pub fn segment_name(number: u64) -> String {
    alloc::format!("{number:020}.spool")
}

/// The number of the file with this name.
pub fn segment_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".spool")?;
    let is_one = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_one.then(|| digits.parse().ok()).flatten()
}
