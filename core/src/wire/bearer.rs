//! The bearer envelope `nsk_<env>_<payload>`, both directions.
//!
//! Specification: "Authentication".

use alloc::{format, string::String};

use thiserror::Error;
use zeroize::Zeroizing;

use super::grammar::{NodeSecretKey, Uuid, base64url_bytes, base64url_slice, base64url_text};
use crate::secret::Secret;

/// The bytes of the payload: a UUID and a key.
pub const PAYLOAD_LEN: usize = 48;

/// The payload as its text.
const PAYLOAD_TEXT_LEN: usize = PAYLOAD_LEN / 3 * 4;

/// Why an `Authorization` header is no bearer envelope; says which check failed and holds nothing of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the Authorization header is required")]
    Absent,
    #[error("the Authorization header must stand once")]
    Repeated,
    #[error("the Authorization scheme must be Bearer, followed by one space")]
    Scheme,
    #[error("the credential must be nsk_<env>_<payload> with a non-empty env")]
    Envelope,
    #[error("the envelope payload must be unpadded base64url")]
    Encoding,
    #[error("the envelope payload must be 48 bytes: the node UUID and the node secret key")]
    Length,
}

/// What an envelope claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    pub node: Uuid,
    pub key: NodeSecretKey,
}

/// What a payload holds; one of any other length is decoded only to tell what is wrong with it.
fn payload_bytes(text: &str) -> Result<Zeroizing<[u8; PAYLOAD_LEN]>, Refusal> {
    if text.len() != PAYLOAD_TEXT_LEN {
        let other = base64url_bytes(text).map(Zeroizing::new);
        return Err(other.map_or(Refusal::Encoding, |_| Refusal::Length));
    }
    let mut bytes = Zeroizing::new([0; PAYLOAD_LEN]);
    base64url_slice(text, &mut *bytes).map(|()| bytes).ok_or(Refusal::Encoding)
}

impl Credential {
    /// Reads the value of an `Authorization` header, in the order of the specification's checks.
    pub fn parse(header: &str) -> Result<Self, Refusal> {
        let envelope = header.strip_prefix("Bearer ").ok_or(Refusal::Scheme)?;
        let mut parts = envelope.splitn(3, '_');
        let (Some("nsk"), Some(env), Some(payload)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(Refusal::Envelope);
        };
        if env.is_empty() {
            return Err(Refusal::Envelope);
        }
        let bytes = payload_bytes(payload)?;
        let (node, key) = bytes.split_first_chunk().ok_or(Refusal::Length)?;
        let key = key.try_into().map_err(|_| Refusal::Length)?;
        Ok(Self { node: Uuid::from_bytes(*node), key: NodeSecretKey::from_bytes(key) })
    }

    /// The envelope without its scheme.
    pub fn envelope(&self, env: &str) -> Secret<String> {
        let mut payload = Zeroizing::new([0; PAYLOAD_LEN]);
        payload[..16].copy_from_slice(self.node.bytes());
        payload[16..].copy_from_slice(self.key.expose());
        let text = Zeroizing::new(base64url_text(&*payload));
        Secret::new(format!("nsk_{env}_{}", *text))
    }
}
