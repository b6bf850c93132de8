//! What a registration needs: where it was looked for, what was found, and what is lacking.

use alloc::{string::String, vec::Vec};

use thiserror::Error;

use crate::{secret::Secret, wire::grammar::Uuid};

/// What was found for a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathered {
    pub token: TokenSources,
    pub project_id: String,
    pub resource_handle: String,
    pub requested_resource_id: String,
    /// Drawn afresh for this registration.
    pub nonce: Uuid,
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

/// The token file as its reader found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TokenFile {
    #[default]
    Missing,
    /// There, but not to be read; the text tells the path and the cause.
    Unreadable(String),
    Text(Secret<String>),
}

/// What a registration lacks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unprepared {
    #[error("no bootstrap token: tried {0}")]
    NoToken(String),
    #[error("the bootstrap token file cannot be read: {0}")]
    TokenFile(String),
    #[error("the bootstrap token must be 1 to 512 printable ASCII characters")]
    TokenRule,
    #[error("registration.project_id is not set")]
    ProjectId,
    #[error("registration.resource_handle is not set")]
    ResourceHandle,
    #[error("the private key cannot be written: {0}")]
    Key(String),
}
