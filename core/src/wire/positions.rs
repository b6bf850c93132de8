//! How far the sources of logs and audit records were read, as it is kept over restarts.
//!
//! Specification: `decisions.md` section 8 (Offsets and cursors of log sources).

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::json::{self, Fault};

/// The most places that are kept: one for the journal, one a file.
pub const POSITIONS_MAX: usize = 2_048;

/// The longest name of a place and the longest cursor, in bytes of JSON without its quotes.
pub const PLACE_MAX: usize = 4 << 10;

/// No file of them that is written is longer, in bytes.
pub const POSITIONS_FILE_MAX: usize = 10 << 20;

/// Where each source goes on, by the name of its place: `journald`, `file:<path>`, `k8s-audit:<path>`, `auditd:<path>`; of
/// files that came into the place of one that is not read to its end, see [`later`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Positions {
    pub places: BTreeMap<String, Position>,
}

/// Up to where a place was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Kept", into = "Kept")]
pub enum Position {
    /// What journald calls the last entry that was read.
    Cursor(String),
    /// How much of a file was read, which a rename does not change.
    Offset {
        device: u64,
        inode: u64,
        /// In bytes, behind the last whole line.
        offset: u64,
        /// How many bytes from its beginning `head` was computed of, so that an inode that was given to another file is
        /// noticed.
        head_len: u64,
        /// CRC or FNV of them; equal where the file is the same.
        head: u64,
    },
}

/// A position as it stands in the file: one member, which names its kind.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Kept {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<Offset>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Offset {
    device: u64,
    inode: u64,
    offset: u64,
    head_len: u64,
    head: u64,
}

impl From<Position> for Kept {
    fn from(position: Position) -> Self {
        match position {
            Position::Cursor(cursor) => Self { cursor: Some(cursor), offset: None },
            Position::Offset { device, inode, offset, head_len, head } => {
                let offset = Offset { device, inode, offset, head_len, head };
                Self { cursor: None, offset: Some(offset) }
            }
        }
    }
}

impl TryFrom<Kept> for Position {
    type Error = &'static str;

    fn try_from(kept: Kept) -> Result<Self, Self::Error> {
        match (kept.cursor, kept.offset) {
            (Some(cursor), None) => Ok(Self::Cursor(cursor)),
            (None, Some(Offset { device, inode, offset, head_len, head })) => {
                Ok(Self::Offset { device, inode, offset, head_len, head })
            }
            (None, None) | (Some(_), Some(_)) => Err("must have one of cursor and offset"),
        }
    }
}

/// How many files are kept that came into the place of one that is not read to its end.
pub const LATER_MAX: usize = 16;

/// The name of the place of the file that came so many files behind the one that is read, 0 being that itself:
/// `file:<path>`, then `file+1:<path>`.
pub fn later(kind: &str, path: &str, nth: usize) -> String {
    match nth {
        0 => format!("{kind}:{path}"),
        _ => format!("{kind}+{nth}:{path}"),
    }
}

impl Positions {
    /// The places of the files of a path with their names, the oldest first.
    pub fn of_path(&self, kind: &str, path: &str) -> Vec<(String, &Position)> {
        let names = (0..=LATER_MAX).map(|nth| later(kind, path, nth));
        names
            .filter_map(|name| Some((self.places.get(&name)?, name)))
            .map(|(at, name)| (name, at))
            .collect()
    }

    /// The paths of a kind that have places.
    pub fn paths<'p>(&'p self, kind: &'p str) -> impl Iterator<Item = &'p str> {
        let of_kind = move |name: &'p String| {
            let (before, path) = name.split_once(':')?;
            let nth = before.strip_prefix(kind)?;
            (nth.is_empty() || nth.starts_with('+')).then_some(path)
        };
        self.places.keys().filter_map(of_kind)
    }

    /// Reads the file strictly.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        json::decode_strict(bytes)
    }

    pub fn encode(&self) -> Vec<u8> {
        json::encode(self)
    }
}
