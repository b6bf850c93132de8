//! Session activity: what a node tells of a session while it lasts, one row of one kind at a time.
//!
//! Specification: "Session activity record" and "POST /v1/nodes/{id}/sessions/{sid}"; `decisions.md` section 7
//! (Session rows; Integer ranges).

use alloc::string::String;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::{grammar::Name, timestamp::Timestamp};

/// The longest command, in bytes: "SSH command: 1 KiB".
pub const SSH_COMMAND_MAX: usize = 1 << 10;

/// One row; exactly one member is set in a sound one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Activity {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh: Option<SshActivity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k8s: Option<K8sActivity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpActivity>,
}

/// A command that was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SshActivity {
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

/// A request to a Kubernetes API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct K8sActivity {
    pub verb: Name,
    #[serde(skip_serializing_if = "Name::is_empty")]
    pub resource_kind: Name,
    #[serde(skip_serializing_if = "Name::is_empty")]
    pub namespace: Name,
    #[serde(skip_serializing_if = "Name::is_empty")]
    pub name: Name,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// The begin or the end of a forwarded connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpActivity {
    pub phase: Phase,
    #[serde(default, skip_serializing_if = "Name::is_empty")]
    pub target_host: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_port: Option<u16>,
    /// Only on rows that tell of a begin.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub listener_endpoint: String,
    /// Set, also when zero, on rows that tell of an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_in: Option<u64>,
    /// Set, also when zero, on rows that tell of an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_out: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "unless_empty")]
    pub terminated_by: Option<TerminatedBy>,
}

impl TcpActivity {
    /// A row that tells of nothing but its phase.
    pub const fn of(phase: Phase) -> Self {
        Self {
            phase,
            target_host: Name(String::new()),
            target_port: None,
            listener_endpoint: String::new(),
            bytes_in: None,
            bytes_out: None,
            terminated_by: None,
        }
    }
}

/// Which end of a connection a row tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    SessionStarted,
    SessionEnded,
}

/// What ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminatedBy {
    TtlExpired,
    IdleTimeout,
    OperatorRevoke,
    AgentClose,
}

impl TerminatedBy {
    /// Every cause, in the specification's order.
    pub const ALL: [Self; 4] =
        [Self::TtlExpired, Self::IdleTimeout, Self::OperatorRevoke, Self::AgentClose];

    /// The spelling on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TtlExpired => "ttl_expired",
            Self::IdleTimeout => "idle_timeout",
            Self::OperatorRevoke => "operator_revoke",
            Self::AgentClose => "agent_close",
        }
    }
}

/// The empty text is as good as absence.
fn unless_empty<'t, D: Deserializer<'t>>(
    deserializer: D,
) -> Result<Option<TerminatedBy>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let cause = TerminatedBy::ALL.into_iter().find(|cause| cause.as_str() == text);
    if cause.is_none() && !text.is_empty() {
        let rule = "must be one of ttl_expired, idle_timeout, operator_revoke, agent_close";
        return Err(de::Error::custom(rule));
    }
    Ok(cause)
}
