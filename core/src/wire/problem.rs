//! Error answers, and the one table of their codes.
//!
//! Specification: "Errors" and "Problem body (error)". The row `malformed_endpoint_requestt` of its table is a slip;
//! the code is the one of the row below it.
//! Codes that a route of `gaps-control-plane.md` section 1 adds stand in the table too.

use alloc::{borrow::ToOwned, string::String};

use serde::{Deserialize, Serialize};

use super::{http::Response, json, register::Loose};
use crate::legible;

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

            /// Reads a code of this table, or keeps its text.
            pub fn parse(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    _ => Self::Other(text.to_owned()),
                }
            }

            /// The spelling on the wire.
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
    MalformedCapabilitiesRequest 400 "malformed_capabilities_request"
    BinaryChecksumInvalid 400 "binary_checksum_invalid"
    SshHostKeyFingerprintInvalid 400 "ssh_host_key_fingerprint_invalid"
    DeclaredHooksTooMany 400 "declared_hooks_too_many"
    DeclaredHookInvalid 400 "declared_hook_invalid"
    DeclaredHookDuplicate 400 "declared_hook_duplicate"
    MalformedEndpointRequest 400 "malformed_endpoint_request"
    EndpointClockSkew 400 "endpoint_clock_skew"
    EndpointUnparseable 400 "endpoint_unparseable"
    InvalidCursor 400 "invalid_cursor"
    MalformedExecutionCallback 400 "malformed_execution_callback"
    MalformedSessionActivity 400 "malformed_session_activity"
    InvalidVersion 400 "invalid_version"
    IngestBatchMalformed 400 "ingest_batch_malformed"
    IngestSentAtInvalid 400 "ingest_sent_at_invalid"
    IngestEncodingInvalid 400 "ingest_encoding_invalid"
    InvalidReport 400 "invalid_report"
    MalformedIntegrityViolationsRequest 400 "malformed_integrity_violations_request"
    IntegrityViolationsEmpty 400 "integrity_violations_empty"
    IntegrityViolationsTooMany 400 "integrity_violations_too_many"
    IntegrityViolationKindInvalid 400 "integrity_violation_kind_invalid"
    IntegrityViolationDetectedByInvalid 400 "integrity_violation_detected_by_invalid"
    IntegrityViolationArtifactIdEmpty 400 "integrity_violation_artifact_id_empty"
    IntegrityViolationKindMismatch 400 "integrity_violation_kind_mismatch"
    IntegrityViolationHostKeyFingerprintInvalid 400 "integrity_violation_host_key_fingerprint_invalid"
    IntegrityViolationChecksumInvalid 400 "integrity_violation_checksum_invalid"
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
    PermissionDenied 403 "permission_denied"
    ResourceNotFound 404 "resource_not_found"
    SessionNotFound 404 "session_not_found"
    SecretNotFound 404 "secret_not_found"
    SecretVersionNotFound 404 "secret_version_not_found"
    ReportNotFound 404 "report_not_found"
    EndpointPeerNotFound 404 "endpoint_peer_not_found"
    KeysRotatePeerNotFound 404 "keys_rotate_peer_not_found"
    KeysRotateNoPendingRotation 409 "keys_rotate_no_pending_rotation"
    ExecutionAlreadyTerminal 409 "execution_already_terminal"
    InvalidStateTransition 409 "invalid_state_transition"
    SessionAlreadyRevoked 409 "session_already_revoked"
    SessionExpired 409 "session_expired"
    EndpointPeerGone 410 "endpoint_peer_gone"
    KeysRotateBodyTooLarge 413 "keys_rotate_body_too_large"
    CapabilitiesBodyTooLarge 413 "capabilities_body_too_large"
    EndpointBodyTooLarge 413 "endpoint_body_too_large"
    InlineOutputTooLarge 413 "inline_output_too_large"
    IngestBodyTooLarge 413 "ingest_body_too_large"
    IngestBatchTooManyRecords 413 "ingest_batch_too_many_records"
    IntegrityViolationsBodyTooLarge 413 "integrity_violations_body_too_large"
    IngestEncodingUnsupported 415 "ingest_encoding_unsupported"
    KeysRotatePublicKeyInvalid 422 "keys_rotate_public_key_invalid"
    KeysRotatePublicKeyUnchanged 422 "keys_rotate_public_key_unchanged"
    PerNodeRateLimited 429 "per_node_rate_limited"
    PerDomainRateLimited 429 "per_domain_rate_limited"
    CapacityExceeded 429 "capacity_exceeded"
    SignedEventBusNotProvisioned 501 "signed_event_bus_not_provisioned"
    SecretsNotProvisioned 501 "secrets_not_provisioned"
    ReportsNotProvisioned 501 "reports_not_provisioned"
    ObservabilityIngestNotProvisioned 501 "observability_ingest_not_provisioned"
    ReachabilityNotProvisioned 501 "reachability_not_provisioned"
    PoolExhausted 503 "pool_exhausted"
    SubrangeExhausted 503 "subrange_exhausted"
    AllocatorContention 503 "allocator_contention"
    SecretBackendUnavailable 503 "secretbackend_unavailable"
    IngestBufferUnavailable 503 "ingest_buffer_unavailable"
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

