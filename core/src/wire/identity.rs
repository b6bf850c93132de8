//! What the agent keeps on disk: one file a secret, and `identity.json` as the record that the others are complete.
//!
//! Specification: "Persisted identity (in DataDir)".

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    bearer::Credential,
    grammar::{Malformed, NodeSecretKey, Uuid},
    json::{self, Fault},
    register::RegisterResponse,
    rotation::Receipt,
};
use crate::secret::Secret;

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

/// A private key file as its reader found it; the key itself stays outside this crate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyFile {
    #[default]
    Missing,
    Broken,
    Sound,
}

/// The identity files as they were read; `None` is a file that is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    pub identity: Option<Vec<u8>>,
    pub node_secret_key: Option<Secret<String>>,
    pub signing_public_key: Option<String>,
    pub private_key: KeyFile,
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
    #[error("identity.json: {0}")]
    Json(Fault),
    #[error("identity.json: node_id is not a canonical UUID")]
    NodeId,
    #[error("identity.json: mesh_ip is empty")]
    MeshIp,
    #[error("node_secret_key is missing")]
    SecretKeyMissing,
    #[error("node_secret_key: {0}")]
    SecretKey(Malformed),
    #[error("signing_public_key is missing")]
    SigningKeyMissing,
    #[error("private_key is missing")]
    PrivateKeyMissing,
    #[error("private_key is not base64 of 32 bytes")]
    PrivateKey,
}

impl Identity {
    /// Reads an identity from its files: `Ok(None)` without `identity.json`, which alone says that one was completed.
    /// The `signing_public_key` file wins over the member.
    pub fn load(files: &Files) -> Result<Option<Self>, Corrupt> {
        let Some(bytes) = &files.identity else { return Ok(None) };
        let mut file = IdentityFile::decode(bytes).map_err(Corrupt::Json)?;
        let node = Uuid::parse_canonical(&file.node_id).map_err(|_| Corrupt::NodeId)?;
        if file.mesh_ip.is_empty() {
            return Err(Corrupt::MeshIp);
        }
        let secret = files.node_secret_key.as_ref().ok_or(Corrupt::SecretKeyMissing)?;
        let key = NodeSecretKey::parse(secret.expose().trim()).map_err(Corrupt::SecretKey)?;
        let signing = files.signing_public_key.as_deref().map(str::trim).unwrap_or_default();
        if signing.is_empty() {
            return Err(Corrupt::SigningKeyMissing);
        }
        file.signing_public_key = signing.to_string();
        match files.private_key {
            KeyFile::Sound => Ok(Some(Self { node, key, file })),
            KeyFile::Missing => Err(Corrupt::PrivateKeyMissing),
            KeyFile::Broken => Err(Corrupt::PrivateKey),
        }
    }

    /// Takes an answer to a registration; `None` where its `nsk` or `node_id` makes no bearer, or where the files
    /// written from it would not load.
    pub fn registered(answer: RegisterResponse) -> Option<Self> {
        if answer.mesh_ip.is_empty() || answer.signing_public_key.trim().is_empty() {
            return None;
        }
        Some(Self {
            node: Uuid::parse_canonical(answer.node_id.as_str()).ok()?,
            key: NodeSecretKey::parse(answer.nsk.expose()).ok()?,
            file: IdentityFile {
                node_id: answer.node_id.0,
                mesh_ip: answer.mesh_ip,
                signing_public_key: answer.signing_public_key,
                signing_key_id: answer.signing_key_id,
                domain_mesh_cidr: answer.domain_mesh_cidr,
                last_rotation: None,
            },
        })
    }

    /// What authenticates this node.
    pub fn credential(&self) -> Credential {
        Credential { node: self.node, key: self.key.clone() }
    }
}
