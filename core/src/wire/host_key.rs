//! The SSH host key as `ssh-keygen` writes it, read for its fingerprint alone: a line with the public key, or the private
//! key in the format of OpenSSH, whose public half stands in front of what may be encrypted.
//!
//! Nothing behind the public half is looked at, and what was decoded is wiped.
//!
//! Unspecified: the format of the file; it is `PROTOCOL.key` of OpenSSH, and RFC 4253 section 6.6.

use alloc::{string::String, vec::Vec};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use zeroize::Zeroizing;

use super::grammar::Fingerprint;

/// The longest file that is read, in bytes; the largest RSA key takes a fifth of it.
pub const FILE_MAX: usize = 64 << 10;

const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";
const PEM: &str = "-----BEGIN ";
const MAGIC: &[u8] = b"openssh-key-v1\0";

/// The longest word that names the kind of a key, in bytes.
const KIND_MAX: usize = 64;

/// Why a file tells no fingerprint; nothing of it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unread {
    #[error("it is longer than {FILE_MAX} bytes")]
    TooLong,
    #[error("it is no SSH key: neither a line with a public key nor a private key of OpenSSH")]
    NoKey,
    #[error(
        "it is a private key in another format than that of OpenSSH: name its public key, in the file that ends with .pub"
    )]
    OtherFormat,
    #[error("it is cut off or changed")]
    Broken,
}

/// The fingerprint of the key in a file, as `ssh-keygen -l` shows it.
pub fn fingerprint(file: &[u8]) -> Result<Fingerprint, Unread> {
    if file.len() > FILE_MAX {
        return Err(Unread::TooLong);
    }
    let text = core::str::from_utf8(file).map_err(|_| Unread::NoKey)?.trim();
    match text.strip_prefix(BEGIN) {
        Some(armoured) => of_private(armoured),
        None if text.starts_with(PEM) => Err(Unread::OtherFormat),
        None => of_public(text),
    }
}

/// A line `KIND BASE64 COMMENT`; what follows in other lines is another key.
fn of_public(text: &str) -> Result<Fingerprint, Unread> {
    let mut words = text.lines().next().unwrap_or_default().split_ascii_whitespace();
    let (kind, key) = words.next().zip(words.next()).ok_or(Unread::NoKey)?;
    if kind.len() > KIND_MAX {
        return Err(Unread::NoKey);
    }
    let blob = STANDARD.decode(key).map_err(|_| Unread::NoKey)?;
    match named(&blob) {
        Some(named) if named == kind.as_bytes() => printed(&blob),
        Some(_) | None => Err(Unread::Broken),
    }
}

fn of_private(armoured: &str) -> Result<Fingerprint, Unread> {
    let (body, _) = armoured.split_once(END).ok_or(Unread::Broken)?;
    let mut base64 = Zeroizing::new(String::with_capacity(body.len()));
    base64.extend(body.chars().filter(|one| !one.is_ascii_whitespace()));
    let mut bytes = Zeroizing::new(Vec::with_capacity(body.len()));
    STANDARD.decode_vec(base64.as_bytes(), &mut bytes).map_err(|_| Unread::Broken)?;
    let blob = public_half(&bytes).ok_or(Unread::Broken)?;
    match named(blob) {
        Some(_) => printed(blob),
        None => Err(Unread::Broken),
    }
}

/// Behind the words of the encryption, and how many keys there are, which is one.
fn public_half(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    for _ in ["cipher", "derivation", "its options"] {
        rest = chunk(rest)?.1;
    }
    let rest = rest.strip_prefix(&1_u32.to_be_bytes())?;
    chunk(rest).map(|(blob, _)| blob)
}

/// The kind of a key, of which more follows.
fn named(blob: &[u8]) -> Option<&[u8]> {
    let (kind, rest) = chunk(blob)?;
    let is_word = (1..=KIND_MAX).contains(&kind.len()) && kind.iter().all(u8::is_ascii_graphic);
    (is_word && !rest.is_empty()).then_some(kind)
}

/// Takes what stands behind its length.
fn chunk(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

fn printed(blob: &[u8]) -> Result<Fingerprint, Unread> {
    let mut text = String::from("SHA256:");
    STANDARD_NO_PAD.encode_string(Sha256::digest(blob), &mut text);
    Fingerprint::parse(&text).map_err(|_| Unread::Broken)
}
