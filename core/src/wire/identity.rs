//! What the agent keeps on disk: one file a secret, and `identity.json` as the record that the others are complete.
//!
//! Specification: "Persisted identity (in DataDir)".

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::net::IpAddr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    bearer::Credential,
    grammar::{Malformed, NodeSecretKey, SigningKey, Uuid},
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
    #[error("private_key is not base64 of 32 bytes")]
    PrivateKey,
}

/// Why an accepted registration makes no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unusable {
    #[error("it is not the JSON of a registration")]
    Json,
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

impl Identity {
    /// Reads an identity from its files: `Ok(None)` without `identity.json`, which alone says that one was completed.
    /// The `signing_public_key` file wins over the member.
    pub fn load(files: &Files) -> Result<Option<Self>, Corrupt> {
        let Some(bytes) = &files.identity else { return Ok(None) };
        let mut file = IdentityFile::decode(bytes).map_err(Corrupt::Json)?;
        let node = Uuid::parse_canonical(&file.node_id).map_err(|_| Corrupt::NodeId)?;
        if !is_address(&file.mesh_ip) {
            return Err(Corrupt::MeshIp);
        }
        let secret = files.node_secret_key.as_ref().ok_or(Corrupt::SecretKeyMissing)?;
        let key = NodeSecretKey::parse(secret.expose().trim()).map_err(Corrupt::SecretKey)?;
        let signing = files.signing_public_key.as_deref().map(str::trim).unwrap_or_default();
        if signing.is_empty() {
            return Err(Corrupt::SigningKeyMissing);
        }
        SigningKey::parse(signing).map_err(Corrupt::SigningKey)?;
        file.signing_public_key = signing.to_string();
        match files.private_key {
            KeyFile::Sound => Ok(Some(Self { node, key, file })),
            KeyFile::Missing => Err(Corrupt::PrivateKeyMissing),
            KeyFile::Broken => Err(Corrupt::PrivateKey),
        }
    }

    /// Takes an answer to a registration whose members make a bearer and files that would load.
    pub fn registered(answer: RegisterResponse) -> Result<Self, Unusable> {
        if !is_address(&answer.mesh_ip) {
            return Err(Unusable::MeshIp);
        }
        SigningKey::parse(&answer.signing_public_key).map_err(Unusable::SigningKey)?;
        Ok(Self {
            node: Uuid::parse_canonical(answer.node_id.as_str()).map_err(|_| Unusable::NodeId)?,
            key: NodeSecretKey::parse(answer.nsk.expose()).map_err(Unusable::SecretKey)?,
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
