//! Thirty-two bytes: mesh keys, digests and the node secret key.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{
    Malformed,
    encoding::{base64_text, hex_text, key_bytes},
};
use crate::secret::Secret;

/// An X25519 public key, never all zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Reads 44 characters of padded standard base64.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        key_bytes(text).and_then(Self::from_bytes).ok_or(Malformed::PublicKey)
    }

    /// `None` for the all-zero key.
    pub fn from_bytes(bytes: [u8; 32]) -> Option<Self> {
        (bytes != [0; 32]).then_some(Self(bytes))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64_text(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A SHA-256 digest, read as hex or base64 and written as base64.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Checksum([u8; 32]);

impl Checksum {
    /// A digest as it was computed.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads 64 lower-case hex digits, or 44 characters of padded standard base64.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        match text.len() {
            64 => hex_bytes(text),
            _ => key_bytes(text),
        }
        .map(Self)
        .ok_or(Malformed::Checksum)
    }

    /// Reads 44 characters of padded standard base64 alone, where the contract refuses hex.
    pub fn parse_base64(text: &str) -> Result<Self, Malformed> {
        key_bytes(text).map(Self).ok_or(Malformed::Base64Key)
    }

    /// 64 lower-case hex digits, as a file's digest is usually shown.
    pub fn to_hex(self) -> String {
        hex_text(&self.0)
    }
}

fn hex_bytes(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    for (at, digit) in text.bytes().enumerate() {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        *bytes.get_mut(at / 2)? |= if at % 2 == 0 { value << 4 } else { value };
    }
    Some(bytes)
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64_text(&self.0))
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The Ed25519 key under which the control plane signs events.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SigningKey([u8; 32]);

impl SigningKey {
    /// Reads 44 characters of padded standard base64.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        key_bytes(text).map(Self).ok_or(Malformed::Base64Key)
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64_text(&self.0))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The key that the control plane and one node share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSecretKey(Secret<[u8; 32]>);

impl NodeSecretKey {
    /// A key out of an envelope.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Secret::new(bytes))
    }

    /// Reads 44 characters of padded standard base64.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        key_bytes(text).map(Self::from_bytes).ok_or(Malformed::Base64Key)
    }

    /// The bytes, for the one place that must send or compare them.
    pub const fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }

    /// The spelling of the `nsk` member and of the `node_secret_key` file.
    pub fn to_text(&self) -> Secret<String> {
        Secret::new(base64_text(self.0.expose()))
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Checksum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for SigningKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'t> Deserialize<'t> for SigningKey {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
