//! The files below `state/` in the data directory: one a report, with the mark of whether it was delivered; one a data
//! entry of the last pull, as the local API shows it; one for all metadata, each key with an object that holds `value`;
//! one for peers and policy, with the time of the pull and the node it was for.
//!
//! | What stands in the file of a report | What it means |
//! |---|---|
//! | `entry` | the report, not delivered yet |
//! | `entry` and `synced` | the report, delivered for the node that is named |
//! | `deleted` | the report of this key was deleted, and the control plane was not told yet |
//!
//! Specification: `gaps-agent.md` section 1.4; `decisions.md` section 5 (Report sync after a restart, Data keys with
//! `/`).

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use serde::{Deserialize, Serialize};

use super::{
    grammar::{Malformed, Name, ReportKey, sha256_hex},
    http::percent_decode,
    json::{self, Fault, Raw},
    local::{DataEntry, PeerRow, ReportEntry},
    timestamp::Timestamp,
};

/// The file of all metadata.
pub const METADATA: &str = "metadata.json";

/// The file of the keys that events are signed with.
pub const SIGNING_KEYS: &str = "signing_keys.json";

/// The file of what the files of this node were when they were seen first.
pub const CHECKSUMS: &str = "checksums.json";

/// The file of the peers and the policy of the last pull.
pub const NETWORK: &str = "network.json";

/// The file of how far the sources of logs and audit records were read.
pub const POSITIONS: &str = "positions.json";

/// Every file that lies in `state/` itself.
pub const ROOT_FILES: [&str; 5] = [CHECKSUMS, METADATA, NETWORK, POSITIONS, SIGNING_KEYS];

/// The largest file of what was pulled that is read: a pull is at most 10 MiB, and may be one value.
pub const PULLED_FILE_MAX: usize = 12 << 20;

/// How much is read of all that was pulled: a whole pull, the frames of its entries, and what is to be removed.
pub const PULLED_MAX: usize = 32 << 20;

/// What the name of every file ends with.
const ENDING: &str = ".json";

/// The longest name of a file that spells its key, in bytes, so that there is room for what is put before and behind it.
const NAME_MAX: usize = 200;

/// How the name begins that holds the digest of a key in the place of it; no escape begins so.
const DIGEST: &str = "%-";

/// What stands in the name of a file that was damaged, behind the name that it had.
const DAMAGED: &str = ".damaged-";

/// The longest name that a file can have, in bytes.
const DISK_NAME_MAX: usize = 255;

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
    /// A checksum or a fingerprint in it is none.
    Checksum(Malformed),
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

/// What stands under a key: the report with the node for which it was delivered, or nothing.
type Held = Option<(ReportEntry, Option<String>)>;

impl File {
    fn read(bytes: &[u8]) -> Result<(String, Held), Damage> {
        present(bytes)?;
        let file: Self = json::decode_tolerant(bytes).map_err(Damage::Malformed)?;
        match (file.entry, file.deleted) {
            (Some(entry), None) => Ok((entry.key.clone(), Some((entry, file.synced)))),
            (None, Some(named)) => Ok((named, None)),
            (None, None) | (Some(_), Some(_)) => Err(Damage::Nothing),
        }
    }
}

/// The key of a sound report that no report can have any more, where its file is named after it, escaped or not; one
/// that names no path of the control plane is none.
pub fn outdated_key(name: &str, bytes: &[u8]) -> Option<Name> {
    let (key, _) = File::read(bytes).ok()?;
    let is_named = name.strip_suffix(ENDING) == Some(key.as_str()) || name == file_name(&key);
    let is_path = !matches!(key.as_str(), "" | "." | "..") && !key.contains('\0');
    let is_outdated = ReportKey::parse(&key).is_err() && key.len() <= DISK_NAME_MAX;
    (is_named && is_path && is_outdated).then_some(Name(key))
}

