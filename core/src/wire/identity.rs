//! What the agent keeps on disk: one file a secret, and `identity.json` as the record that the others are complete.
//!
//! Specification: "Persisted identity (in DataDir)".

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::net::IpAddr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

pub use super::files::{Files, Flaw, Found, KeyFile};
use super::{
    bearer::Credential,
    grammar::{Checksum, Malformed, NodeSecretKey, SigningKey, Uuid},
    json::{self, Fault},
    register::RegisterResponse,
    rotation::Receipt,
};
use crate::secret::Secret;

/// The longest record that a registration makes, in bytes; a sound one is a few hundred long.
pub const RECORD_MAX: usize = 16 * 1024;

/// More than the mark of a spent token adds to a record.
const SPENT_TOKEN_LEN: usize = 80;

/// `identity.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityFile {
    pub node_id: String,
    pub mesh_ip: String,
    #[serde(default)]
    pub signing_public_key: String,
    /// Absent in older files.
    #[serde(default)]
    pub signing_key_id: String,
    /// Absent in older files.
    #[serde(default)]
    pub domain_mesh_cidr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_rotation: Option<Receipt>,
    /// Of the token that this identity took out of the token file. Absent in older files.
    #[serde(default, skip_serializing_if = "TokenDigest::is_none")]
    pub spent_token: TokenDigest,
}

impl IdentityFile {
    /// Reads the text of the file.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        json::decode_tolerant(bytes)
    }

    /// The text of the file, ending in a newline.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = json::encode(self);
        text.push(b'\n');
        text
    }
}

/// What stands for a bootstrap token that is spent: whoever has the token can tell that it is the one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenDigest(String);

impl TokenDigest {
    pub fn of(token: &Secret<String>) -> Self {
        Self(Checksum::from_bytes(Sha256::digest(token.expose()).into()).to_string())
    }

    /// Whether there was no token.
    pub const fn is_none(&self) -> bool {
        self.0.is_empty()
    }
}

/// Who this node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub node: Uuid,
    pub key: NodeSecretKey,
    pub file: IdentityFile,
}

/// Why files that are there make no identity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Corrupt {
    #[error("{file} {flaw}")]
    Flawed { file: &'static str, flaw: Flaw },
    #[error("identity.json: {0}")]
    Json(Fault),
    #[error("identity.json: node_id is not a canonical UUID")]
    NodeId,
    #[error("identity.json: mesh_ip is no IP address")]
    MeshIp,
    #[error("node_secret_key is missing")]
    SecretKeyMissing,
    #[error("node_secret_key: {0}")]
    SecretKey(Malformed),
    #[error("signing_public_key is missing")]
    SigningKeyMissing,
    #[error("signing_public_key: {0}")]
    SigningKey(Malformed),
    #[error("private_key is missing")]
    PrivateKeyMissing,
}

/// Why an accepted registration makes no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unusable {
    #[error("it is not the JSON of a registration")]
    Json,
    #[error("it is too large to be read")]
    Oversized,
    #[error("node_id is no canonical UUID")]
    NodeId,
    #[error("mesh_ip is no IP address")]
    MeshIp,
    #[error("nsk: {0}")]
    SecretKey(Malformed),
    #[error("signing_public_key: {0}")]
    SigningKey(Malformed),
}

/// Whether it is an IP address; anything else would be written into logs and configurations.
fn is_address(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

fn content<'f, T>(file: &'static str, found: &'f Found<T>) -> Result<Option<&'f T>, Corrupt> {
    match found {
        Found::Missing => Ok(None),
        Found::Foreign(kind) => Err(Corrupt::Flawed { file, flaw: Flaw::Foreign(kind) }),
        Found::Content(content) => Ok(Some(content)),
    }
}

/// Reads the record; one that does not end as one was lost in part.
fn record(bytes: &[u8]) -> Result<IdentityFile, Corrupt> {
    let flawed = |flaw| Corrupt::Flawed { file: "identity.json", flaw };
    if let Some(lost) = Flaw::of_lost(bytes) {
        return Err(flawed(lost));
    }
    IdentityFile::decode(bytes).map_err(|fault| match bytes.trim_ascii().ends_with(b"}") {
        true => Corrupt::Json(fault),
        false => flawed(Flaw::CutOff),
    })
}

/// Why a text is no key, told by the file where more is known than a broken rule.
fn told(file: &'static str, text: &str, fault: Corrupt) -> Corrupt {
    match Flaw::of_key(text.as_bytes()) {
        Flaw::NoKey => fault,
        flaw @ (Flaw::Empty | Flaw::Zeroed | Flaw::CutOff | Flaw::Foreign(_)) => {
            Corrupt::Flawed { file, flaw }
        }
    }
}

impl Identity {
    /// Reads an identity from its files: `Ok(None)` without `identity.json`, which alone says that one was completed.
    /// The `signing_public_key` file wins over the member.
    pub fn load(files: &Files) -> Result<Option<Self>, Corrupt> {
        let Some(bytes) = content("identity.json", &files.identity)? else { return Ok(None) };
        let mut file = record(bytes)?;
        let node = Uuid::parse_canonical(&file.node_id).map_err(|_| Corrupt::NodeId)?;
        if !is_address(&file.mesh_ip) {
            return Err(Corrupt::MeshIp);
        }
        let secret = content("node_secret_key", &files.node_secret_key)?
            .ok_or(Corrupt::SecretKeyMissing)?
            .expose()
            .trim();
        let key = NodeSecretKey::parse(secret)
            .map_err(|fault| told("node_secret_key", secret, Corrupt::SecretKey(fault)))?;
        let signing = content("signing_public_key", &files.signing_public_key)?
            .ok_or(Corrupt::SigningKeyMissing)?
            .trim();
        SigningKey::parse(signing)
            .map_err(|fault| told("signing_public_key", signing, Corrupt::SigningKey(fault)))?;
        file.signing_public_key = signing.to_string();
        match files.private_key {
            KeyFile::Sound => Ok(Some(Self { node, key, file })),
            KeyFile::Missing => Err(Corrupt::PrivateKeyMissing),
            KeyFile::Broken(flaw) => Err(Corrupt::Flawed { file: "private_key", flaw }),
        }
    }

    /// Takes an answer to a registration whose members make a bearer and files that would load.
    pub fn registered(answer: RegisterResponse) -> Result<Self, Unusable> {
        if !is_address(&answer.mesh_ip) {
            return Err(Unusable::MeshIp);
        }
        SigningKey::parse(&answer.signing_public_key).map_err(Unusable::SigningKey)?;
        let identity = Self {
            node: Uuid::parse_canonical(answer.node_id.as_str()).map_err(|_| Unusable::NodeId)?,
            key: NodeSecretKey::parse(answer.nsk.expose()).map_err(Unusable::SecretKey)?,
            file: IdentityFile {
                node_id: answer.node_id.0,
                mesh_ip: answer.mesh_ip,
                signing_public_key: answer.signing_public_key,
                signing_key_id: answer.signing_key_id,
                domain_mesh_cidr: answer.domain_mesh_cidr,
                last_rotation: None,
                spent_token: TokenDigest::default(),
            },
        };
        let length = identity.file.encode().len() + SPENT_TOKEN_LEN;
        if length <= RECORD_MAX { Ok(identity) } else { Err(Unusable::Oversized) }
    }

    /// What authenticates this node.
    pub fn credential(&self) -> Credential {
        Credential { node: self.node, key: self.key.clone() }
    }
}
