//! The door for JSON beside `serde_json`: both accept the same texts, but for four differences that are computed here
//! from the text alone, so that a fifth one is a failure.

use meshward_core::wire::json::{DEPTH_MAX, Raw, decode_strict};
use serde::de::IgnoredAny;

use crate::tree::Tree;

/// Accepts what `serde_json` accepts, less deep nesting, lone surrogates, equal members and numbers beyond a double.
pub fn json_differential(bytes: &[u8]) {
    let raw = decode_strict::<Raw>(bytes);
    let tree = decode_strict::<Tree>(bytes);
    let Ok(text) = core::str::from_utf8(bytes) else {
        assert!(raw.is_err() && tree.is_err(), "accepted a text that is not UTF-8");
        return;
    };
    let grammatical = serde_json::from_str::<IgnoredAny>(text).is_ok();
    let sound = grammatical && depth(text) <= DEPTH_MAX && !has_lone_surrogate(text);
    assert_eq!(raw.is_ok(), sound, "kept as text: {raw:?}");
    assert_eq!(Raw::parse(text).is_some(), sound, "kept as text, outside a document");
    if let Ok(raw) = &raw {
        assert_eq!(raw.text(), text.trim_matches([' ', '\t', '\n', '\r']), "text was changed");
    }
    // The recursion limit of serde_json stands above ours, so it decides nothing on a sound text.
    let reference = if sound { serde_json::from_str::<Tree>(text).ok() } else { None };
    assert_eq!(tree.as_ref().ok(), reference.as_ref(), "read as a value: {tree:?}");
}

/// How deep brackets outside strings stand in each other.
fn depth(text: &str) -> usize {
    let (mut deepest, mut open, mut quoted, mut escaped) = (0, 0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => open += 1,
            b']' | b'}' if !quoted => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

/// Whether an escape names half of a surrogate pair without its other half behind it.
fn has_lone_surrogate(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        rest = &rest[at..];
        match escaped_unit(rest) {
            Some(0xd800..0xdc00) => match escaped_unit(&rest[6..]) {
                Some(0xdc00..0xe000) => rest = &rest[12..],
                _ => return true,
            },
            Some(0xdc00..0xe000) => return true,
            Some(_) => rest = &rest[6..],
            // Any other escape is two ASCII bytes where the text is grammatical.
            None => rest = rest.get(2..).unwrap_or_default(),
        }
    }
    false
}

/// The code unit of a `\uXXXX` that `text` begins with.
fn escaped_unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}
