//! The files below `state/` in the data directory: one a report, with the mark of whether it was delivered.
//!
//! | What stands in the file | What it means |
//! |---|---|
//! | `entry` | the report, not delivered yet |
//! | `entry` and `synced` | the report, delivered for the node that is named |
//! | `deleted` | the report of this key was deleted, and the control plane was not told yet |
//!
//! Specification: `gaps-agent.md` section 1.4; `decisions.md` section 5 (Report sync after a restart, Data keys with
//! `/`).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use serde::{Deserialize, Serialize};

use super::{
    grammar::ReportKey,
    http::percent_decode,
    json::{self, Fault},
    local::ReportEntry,
};

/// What the name of every file ends with.
const ENDING: &str = ".json";

/// A report as it stands on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptReport {
    Entry {
        entry: ReportEntry,
        /// The node for which it was delivered.
        synced: Option<String>,
    },
    Deleted(ReportKey),
}

/// Why a file is no report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    Empty,
    /// What a power failure leaves of content that was never written.
    Zeroed,
    Malformed(Fault),
    /// It holds neither a report nor the deletion of one.
    Nothing,
    /// Its key breaks the grammar, or is not the one that its name tells.
    Key,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<ReportEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    synced: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<String>,
}

impl KeptReport {
    /// Reads the content of the file that is kept for `key`.
    pub fn decode(key: &ReportKey, bytes: &[u8]) -> Result<Self, Damage> {
        if bytes.is_empty() {
            return Err(Damage::Empty);
        }
        if bytes.iter().all(|byte| *byte == 0) {
            return Err(Damage::Zeroed);
        }
        let file: File = json::decode_tolerant(bytes).map_err(Damage::Malformed)?;
        let (kept, named) = match (file.entry, file.deleted) {
            (Some(entry), None) => {
                let named = entry.key.clone();
                (Self::Entry { entry, synced: file.synced }, named)
            }
            (None, Some(named)) => (Self::Deleted(key.clone()), named),
            (None, None) | (Some(_), Some(_)) => return Err(Damage::Nothing),
        };
        if named == key.as_str() { Ok(kept) } else { Err(Damage::Key) }
    }

    /// The content of its file.
    pub fn encode(&self) -> Vec<u8> {
        let file = match self {
            Self::Entry { entry, synced } => {
                File { entry: Some(entry.clone()), synced: synced.clone(), deleted: None }
            }
            Self::Deleted(key) => {
                File { deleted: Some(key.as_str().to_string()), ..File::default() }
            }
        };
        let mut bytes = json::encode(&file);
        bytes.push(b'\n');
        bytes
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Zeroed => f.write_str("it holds only zero bytes"),
            Self::Malformed(fault) => write!(f, "it is cut off or changed: {fault}"),
            Self::Nothing => f.write_str("it holds neither a report nor the deletion of one"),
            Self::Key => f.write_str("its key is not the one of its name"),
        }
    }
}

/// The name of the file for a key, whatever the key holds: what is not a lower-case letter, a digit, a hyphen, an
/// underscore or a dot that is not the first character is written as `%` and two hexadecimal digits.
pub fn file_name(key: &str) -> String {
    let mut name = String::with_capacity(key.len() + ENDING.len());
    for (at, byte) in key.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if at > 0 => name.push('.'),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    name.push_str(ENDING);
    name
}

/// The key of a file's name; `None` for a name that [`file_name`] does not give.
pub fn file_key(name: &str) -> Option<String> {
    let key = percent_decode(name.strip_suffix(ENDING)?)?;
    (file_name(&key) == name).then_some(key)
}
