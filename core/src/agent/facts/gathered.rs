//! What a registration needs: where it was looked for, what was found, and what is lacking.

use alloc::{string::String, vec::Vec};
use core::fmt;

use thiserror::Error;

use crate::{secret::Secret, wire::grammar::Uuid};

/// What was found for a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathered {
    pub token: TokenSources,
    pub project_id: Wanted,
    pub resource_handle: Wanted,
    pub requested_resource_id: Wanted,
    /// Drawn afresh for this registration, or why the system gave no random bytes.
    pub nonce: Result<Uuid, String>,
}

/// An input of a registration as it was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Not set, and not looked for elsewhere.
    Unset,
    Set(String),
    /// Not set, so the metadata service was asked for this path; an error tells the path and the cause.
    Metadata {
        path: String,
        answer: Result<String, String>,
    },
}

impl From<&str> for Wanted {
    fn from(text: &str) -> Self {
        if text.is_empty() { Self::Unset } else { Self::Set(text.into()) }
    }
}

/// The sources of a bootstrap token, in the order in which the first non-empty one wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSources {
    /// `registration.token_value`.
    pub value: Option<Secret<String>>,
    pub file: TokenFile,
    /// The variable that `registration.token_env` names.
    pub environment: Option<Secret<String>>,
    pub metadata: Option<Secret<String>>,
    /// Where it was looked for, in words, for the message when there is none.
    pub tried: Vec<String>,
}

impl TokenSources {
    /// Whether the metadata service is to be asked: value, file and environment hold nothing.
    pub fn is_lacking(&self) -> bool {
        let empty = |token: &Option<Secret<String>>| {
            token.as_ref().is_none_or(|token| token.expose().is_empty())
        };
        let no_file = match &self.file {
            TokenFile::Missing => true,
            TokenFile::Text(text) => text.expose().trim().is_empty(),
            TokenFile::Unreadable(_) => false,
        };
        empty(&self.value) && no_file && empty(&self.environment)
    }
}

/// The token file as its reader found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TokenFile {
    #[default]
    Missing,
    /// There, but not to be read; the text tells the path and the cause.
    Unreadable(String),
    Text(Secret<String>),
}

/// The source that a bootstrap token came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    Value,
    File,
    Environment,
    Metadata,
}

/// Where a new token belongs.
impl fmt::Display for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "registration.token_value",
            Self::File => "the file of registration.token_file",
            Self::Environment => "the environment variable of registration.token_env",
            Self::Metadata => "the metadata service",
        })
    }
}

/// What a registration lacks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unprepared {
    #[error("no bootstrap token: tried {0}")]
    NoToken(String),
    #[error("the bootstrap token file cannot be read: {0}")]
    TokenFile(String),
    #[error("the bootstrap token from {0} must be 1 to 512 printable ASCII characters")]
    TokenRule(TokenSource),
    #[error("{0} is not set")]
    Unset(&'static str),
    #[error("{setting} is not set, and the metadata service has no {path}")]
    Nowhere { setting: &'static str, path: String },
    #[error("{setting} is not set, and the metadata service cannot be read: {cause}")]
    Metadata { setting: &'static str, cause: String },
    #[error("the system gives no random bytes for a nonce: {0}")]
    Nonce(String),
    #[error("the disk takes no new identity, so no token was sent: {0}")]
    Key(String),
}
