//! One text as a JSON string, into a buffer whose growth is its owner's affair: a buffer that grows leaves copies behind.

use alloc::vec::Vec;

use super::scan;

/// How many bytes one byte of a text may become.
pub const QUOTED_MAX: usize = 6;

/// Writes the text in its quotes, as the encoder of all other values would.
pub fn quote(into: &mut Vec<u8>, text: &str) {
    into.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, special) = rest.split_at(scan::plain(rest));
        into.extend_from_slice(plain);
        let Some((byte, behind)) = special.split_first() else { break };
        escape(into, *byte);
        rest = behind;
    }
    into.push(b'"');
}

/// How long the text is in its quotes, in bytes.
pub fn quoted_len(text: &str) -> usize {
    let one = |byte: u8| match byte {
        b'"' | b'\\' | b'\x08' | b'\t' | b'\n' | b'\x0c' | b'\r' => 2,
        0..0x20 => QUOTED_MAX,
        _ => 1,
    };
    2 + text.bytes().map(one).sum::<usize>()
}

fn escape(into: &mut Vec<u8>, byte: u8) {
    match byte {
        b'\x08' => into.extend_from_slice(b"\\b"),
        b'\t' => into.extend_from_slice(b"\\t"),
        b'\n' => into.extend_from_slice(b"\\n"),
        b'\x0c' => into.extend_from_slice(b"\\f"),
        b'\r' => into.extend_from_slice(b"\\r"),
        0..0x20 => {
            let code = [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)];
            into.extend_from_slice(&code);
        }
        _ => into.extend_from_slice(&[b'\\', byte]),
    }
}

const fn digit(half: u8) -> u8 {
    if half < 10 { b'0' + half } else { b'a' + half - 10 }
}
