//! Base64, canonical only: no white space, no missing or needless padding, no trailing bits; and digests as text.

use alloc::{format, string::String, vec::Vec};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroize;

/// Standard base64 of exactly 32 bytes: padded, canonical, without white space.
pub(super) fn key_bytes(text: &str) -> Option<[u8; 32]> {
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
pub fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Writes bytes as padded standard base64.
pub fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn base64url_bytes(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// As [`base64url_bytes`], into exactly this room.
pub(crate) fn base64url_slice(text: &str, bytes: &mut [u8]) -> Option<()> {
    let length = URL_SAFE_NO_PAD.decode_slice(text, bytes).ok()?;
    (length == bytes.len()).then_some(())
}

pub(crate) fn base64url_text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The SHA-256 of bytes, in lower-case hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex_text(&Sha256::digest(bytes))
}

/// Writes bytes as lower-case hexadecimal digits.
pub(super) fn hex_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
