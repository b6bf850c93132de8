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

/// Where each source goes on, by the name of its place: `journald`, `file:<path>`, `k8s-audit:<path>`, `auditd:<path>`; of
/// files that came into the place of others, see [`file_name`].
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

/// How many files of a path are kept besides the one that is read: those that came into its place meanwhile.
pub const LATER_MAX: usize = 16;

/// The name of the place of a file: `file:<path>`, and `file+1:<path>` with a growing number where another file of the path
/// had one before. None is used again as long as its process lives, so that no place of one stands for another.
pub fn file_name(kind: &str, path: &str, nth: u64) -> String {
    match nth {
        0 => format!("{kind}:{path}"),
        _ => format!("{kind}+{nth}:{path}"),
    }
}

impl Positions {
    /// The places of the files of a kind by their paths, each with its number, the oldest first.
    pub fn files(&self, kind: &str) -> BTreeMap<&str, Vec<(u64, &Position)>> {
        let mut files: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (name, position) in &self.places {
            let Some((before, path)) = name.split_once(':') else { continue };
            let nth = match before.strip_prefix(kind) {
                Some("") => Some(0),
                Some(nth) => nth.strip_prefix('+').and_then(|nth| nth.parse().ok()),
                None => None,
            };
            if let Some(nth) = nth {
                files.entry(path).or_default().push((nth, position));
            }
        }
        files.values_mut().for_each(|places| places.sort_unstable_by_key(|(nth, _)| *nth));
        files
    }

    /// Becomes these places, and tells what changes by that.
    pub fn turn_into(
        &mut self,
        places: BTreeMap<String, Position>,
    ) -> Vec<(String, Option<Position>)> {
        let gone = self.places.keys().filter(|name| !places.contains_key(*name));
        let mut changes: Vec<_> = gone.map(|name| (name.clone(), None)).collect();
        let changed = places.iter().filter(|(name, place)| self.places.get(*name) != Some(place));
        changes.extend(changed.map(|(name, place)| (name.clone(), Some(place.clone()))));
        self.places = places;
        changes
    }

    /// Reads the file strictly.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        json::decode_strict(bytes)
    }

    pub fn encode(&self) -> Vec<u8> {
        json::encode(self)
    }
}
