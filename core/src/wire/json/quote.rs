//! One text as a JSON string, into a buffer whose growth is its owner's affair: a buffer that grows leaves copies behind.

use alloc::vec::Vec;

/// How many bytes one byte of a text may become.
pub const QUOTED_MAX: usize = 6;

/// Writes the text in its quotes, as the encoder of all other values would.
pub fn quote(into: &mut Vec<u8>, text: &str) {
    into.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => into.extend_from_slice(&[b'\\', byte]),
            b'\x08' => into.extend_from_slice(b"\\b"),
            b'\t' => into.extend_from_slice(b"\\t"),
            b'\n' => into.extend_from_slice(b"\\n"),
            b'\x0c' => into.extend_from_slice(b"\\f"),
            b'\r' => into.extend_from_slice(b"\\r"),
            0..0x20 => {
                into.extend_from_slice(b"\\u00");
                into.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
            }
            _ => into.push(byte),
        }
    }
    into.push(b'"');
}

const fn digit(half: u8) -> u8 {
    if half < 10 { b'0' + half } else { b'a' + half - 10 }
}
