//! Registration: the request, the answer, and the request as the plane first reads it.
//!
//! Specification: "Registration" and "POST /v1/register".

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize, Serializer};

use super::{
    grammar::{Name, PublicKey, Uuid},
    json::{self, Raw},
};
use crate::secret::Secret;

/// The longest string member, in characters.
pub const STRING_MAX: usize = 4096;

/// What an agent sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RegisterRequest {
    pub project_id: String,
    pub resource_handle: String,
    #[serde(serialize_with = "expose")]
    pub bootstrap_token: Secret<String>,
    pub nonce: Uuid,
    pub public_key: PublicKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_resource_id: Option<String>,
}

/// The request as it came: any member may be absent or of the wrong type, and each is judged in its turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegisterDraft {
    pub project_id: Loose,
    pub resource_handle: Loose,
    pub bootstrap_token: Loose,
    pub nonce: Loose,
    pub public_key: Loose,
    pub requested_resource_id: Loose,
}

/// A member that should be a string.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Loose(Option<Raw>);

/// A member that is no string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAString;

impl Loose {
    /// The string, `None` when absent.
    pub fn text(&self) -> Result<Option<String>, NotAString> {
        match &self.0 {
            None => Ok(None),
            Some(raw) => {
                json::decode_tolerant(raw.text().as_bytes()).map(Some).map_err(|_| NotAString)
            }
        }
    }
}

/// What a registered node learns, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterResponse {
    pub node_id: Name,
    pub mesh_ip: String,
    pub signing_public_key: String,
    /// May be missing, as in older identity files: a 201 is given once, and these members are no reason to lose it.
    #[serde(default)]
    pub signing_key_id: String,
    #[serde(serialize_with = "expose", deserialize_with = "conceal")]
    pub nsk: Secret<String>,
    #[serde(default)]
    pub peer_snapshot: Vec<RegisterPeer>,
    #[serde(default)]
    pub domain_mesh_cidr: String,
}

/// A peer as registration tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RegisterPeer {
    pub node_id: Name,
    pub mesh_ip: String,
    pub public_key: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fallback_endpoint: String,
}

pub(super) fn expose<S: Serializer>(
    secret: &Secret<String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

pub(super) fn conceal<'t, D: serde::Deserializer<'t>>(
    deserializer: D,
) -> Result<Secret<String>, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}
