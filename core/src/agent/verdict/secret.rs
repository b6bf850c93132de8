//! What the control plane answers when a secret is asked of it, and what the program that wants it is told.
//!
//! | Answer | Told |
//! |---|---|
//! | any 2xx with a version and an envelope that opens to a text | 200 |
//! | an envelope that does not open, a value that is no text | 500 `internal error` |
//! | 403 | 403 `forbidden` |
//! | 404 `secret_not_found`, `secret_version_not_found` | 404 `not found` |
//! | 429 | 429 `rate limited`, with its `Retry-After` |
//! | anything else, and none | 503 `control plane unavailable` |
//!
//! Specification: "Local HTTP API" (secret read outcomes); `decisions.md` section 8 (Secret fetch oddities).

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use super::told;
use crate::{
    agent::facts::Answer,
    secret::Secret,
    time::Wall,
    wire::{
        grammar::NodeSecretKey,
        http::{Headers, Response},
        problem::{self, Code},
        retry_after,
        secret::{self, ENVELOPE_MAX},
    },
};

/// The longest key id that is told, in characters.
const KID_MAX: usize = 256;

/// How a request for a secret was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    Sealed(Sealed),
    Withheld(Withheld),
}

/// A secret as the control plane keeps it.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    pub version: u64,
    /// Names the key that it was sealed under; only for the log.
    pub kid: String,
    pub envelope: Vec<u8>,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed(version {}, {} bytes)", self.version, self.envelope.len())
    }
}

impl Sealed {
    /// Opens the envelope.
    pub fn open(&self, node: &NodeSecretKey) -> Result<Secret<Vec<u8>>, Withheld> {
        secret::open(node, &self.envelope).map_err(|_| Withheld::Unopened)
    }
}

/// Why there is no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withheld {
    Forbidden,
    NotFound,
    RateLimited {
        /// Whole seconds, where the control plane names them.
        retry_after: Option<u64>,
    },
    /// The text is for the log.
    Unavailable(String),
    /// One text for every cause: which one it was would help to forge an envelope.
    Unopened,
}

impl Withheld {
    /// The status and the text of the answer to the program.
    pub const fn told(&self) -> (u16, &'static str) {
        match self {
            Self::Forbidden => (403, "forbidden"),
            Self::NotFound => (404, "not found"),
            Self::RateLimited { .. } => (429, "rate limited"),
            Self::Unavailable(_) => (503, "control plane unavailable"),
            Self::Unopened => (500, "internal error"),
        }
    }
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(reason) => f.write_str(reason),
            Self::Unopened => f.write_str("it cannot be opened"),
            Self::Forbidden | Self::NotFound | Self::RateLimited { .. } => {
                f.write_str(self.told().1)
            }
        }
    }
}

/// Reads the answer; `header_prefix` stands before the names of the control plane's own headers.
pub fn read(answer: Answer, header_prefix: &str, wall: Wall) -> Fetched {
    let response = match answer {
        Answer::Failed(lost) => return unavailable(format!("{lost}")),
        Answer::Responded(response) => response,
    };
    if response.is_success() {
        return sealed(response, header_prefix);
    }
    Fetched::Withheld(match (response.status, problem::read(&response).code) {
        (403, _) => Withheld::Forbidden,
        (404, Some(Code::SecretNotFound | Code::SecretVersionNotFound)) => Withheld::NotFound,
        (429, _) => Withheld::RateLimited { retry_after: asked_seconds(&response, wall) },
        _ => Withheld::Unavailable(told(&response)),
    })
}

fn sealed(response: Response, header_prefix: &str) -> Fetched {
    let field = |name: &str| single(&response.headers, &format!("{header_prefix}-{name}"));
    let Some(version) = field("Secret-Version").and_then(version) else {
        return unavailable("the answer names no version".into());
    };
    if response.body.len() > ENVELOPE_MAX {
        return unavailable("the envelope is too long".into());
    }
    let printable = |one: &char| one.is_ascii_graphic();
    let kid = field("Secret-KID").unwrap_or_default();
    let kid = kid.chars().filter(printable).take(KID_MAX).collect();
    Fetched::Sealed(Sealed { version, kid, envelope: response.body })
}

const fn unavailable(reason: String) -> Fetched {
    Fetched::Withheld(Withheld::Unavailable(reason))
}

/// The value of a field that stands once.
fn single<'h>(headers: &'h Headers, name: &str) -> Option<&'h str> {
    headers.first(name).filter(|_| !headers.is_repeated(name))
}

/// A version in plain decimal, from 1 on; beyond 64 bits there is none.
pub fn version(text: &str) -> Option<u64> {
    let version: u64 = text.parse().ok()?;
    (version > 0 && version.to_string() == text).then_some(version)
}

/// The wait that a 429 names, in whole seconds, never less than it asks for.
fn asked_seconds(response: &Response, wall: Wall) -> Option<u64> {
    let wait = retry_after::parse(response.headers.first("retry-after")?, wall)?;
    Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
}
