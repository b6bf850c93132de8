//! Error answers, and the one table of their codes.
//!
//! Specification: "Errors" and "Problem body (error)". The row `malformed_endpoint_requestt` of its table is a slip;
//! the code is the one of the row below it.

use alloc::{borrow::ToOwned, string::String};

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($variant:ident $status:literal $text:literal)*) => {
        /// A machine-readable reason; a code that this table lacks is carried through.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Code {
            $($variant,)*
            Other(String),
        }

        impl Code {
            /// Every code of the table with its status.
            pub const TABLE: &'static [(Self, u16, &'static str)] = &[$((Self::$variant, $status, $text)),*];

            pub fn parse(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    _ => Self::Other(text.to_owned()),
                }
            }

            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }

            /// The status a code is sent with.
            pub const fn status(&self) -> u16 {
                match self {
                    $(Self::$variant => $status,)*
                    Self::Other(_) => 500,
                }
            }
        }
    };
}

codes! {
    PublicKeyInvalid 400 "public_key_invalid"
    MalformedHeartbeatRequest 400 "malformed_heartbeat_request"
    ClockSkew 400 "clock_skew"
    BinaryChecksumEmpty 400 "binary_checksum_empty"
    BinaryVersionEmpty 400 "binary_version_empty"
    MalformedKeysRotateRequest 400 "malformed_keys_rotate_request"
    MalformedExecutionCallback 400 "malformed_execution_callback"
    Unauthorized 401 "unauthorized"
    NskInvalid 401 "nsk_invalid"
    NskRevoked 401 "nsk_revoked"
    KindMismatch 403 "kind_mismatch"
    ProjectMismatch 403 "project_mismatch"
    TokenConsumed 403 "token_consumed"
    TokenExpired 403 "token_expired"
    TokenRevoked 403 "token_revoked"
    NonceCollision 403 "nonce_collision"
    NskNodeMismatch 403 "nsk_node_mismatch"
    ResourceNotFound 404 "resource_not_found"
    KeysRotatePeerNotFound 404 "keys_rotate_peer_not_found"
    KeysRotateNoPendingRotation 409 "keys_rotate_no_pending_rotation"
    ExecutionAlreadyTerminal 409 "execution_already_terminal"
    InvalidStateTransition 409 "invalid_state_transition"
    KeysRotateBodyTooLarge 413 "keys_rotate_body_too_large"
    InlineOutputTooLarge 413 "inline_output_too_large"
    KeysRotatePublicKeyInvalid 422 "keys_rotate_public_key_invalid"
    KeysRotatePublicKeyUnchanged 422 "keys_rotate_public_key_unchanged"
    PoolExhausted 503 "pool_exhausted"
    SubrangeExhausted 503 "subrange_exhausted"
    AllocatorContention 503 "allocator_contention"
}

/// The content type of an error answer.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// The header that ties an answer to the server's log.
pub const CORRELATION_HEADER: &str = "x-correlation-id";

/// The body of an error answer as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    #[serde(rename = "type")]
    pub kind: String,
    pub title: &'static str,
    pub status: u16,
    pub detail: String,
    pub instance: String,
    pub correlation_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// The members of an error answer that its reader relies on; all others are passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProblemSeen {
    pub detail: String,
    pub correlation_id: String,
    pub code: Option<String>,
}

/// The reason phrase of RFC 9110.
pub const fn title(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Error",
    }
}

/// What an error answer tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub code: Option<Code>,
    pub detail: String,
    pub correlation_id: String,
}

/// Reads an error answer, only from `application/problem+json`.
pub fn read(response: &super::http::Response) -> Seen {
    let kind = response.headers.first("content-type").unwrap_or_default();
    let media_type = kind.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case(CONTENT_TYPE) {
        return Seen::default();
    }
    let seen: ProblemSeen = super::json::decode_tolerant(&response.body).unwrap_or_default();
    let in_header = || response.headers.first(CORRELATION_HEADER).unwrap_or_default().to_owned();
    Seen {
        code: seen.code.map(|code| Code::parse(&code)),
        detail: seen.detail,
        correlation_id: Some(seen.correlation_id)
            .filter(|id| !id.is_empty())
            .unwrap_or_else(in_header),
    }
}
