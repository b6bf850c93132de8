//! Texts with a grammar, as types that only `parse` makes.
//!
//! Specification: "Resources and their fields" and `decisions.md` section 5 (Base64, `ip:port`).

use alloc::string::{String, ToString};
use core::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;
use zeroize::Zeroize;

use crate::secret::Secret;

/// A text outside its grammar; the message tells the grammar and never the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    #[error("must be 44 characters of standard base64 for 32 bytes")]
    Base64Key,
    #[error("must be 64 lower-case hex digits or 44 characters of standard base64 for 32 bytes")]
    Checksum,
    #[error("must be host:port with an IP address and a port from 0 to 65535")]
    PeerAddr,
    #[error("must be a base64 X25519 key that is not all zero")]
    PublicKey,
    #[error(
        "must begin with a letter and hold at most 128 of a-z, 0-9, dot, underscore and hyphen"
    )]
    ReportKey,
    #[error("must begin with a letter and hold at most 63 of a-z, 0-9, underscore and hyphen")]
    SecretKey,
    #[error("must be psb_<env>_<project>_<node|bridge>_<at least 20 of a-z, 2-7>")]
    Token,
    #[error("must be a UUID of 8-4-4-4-12 hex digits")]
    Uuid,
}

/// Standard base64 of exactly 32 bytes: padded, canonical, without white space.
fn key_bytes(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 33];
    if text.len() != 44 {
        return None;
    }
    let length = STANDARD.decode_slice(text, &mut bytes).ok()?;
    let key = bytes[..length].try_into().ok();
    bytes.zeroize();
    key
}

/// Standard base64, padded, of any bytes; `None` where it is not canonical.
pub fn base64_bytes(text: &str) -> Option<alloc::vec::Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Writes bytes as padded standard base64.
pub fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn base64url_bytes(text: &str) -> Option<alloc::vec::Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

pub(crate) fn base64url_text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A UUID of any version.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    pub const ZERO: Self = Self([0; 16]);

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// A UUIDv4 made of drawn bytes.
    pub const fn drawn(mut bytes: [u8; 16]) -> Self {
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }

    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads 8-4-4-4-12 hex digits of either case, and no other form.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let mut bytes = [0; 16];
        let mut digits = 0;
        if text.len() != 36 {
            return Err(Malformed::Uuid);
        }
        for (at, character) in text.chars().enumerate() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if character != '-' {
                    return Err(Malformed::Uuid);
                }
                continue;
            }
            let digit = character
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
                .ok_or(Malformed::Uuid)?;
            bytes[digits / 2] = bytes[digits / 2] << 4 | digit;
            digits += 1;
        }
        Ok(Self(bytes))
    }

    /// Reads the one spelling that this type writes.
    pub fn parse_canonical(text: &str) -> Result<Self, Malformed> {
        let uuid = Self::parse(text)?;
        if uuid.to_string() == text { Ok(uuid) } else { Err(Malformed::Uuid) }
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An X25519 public key, never all zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
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
        f.write_str(&STANDARD.encode(self.0))
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
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn parse(text: &str) -> Result<Self, Malformed> {
        match text.len() {
            64 => hex_bytes(text),
            _ => key_bytes(text),
        }
        .map(Self)
        .ok_or(Malformed::Checksum)
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
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The key that the control plane and one node share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSecretKey(Secret<[u8; 32]>);

impl NodeSecretKey {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Secret::new(bytes))
    }

    /// Reads 44 characters of padded standard base64.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        key_bytes(text).map(Self::from_bytes).ok_or(Malformed::Base64Key)
    }

    pub const fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }

    /// The spelling of the `nsk` member and of the `node_secret_key` file.
    pub fn to_text(&self) -> Secret<String> {
        Secret::new(STANDARD.encode(self.0.expose()))
    }
}

/// What a bootstrap token admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Bridge,
    Node,
}

/// A bootstrap token of the form `psb_<env>_<project>_<kind>_<random>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapToken {
    pub kind: TokenKind,
    random: Secret<String>,
}

impl BootstrapToken {
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let mut parts = text.split('_');
        let mut part = || parts.next().ok_or(Malformed::Token);
        let (prefix, env, project, kind, random) = (part()?, part()?, part()?, part()?, part()?);
        let kind = match kind {
            "bridge" => TokenKind::Bridge,
            "node" => TokenKind::Node,
            _ => return Err(Malformed::Token),
        };
        let legal = prefix == "psb"
            && !env.is_empty()
            && env.bytes().all(|byte| byte.is_ascii_lowercase())
            && !project.is_empty()
            && project.bytes().all(is_base32)
            && random.len() >= 20
            && random.bytes().all(is_base32)
            && parts.next().is_none();
        if legal {
            Ok(Self { kind, random: Secret::new(random.to_string()) })
        } else {
            Err(Malformed::Token)
        }
    }

    /// Whether the random segment holds a word; the fixture reads its own refusals there.
    pub fn mentions(&self, word: &str) -> bool {
        self.random.expose().contains(word)
    }
}

const fn is_base32(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'2'..=b'7')
}

macro_rules! names {
    ($(#[$doc:meta])* $name:ident, $fault:ident, $max:literal, $others:pat) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            pub const LEN_MAX: usize = $max;

            pub fn parse(text: &str) -> Result<Self, Malformed> {
                let legal = text.starts_with(|first: char| first.is_ascii_lowercase())
                    && text.len() <= Self::LEN_MAX
                    && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | $others));
                if legal { Ok(Self(text.to_string())) } else { Err(Malformed::$fault) }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    };
}

names! {
    /// The key of a report entry: `^[a-z][a-z0-9._-]{0,127}$`.
    ReportKey, ReportKey, 128, b'.' | b'_' | b'-'
}

names! {
    /// The name of a secret: `^[a-z][a-z0-9_-]{0,62}$`.
    SecretKey, SecretKey, 63, b'_' | b'-'
}

/// An `ip:port`; an IPv4 address mapped into IPv6 is the IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr(SocketAddr);

impl PeerAddr {
    /// Reads an IP literal, IPv6 in brackets and without a zone, and a plain decimal port.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let (_, port) = text.rsplit_once(':').ok_or(Malformed::PeerAddr)?;
        if port.len() > 1 && port.starts_with('0') || text.contains('%') {
            return Err(Malformed::PeerAddr);
        }
        let addr: SocketAddr = text.parse().map_err(|_| Malformed::PeerAddr)?;
        Ok(Self(SocketAddr::new(addr.ip().to_canonical(), addr.port())))
    }

    pub const fn ip(&self) -> IpAddr {
        self.0.ip()
    }

    pub const fn port(&self) -> u16 {
        self.0.port()
    }
}

impl fmt::Display for PeerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// An identifier as a peer wrote it; any text but one that holds NUL.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub String);

impl Name {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(text.to_string())
    }
}

impl<'t> Deserialize<'t> for Name {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.contains('\0') {
            Err(de::Error::custom("must not hold NUL"))
        } else {
            Ok(Self(text))
        }
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
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

impl Serialize for Uuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
