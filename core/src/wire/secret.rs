//! The secret envelope: 12 bytes of nonce, then what AES-256-GCM made of the value under the node secret key.
//!
//! There is no additional data. The plane seals, the agent opens; what does not open tells nothing of why.
//!
//! Specification: "Secret envelope" and "GET /v1/nodes/{id}/secrets/{key}"; `gaps-control-plane.md` sections 1.15
//! and 1.17 (vector).

use alloc::vec::Vec;

use aes_gcm::{AeadInOut, Aes256Gcm, KeyInit, Tag};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::grammar::NodeSecretKey;
use crate::secret::Secret;

/// The number that no two envelopes of one key share, in front of the ciphertext.
pub const NONCE_LEN: usize = 12;

/// The authentication tag behind the ciphertext.
pub const TAG_LEN: usize = 16;

/// "Secret ciphertext: 1 MiB (plus 28 bytes overhead)".
pub const CIPHERTEXT_MAX: usize = 1 << 20;

/// The longest envelope, in bytes.
pub const ENVELOPE_MAX: usize = NONCE_LEN + CIPHERTEXT_MAX + TAG_LEN;

/// A value that is too long for an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the value is over 1 MiB")]
pub struct TooLong;

/// Why an envelope does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unopened {
    #[error("the envelope is over 1 MiB and 28 bytes")]
    TooLong,
    #[error("the envelope is shorter than its nonce and tag")]
    TooShort,
    #[error("the envelope was sealed under another key, or changed on its way")]
    Unauthentic,
}

/// Seals a value; the nonce must never have been used with this key before.
pub fn seal(key: &NodeSecretKey, nonce: [u8; NONCE_LEN], value: &[u8]) -> Result<Vec<u8>, TooLong> {
    if value.len() > CIPHERTEXT_MAX {
        return Err(TooLong);
    }
    let mut envelope = Vec::with_capacity(NONCE_LEN + value.len() + TAG_LEN);
    envelope.extend_from_slice(&nonce);
    envelope.extend_from_slice(value);
    let text = &mut envelope[NONCE_LEN..];
    let tag = cipher(key).encrypt_inout_detached(&nonce.into(), &[], text.into());
    envelope.extend_from_slice(&tag.map_err(|_| TooLong)?);
    Ok(envelope)
}

/// Opens an envelope; nothing is decrypted before its tag has been checked.
pub fn open(key: &NodeSecretKey, envelope: &[u8]) -> Result<Secret<Vec<u8>>, Unopened> {
    if envelope.len() > ENVELOPE_MAX {
        return Err(Unopened::TooLong);
    }
    let (nonce, rest) = envelope.split_first_chunk::<NONCE_LEN>().ok_or(Unopened::TooShort)?;
    let (text, tag) = rest.split_last_chunk::<TAG_LEN>().ok_or(Unopened::TooShort)?;
    let mut value = text.to_vec();
    let tag: Tag = (*tag).into();
    cipher(key)
        .decrypt_inout_detached(&(*nonce).into(), &[], value.as_mut_slice().into(), &tag)
        .map_err(|_| Unopened::Unauthentic)?;
    Ok(Secret::new(value))
}

fn cipher(key: &NodeSecretKey) -> Aes256Gcm {
    Aes256Gcm::new(key.expose().into())
}

/// The body of `POST /test/configure-secrets`; only what is above zero is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfigureSecrets {
    pub current_version: i64,
    /// How many of the next requests are refused as too many.
    pub rate_limit_next: i64,
    pub retry_after_seconds: i64,
}