impl KeptReport {
    /// Reads the content of the file that is kept for `key`.
    pub fn decode(key: &ReportKey, bytes: &[u8]) -> Result<Self, Damage> {
        let (named, held) = File::read(bytes)?;
        let kept = match held {
            Some((entry, synced)) => Self::Entry { entry, synced },
            None => Self::Deleted(key.clone()),
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
        line(&file)
    }
}

/// Reads the content of a data entry's file, whose name has to be the one of its key.
pub fn decode_data(name: &str, bytes: &[u8]) -> Result<DataEntry, Damage> {
    present(bytes)?;
    let entry: DataEntry = json::decode_tolerant(bytes).map_err(Damage::Malformed)?;
    if file_name(&entry.key) == name { Ok(entry) } else { Err(Damage::Key) }
}

/// The content of a data entry's file.
pub fn encode_data(entry: &DataEntry) -> Vec<u8> {
    line(entry)
}

/// One of the metadata as it stands on the disk; an object, so that more can be kept of it one day.
#[derive(Serialize, Deserialize)]
struct Metadatum {
    value: String,
}

/// Reads the content of [`METADATA`].
pub fn decode_metadata(bytes: &[u8]) -> Result<BTreeMap<String, String>, Damage> {
    present(bytes)?;
    let kept: BTreeMap<String, Metadatum> =
        json::decode_tolerant(bytes).map_err(Damage::Malformed)?;
    Ok(kept.into_iter().map(|(key, kept)| (key, kept.value)).collect())
}

/// The content of [`METADATA`].
pub fn encode_metadata(metadata: &BTreeMap<String, String>) -> Vec<u8> {
    let kept: BTreeMap<_, _> =
        metadata.iter().map(|(key, value)| (key, Metadatum { value: value.clone() })).collect();
    line(&kept)
}

/// What stands in [`NETWORK`]: for whom and when the last pull was, with its peers and its policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptNetwork {
    pub node_id: String,
    pub pulled_at: Timestamp,
    pub peers: Vec<PeerRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Raw>,
}

/// Reads the content of [`NETWORK`].
pub fn decode_network(bytes: &[u8]) -> Result<KeptNetwork, Damage> {
    present(bytes)?;
    json::decode_tolerant(bytes).map_err(Damage::Malformed)
}

/// The content of [`NETWORK`].
pub fn encode_network(network: &KeptNetwork) -> Vec<u8> {
    line(network)
}

/// Tells content from what a power failure leaves of it.
pub(super) fn present(bytes: &[u8]) -> Result<(), Damage> {
    if bytes.is_empty() {
        return Err(Damage::Empty);
    }
    if bytes.iter().all(|byte| *byte == 0) { Err(Damage::Zeroed) } else { Ok(()) }
}

/// A value as the one line of a file.
pub(super) fn line<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = json::encode(value);
    bytes.push(b'\n');
    bytes
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Zeroed => f.write_str("it holds only zero bytes"),
            Self::Malformed(fault) => write!(f, "it is cut off or changed: {fault}"),
            Self::Nothing => f.write_str("it holds neither a report nor the deletion of one"),
            Self::Key => f.write_str("its key is not the one of its name"),
            Self::Checksum(fault) => write!(f, "it was changed: a checksum {fault}"),
        }
    }
}

/// The name of the file for a key, whatever the key holds: what is not a lower-case letter, a digit, a hyphen, an
/// underscore or a dot that is not the first character is written as `%` and two hexadecimal digits. Where that grows
/// too long, the digest of the key stands in its place, and the key is found in the file.
pub fn file_name(key: &str) -> String {
    let spelled = spelled(key);
    if spelled.len() <= NAME_MAX {
        return spelled;
    }
    format!("{DIGEST}{}{ENDING}", sha256_hex(key.as_bytes()))
}

fn spelled(key: &str) -> String {
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

/// The key that a file's name spells; `None` for one that does not, or that [`file_name`] does not give.
pub fn file_key(name: &str) -> Option<String> {
    let key = percent_decode(name.strip_suffix(ENDING)?)?;
    (file_name(&key) == name).then_some(key)
}

/// The name that a damaged file is given, under which nobody looks for it; `None` where it would be too long.
pub fn damaged_name(name: &str, time: Timestamp) -> Option<String> {
    let aside = format!("{name}{DAMAGED}{time}");
    (aside.len() <= DISK_NAME_MAX).then_some(aside)
}

/// Whether [`damaged_name`] gave this name. A key may hold the same text, but the name of its file ends otherwise.
pub fn is_damaged_name(name: &str) -> bool {
    name.contains(DAMAGED) && !name.ends_with(ENDING)
}
