//! `state/signing_keys.json`: the keys that events are signed with, once they are not those of the registration any more.
//!
//! The file counts for the one registration that it names, so that neither another identity nor a registration afresh
//! inherits its keys. What names a registration is made of what only that one brought: the node, its secret key, and the
//! signing key with its id.
//!
//! Specification: `gaps-agent.md` section 2.5 (rotation event); `decisions.md` section 5 (Rotated signing keys) and
//! section 8 (Old identity without `signing_key_id`).

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    grammar::{SigningKey, base64_text},
    identity::Identity,
    json,
    kept::{Damage, line, present},
    timestamp::Timestamp,
};

/// The keys of one registration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeySet {
    pub node_id: String,
    /// Names the registration, and tells nothing of its secret key.
    pub registration: String,
    pub current: Key,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Former>,
    /// The time of the event that brought the current key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotated_at: Option<Timestamp>,
    /// The ids of keys that do not count any more, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retired: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Empty as long as it is not known, which only the key of an old registration may be.
    pub key_id: String,
    pub public_key: SigningKey,
}

/// A key that still counts for a while.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Former {
    pub key_id: String,
    pub public_key: SigningKey,
    /// At this time it counts no more.
    pub transition_expires: Timestamp,
}

impl KeySet {
    /// The keys that a registration brought; `None` for a key that is none.
    pub fn registered(identity: &Identity) -> Option<Self> {
        let file = &identity.file;
        let public_key = SigningKey::parse(&file.signing_public_key).ok()?;
        Some(Self {
            node_id: file.node_id.clone(),
            registration: registration(identity),
            current: Key { key_id: file.signing_key_id.clone(), public_key },
            previous: None,
            rotated_at: None,
            retired: Vec::new(),
        })
    }

    /// Reads the content of the file.
    pub fn decode(bytes: &[u8]) -> Result<Self, Damage> {
        present(bytes)?;
        json::decode_tolerant(bytes).map_err(Damage::Malformed)
    }

    /// The content of the file.
    pub fn encode(&self) -> Vec<u8> {
        line(self)
    }
}

/// What names a registration: a digest of its parts, each of which ends where its length says.
fn registration(identity: &Identity) -> String {
    let file = &identity.file;
    let texts = [&file.node_id, &file.signing_public_key, &file.signing_key_id];
    let mut digest = Sha256::new();
    for part in texts.map(String::as_bytes).into_iter().chain([&identity.key.expose()[..]]) {
        digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        digest.update(part);
    }
    base64_text(&digest.finalize())
}
