//! Credentials out of what is kept of a request: a mark stands in their place, and nothing else is changed.
//!
//! The values of known members are masked whatever they look like, and what looks like a credential wherever it
//! stands. A body that is no JSON is masked as well as can be: by the name of the member, however it is written.
//!
//! Specification: `decisions.md` sections 6 (credentials masked) and 7 (`token=***` in queries).

use alloc::{
    borrow::{Cow, ToOwned as _},
    format,
    string::String,
    vec::Vec,
};

use super::admit::decoded;
use crate::wire::json::{self, Raw};

/// What stands in the place of a credential.
const MARK: &str = "***";

/// The member of a registration whose value is a credential.
const MEMBER: &str = "bootstrap_token";

/// The member of a query whose value is a credential.
const QUERY_MEMBER: &str = "token";

/// How the credentials of the contract begin: bootstrap tokens, and the envelopes of bearers.
const BEGINNINGS: [&str; 2] = ["psb_", "nsk_"];

/// Anything shorter that begins as a credential is none.
const CREDENTIAL_MIN: usize = 24;

/// A text with everything masked that has the shape of a credential, wherever it stands.
pub fn shapes(text: &str) -> Cow<'_, str> {
    if !BEGINNINGS.iter().any(|beginning| text.contains(beginning)) {
        return Cow::Borrowed(text);
    }
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = BEGINNINGS.iter().filter_map(|beginning| rest.find(beginning)).min() {
        let (front, run) = rest.split_at(at);
        let (run, behind) = run.split_at(run.find(|c| !inside(c)).unwrap_or(run.len()));
        masked.push_str(front);
        masked.push_str(if run.len() < CREDENTIAL_MIN { run } else { MARK });
        rest = behind;
    }
    masked.push_str(rest);
    Cow::Owned(masked)
}

/// A query with the values of its upload tokens masked.
pub fn query(query: &str) -> String {
    let members = query.split('&').map(|member| match member.split_once('=') {
        Some((name, _)) if decoded(name).eq_ignore_ascii_case(QUERY_MEMBER) => {
            Cow::Owned(format!("{name}={MARK}"))
        }
        Some(_) | None => Cow::Borrowed(member),
    });
    shapes(&members.collect::<Vec<_>>().join("&")).into_owned()
}

/// A body with the values of its bootstrap tokens masked, whatever they look like, and every other credential.
pub fn body(text: &str) -> Cow<'_, str> {
    match named(text) {
        Cow::Borrowed(text) => shapes(text),
        Cow::Owned(masked) => Cow::Owned(shapes(&masked).into_owned()),
    }
}

fn named(text: &str) -> Cow<'_, str> {
    if !is_suspect(text) {
        return Cow::Borrowed(text);
    }
    let masked = members(text);
    match Raw::parse(text) {
        Some(_) => Cow::Owned(masked),
        None => Cow::Owned(mentions(&masked)),
    }
}

/// Whether the member is named, or may be in escapes.
fn is_suspect(text: &str) -> bool {
    let mut escapes = text.match_indices('\\');
    text.contains(MEMBER) || escapes.any(|(at, _)| text[at + 1..].starts_with('u'))
}

/// Masks each value behind a JSON string that is the name and a colon.
fn members(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('"') {
        let (front, string) = rest.split_at(at);
        let (string, behind) = string.split_at(string_len(string));
        masked.push_str(front);
        masked.push_str(string);
        rest = behind;
        let value = behind.trim_start().strip_prefix(':').map(str::trim_start);
        if let Some(value) = value.filter(|_| is_member(string)) {
            masked.push_str(&behind[..behind.len() - value.len()]);
            rest = hidden(value, &mut masked);
        }
    }
    masked.push_str(rest);
    masked
}

fn is_member(string: &str) -> bool {
    json::decode_tolerant::<String>(string.as_bytes()).is_ok_and(|name| name == MEMBER)
}

/// The length of the JSON string that a text begins with, its quotes included; to the end where it has none.
fn string_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Writes the mark for a value and gives what follows it; null is no credential.
fn hidden<'t>(value: &'t str, masked: &mut String) -> &'t str {
    if value.starts_with("null") {
        return value;
    }
    if !value.starts_with('"') {
        masked.push_str(MARK);
        return &value[value_len(value)..];
    }
    let (string, behind) = value.split_at(string_len(value));
    let closed = string.len() > 1 && string.ends_with('"');
    masked.push('"');
    masked.push_str(MARK);
    masked.push_str(if closed { "\"" } else { "" });
    behind
}

/// The length of a value that is no string, with all that it holds.
fn value_len(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => {
                at += string_len(&text[at..]);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => break,
            _ => {}
        }
        at += 1;
    }
    text[..at].trim_end().len()
}

/// Masks what stands behind each mention of the name, whatever stands between them.
fn mentions(text: &str) -> String {
    let between = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ':' | '=');
    let ends = |c: char| between(c) || matches!(c, ',' | '&' | '{' | '}' | '[' | ']' | '(' | ')');
    let mut parts = text.split(MEMBER);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let value = part.trim_start_matches(between);
        let rest = value.trim_start_matches(|c| !ends(c));
        masked.push_str(MEMBER);
        masked.push_str(&part[..part.len() - value.len()]);
        masked.push_str(if value.len() == rest.len() { "" } else { MARK });
        masked.push_str(rest);
    }
    masked
}
