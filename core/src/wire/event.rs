//! Signed events: the envelope, and the bytes that its signature covers.
//!
//! Both ends take those bytes from [`Event::signed_bytes`]: the control plane to sign them, the agent to verify them.
//! They are made from the payload's own text and never from a parsed value, so that the order of members, equal
//! members and the spelling of numbers are covered as they were written.
//!
//! Specification: "Event envelope (SSE `data` payload)"; `decisions.md` section 5 (Signed bytes of an event).

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize, Serializer, ser::Error as _};

use super::{json::Raw, timestamp::Timestamp};

/// An event as it is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: String,
    pub kind: String,
    /// Free text, which may be empty.
    pub scope: String,
    pub key_id: String,
    pub issued_at: Timestamp,
    /// Any value; none is sent as null.
    pub payload: Option<Raw>,
}

/// An event with its signature, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Members")]
pub struct Envelope {
    pub event: Event,
    /// Base64 of the Ed25519 signature over the event's signed bytes.
    pub signature: String,
}

impl Event {
    /// The canonical text: compact, its members in this order, without a signature.
    pub fn signed_bytes(&self) -> Vec<u8> {
        let payload = self.payload.as_ref().map_or("null", Raw::text);
        let mut out = Vec::with_capacity(FRAME_ROOM + payload.len());
        let issued_at = alloc::string::ToString::to_string(&self.issued_at);
        let texts = [
            ("{\"id\":", &self.id),
            (",\"type\":", &self.kind),
            (",\"scope\":", &self.scope),
            (",\"key_id\":", &self.key_id),
            (",\"issued_at\":", &issued_at),
        ];
        for (name, text) in texts {
            out.extend_from_slice(name.as_bytes());
            string(text, &mut out);
        }
        out.extend_from_slice(b",\"payload\":");
        compact(payload, &mut out);
        out.push(b'}');
        out
    }
}

/// What an envelope needs besides its payload, roughly.
const FRAME_ROOM: usize = 384;

impl Envelope {
    /// The envelope on the wire.
    pub fn text(&self) -> Vec<u8> {
        sealed(self.event.signed_bytes(), &self.signature)
    }
}

/// The envelope on the wire, made out of the bytes that were signed: the signature is its last member.
pub fn sealed(mut signed: Vec<u8>, signature: &str) -> Vec<u8> {
    signed.pop();
    signed.extend_from_slice(b",\"signature\":");
    string(signature, &mut signed);
    signed.push(b'}');
    signed
}

/// Writes a string with its quotes, and what is escaped in its shortest form.
fn string(text: &str, out: &mut Vec<u8>) {
    let special = |c: char| c < ' ' || matches!(c, '"' | '\\') || is_html(c);
    out.push(b'"');
    let mut rest = text;
    while let Some((character, behind)) = copied_up_to(special, rest, out) {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            _ => unicode(character, out),
        }
        rest = behind;
    }
    out.push(b'"');
}

/// Writes JSON text without the white space between its tokens; inside strings only the five characters change.
fn compact(text: &str, out: &mut Vec<u8>) {
    let mut quoted = false;
    let mut rest = text;
    loop {
        let inside = |c: char| matches!(c, '"' | '\\') || is_html(c);
        let between = |c: char| matches!(c, '"' | ' ' | '\t' | '\n' | '\r');
        let found = match quoted {
            true => copied_up_to(inside, rest, out),
            false => copied_up_to(between, rest, out),
        };
        let Some((character, mut behind)) = found else { return };
        match character {
            '"' => {
                quoted = !quoted;
                out.push(b'"');
            }
            '\\' => behind = escape(behind, out),
            _ if quoted => unicode(character, out),
            _ => {}
        }
        rest = behind;
    }
}

/// Copies what stands in front of the first such character; that one, and what stands behind it.
fn copied_up_to<'t>(
    special: impl Fn(char) -> bool,
    text: &'t str,
    out: &mut Vec<u8>,
) -> Option<(char, &'t str)> {
    let at = text.find(special).unwrap_or(text.len());
    let (plain, rest) = text.split_at(at);
    out.extend_from_slice(plain.as_bytes());
    let mut rest = rest.chars();
    rest.next().map(|character| (character, rest.as_str()))
}

/// Copies an escape, whose backslash is taken already, so that a quote in it ends no string.
fn escape<'t>(behind: &'t str, out: &mut Vec<u8>) -> &'t str {
    out.push(b'\\');
    let length = behind.chars().next().map_or(0, char::len_utf8);
    let (escaped, rest) = behind.split_at(length);
    out.extend_from_slice(escaped.as_bytes());
    rest
}

/// Whether HTML or JavaScript gives this character a meaning.
const fn is_html(character: char) -> bool {
    matches!(character, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// Writes `\u` and four lower-case digits.
fn unicode(character: char, out: &mut Vec<u8>) {
    out.extend_from_slice(alloc::format!("\\u{:04x}", u32::from(character)).as_bytes());
}

/// The envelope as it is read; what is missing is empty, which a verifier refuses.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Members {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    scope: String,
    key_id: String,
    issued_at: Option<Timestamp>,
    payload: Option<Raw>,
    signature: String,
}

impl From<Members> for Envelope {
    fn from(members: Members) -> Self {
        let Members { id, kind, scope, key_id, issued_at, payload, signature } = members;
        let issued_at = issued_at.unwrap_or(Timestamp::ZERO);
        Self { event: Event { id, kind, scope, key_id, issued_at, payload }, signature }
    }
}

impl Serialize for Envelope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = String::from_utf8(self.text()).map_err(S::Error::custom)?;
        Raw::parse(&text)
            .ok_or_else(|| S::Error::custom("the payload is nested too deep"))?
            .serialize(serializer)
    }
}

/// The body of `POST /test/inject-event`: what the control plane stamps itself is passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InjectEvent {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Raw>,
}

/// The body of `POST /test/configure-events`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigureEvents {
    pub mode: Mode,
}

/// Whether the event stream is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Streaming,
    /// The control plane has no event stream; its nodes only pull.
    Descoped,
}
