//! Signed events: the envelope, and the bytes that its signature covers.
//!
//! Both ends take those bytes from [`Event::signed_bytes`]: the control plane to sign them, the agent to verify them.
//! They are made from the payload's own text and never from a parsed value, so that the order of members, equal
//! members and the spelling of numbers are covered as they were written.
//!
//! Specification: "Event envelope (SSE `data` payload)"; `decisions.md` section 5 (Signed bytes of an event).

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize, Serializer, ser::Error as _};

use super::{
    grammar::Name,
    json::Raw,
    timestamp::{Spelled, Timestamp},
};

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

/// Text on its way out: what needs no change is copied in runs.
struct Copying<'t, 'o> {
    text: &'t [u8],
    /// From here on nothing is copied yet.
    from: usize,
    out: &'o mut Vec<u8>,
}

impl<'t, 'o> Copying<'t, 'o> {
    const fn new(text: &'t str, out: &'o mut Vec<u8>) -> Self {
        Self { text: text.as_bytes(), from: 0, out }
    }

    /// Copies what stands in front of `at`, and writes something else for so many bytes there.
    fn replace(&mut self, at: usize, (length, by): Change) {
        self.out.extend_from_slice(&self.text[self.from..at]);
        self.out.extend_from_slice(by);
        self.from = at + length;
    }

    fn finish(self) {
        self.out.extend_from_slice(&self.text[self.from..]);
    }
}

/// How many bytes are replaced, and what stands for them.
type Change = (usize, &'static [u8]);

/// Writes a string with its quotes, and what is escaped in its shortest form.
fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut copying = Copying::new(text, out);
    for (at, byte) in text.bytes().enumerate() {
        let change = match byte {
            0..b' ' | b'"' | b'\\' => Some((1, ESCAPES[usize::from(byte)])),
            _ => html(&text.as_bytes()[at..]),
        };
        change.into_iter().for_each(|change| copying.replace(at, change));
    }
    copying.finish();
    out.push(b'"');
}

/// Writes JSON text without the white space between its tokens; inside strings only the five characters change.
fn compact(text: &str, out: &mut Vec<u8>) {
    let mut copying = Copying::new(text, out);
    let (mut quoted, mut at) = (false, 0);
    while let Some(byte) = text.as_bytes().get(at) {
        let change = match byte {
            b'"' => {
                quoted = !quoted;
                None
            }
            b'\\' => {
                // What is escaped ends no string.
                at += 1;
                None
            }
            b' ' | b'\t' | b'\n' | b'\r' if !quoted => Some((1, &b""[..])),
            _ => html(&text.as_bytes()[at..]),
        };
        change.into_iter().for_each(|change| copying.replace(at, change));
        at += change.map_or(1, |(length, _)| length);
    }
    copying.finish();
}

/// The escape of a character that HTML or JavaScript gives a meaning, if the text begins with one.
const fn html(text: &[u8]) -> Option<Change> {
    match text {
        [b'<', ..] => Some((1, b"\\u003c")),
        [b'>', ..] => Some((1, b"\\u003e")),
        [b'&', ..] => Some((1, b"\\u0026")),
        [0xe2, 0x80, 0xa8, ..] => Some((3, b"\\u2028")),
        [0xe2, 0x80, 0xa9, ..] => Some((3, b"\\u2029")),
        _ => None,
    }
}

/// What stands for the ASCII characters that no string holds as they are, up to the backslash; the others are empty.
const ESCAPES: [&[u8]; 93] = {
    let mut escapes: [&[u8]; 93] = [b""; 93];
    let mut code = 0;
    while code < 32 {
        escapes[code] = CONTROLS.split_at(code * 6).1.split_at(6).0;
        code += 1;
    }
    escapes[8] = b"\\b";
    escapes[9] = b"\\t";
    escapes[10] = b"\\n";
    escapes[12] = b"\\f";
    escapes[13] = b"\\r";
    escapes[34] = b"\\\"";
    escapes[92] = b"\\\\";
    escapes
};

/// Every control character in six bytes.
const CONTROLS: &[u8] = b"\
    \\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\u0008\\u0009\\u000a\\u000b\\u000c\\u000d\\u000e\\u000f\
    \\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f";

/// The envelope as it is read; what is missing is empty, which a verifier refuses.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Members {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    scope: String,
    key_id: String,
    issued_at: Option<Spelled>,
    payload: Option<Raw>,
    signature: String,
}

impl Members {
    fn with(self, issued_at: Timestamp) -> Envelope {
        let Self { id, kind, scope, key_id, payload, signature, .. } = self;
        Envelope { event: Event { id, kind, scope, key_id, issued_at, payload }, signature }
    }
}

impl From<Members> for Envelope {
    fn from(members: Members) -> Self {
        let issued_at = members.issued_at.as_ref().map_or(Timestamp::ZERO, |spelled| spelled.at);
        members.with(issued_at)
    }
}

/// An envelope as its verifier reads it, who has to know how its time is spelled.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Members")]
pub struct Received {
    pub envelope: Envelope,
    /// Whether its time is spelled as it is signed; one that is missing is.
    pub is_canonical: bool,
}

impl From<Members> for Received {
    fn from(members: Members) -> Self {
        let is_canonical = members.issued_at.as_ref().is_none_or(Spelled::is_canonical);
        Self { envelope: members.into(), is_canonical }
    }
}

/// The payload of `signing_key_rotated`; what is missing is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SigningKeyRotation {
    pub key_id: Name,
    /// Base64 of an Ed25519 key.
    pub public_key: String,
    #[serde(skip_serializing_if = "Name::is_empty")]
    pub previous_key_id: Name,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition_expires: Option<Timestamp>,
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
