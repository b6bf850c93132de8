//! Executions: the entry on the pull, the callback and its answer.
//!
//! Specification: "Execution entry", "Execution callback" and "POST /v1/nodes/{id}/executions/{eid}".

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::{grammar::Name, json::Raw, timestamp::Spelled};

/// The longest callback body, in bytes.
pub const BODY_MAX: usize = 65_536;

/// The longest inline output, decoded, in bytes.
pub const INLINE_OUTPUT_MAX: usize = 16_384;

/// The largest output an upload URL is minted for, in bytes.
pub const DECLARED_OUTPUT_MAX: u64 = 1 << 30;

/// An item of the snapshot's `executions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[serde(default)]
pub struct Execution {
    pub execution_id: Name,
    pub action: Name,
    #[serde(rename = "type")]
    pub kind: String,
    /// An object, kept as its text.
    pub parameters: Option<Raw>,
    /// As the peer spelled it: a set that may grow.
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_at: Option<Spelled>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Spelled>,
}

/// What a node may report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Hash)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ack,
    Started,
    Succeeded,
    Failed,
    Cancelled,
}

impl Status {
    /// Every status, in the order of a run.
    pub const ALL: [Self; 5] =
        [Self::Ack, Self::Started, Self::Succeeded, Self::Failed, Self::Cancelled];

    /// Whether no callback follows this one.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }

    /// The spelling on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ack => "ack",
            Self::Started => "started",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A report of a node on one execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Hash)]
pub struct Callback {
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_output_bytes: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

impl Callback {
    /// A report of nothing but a status.
    pub const fn of(status: Status) -> Self {
        Self { status, exit_code: None, error: None, declared_output_bytes: None, output: None }
    }
}

/// The output of a run: inline, or by reference to uploaded bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[serde(default)]
pub struct Output {
    /// Standard base64.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub inline: String,
    #[serde(skip_serializing_if = "Name::is_empty")]
    pub object_key: Name,
    /// Lower-case hex of the uploaded bytes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sha256: String,
}

/// What the control plane answers.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackResponse {
    pub status: Status,
    /// Admits an upload to whoever holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_upload_url: Option<String>,
}

impl fmt::Debug for CallbackResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackResponse")
            .field("status", &self.status)
            .field("output_upload_url", &self.output_upload_url.as_ref().map(|_| "<secret>"))
            .finish()
    }
}