/// The longest error answer that is read, in bytes.
pub const READ_MAX: usize = 4096;

/// The longest code that is taken from an answer, in characters.
pub const CODE_MAX: usize = 128;

/// The longest correlation id that is taken from an answer, in characters.
pub const CORRELATION_ID_MAX: usize = 256;

/// The longest detail that is taken from an answer, in characters; a longer one is cut.
pub const DETAIL_MAX: usize = 512;

/// The members of an error answer as its sender wrote them; all others are passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProblemSeen {
    pub detail: String,
    pub correlation_id: String,
    pub code: Option<String>,
}

/// What an error answer tells beyond its status, fit for a line of a log: bounded, without characters that steer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub code: Option<Code>,
    pub detail: String,
    /// Empty where there is none.
    pub correlation_id: String,
}

/// The members that [`read`] looks at, each judged by itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Members {
    detail: Loose,
    correlation_id: Loose,
    code: Loose,
}

/// Reads an error answer; nothing from one of another content type.
///
/// The correlation id of the body comes before the one of the header. A body that is too long or no object is as one
/// without members.
pub fn read(response: &Response) -> Seen {
    if !is_problem(response) {
        return Seen::default();
    }
    let members: Members = match response.body.len() {
        0..=READ_MAX => json::decode_tolerant(&response.body).unwrap_or_default(),
        _ => Members::default(),
    };
    let text = |member: &Loose| member.text().ok().flatten();
    let in_header = || printable(response.headers.first(CORRELATION_HEADER)?, CORRELATION_ID_MAX);
    let in_body = text(&members.correlation_id).and_then(|id| printable(&id, CORRELATION_ID_MAX));
    Seen {
        code: text(&members.code)
            .and_then(|code| printable(&code, CODE_MAX))
            .map(|code| Code::parse(&code)),
        detail: text(&members.detail).map(|detail| one_line(&detail)).unwrap_or_default(),
        correlation_id: in_body.or_else(in_header).unwrap_or_default(),
    }
}

/// Whether the media type is the one of problems, whatever its parameters.
fn is_problem(response: &Response) -> bool {
    let content_type = response.headers.first("content-type").unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case(CONTENT_TYPE)
}

/// The text, if it is printable ASCII of a sensible length.
fn printable(text: &str, max: usize) -> Option<String> {
    let legal = (1..=max).contains(&text.len())
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    legal.then(|| text.to_owned())
}

fn one_line(text: &str) -> String {
    text.chars().filter(|one| !legible::steers(*one)).take(DETAIL_MAX).collect()
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
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Error",
    }
}
