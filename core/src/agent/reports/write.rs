//! What is asked of a key, and what becomes of it: done, or refused by the first rule that it breaks.
//!
//! Specification: "Report write rules"; `gaps-agent.md` section 1.3.

use alloc::string::String;

use thiserror::Error;

use crate::wire::{json::Raw, local::ReportEntry};

/// What is to be kept under a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Draft {
    pub content_type: String,
    /// Compact.
    pub payload: Raw,
}

/// What a program asked for is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    Written(ReportEntry),
    Deleted,
}

/// Why a report is not read, written or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("invalid report key")]
    Key,
    #[error("invalid JSON body")]
    Body,
    #[error("content_type is required")]
    ContentType,
    #[error("content_type exceeds the 256-byte limit")]
    ContentTypeTooLong,
    #[error("payload must be valid JSON")]
    Payload,
    #[error("payload exceeds the 4096-byte limit")]
    PayloadTooLong,
    #[error("If-Match must be an integer")]
    IfMatch,
    #[error("version conflict")]
    Conflict,
    #[error("not found")]
    Missing,
    /// Too many keys.
    #[error("report store full")]
    Full,
    /// Too many writes that are not done.
    #[error("agent busy")]
    Busy,
    /// The disk refused, and nothing has changed.
    #[error("internal error")]
    Internal,
}

impl Refusal {
    pub const fn status(self) -> u16 {
        match self {
            Self::Key
            | Self::Body
            | Self::ContentType
            | Self::ContentTypeTooLong
            | Self::Payload
            | Self::PayloadTooLong
            | Self::IfMatch => 400,
            Self::Missing => 404,
            Self::Conflict => 409,
            Self::Internal => 500,
            Self::Full | Self::Busy => 503,
        }
    }
}
