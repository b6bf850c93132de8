//! What this agent does itself, as audited events: the process source of the audit pipeline.
//!
//! | Deed | Event type | Action | Subject | Object |
//! |---|---|---|---|---|
//! | the process begins | `agent` | `start` | the agent | its version |
//! | it is told to end | `agent` | `stop` | the agent | its version |
//! | the node has registered | `registration` | `register` | the agent | the node |
//! | the mesh key is another | `rotation` | `rotate` | the agent | the node |
//! | a run for the control plane begins or ends | `execution` | `begin`, `end` | the control plane | execution and action |
//! | a run for a local program begins or ends | `local_run` | `begin`, `end` | the user | the action |
//! | a session opens, or closes | `session` | `open`, `close` | the control plane | the session |
//! | the hooks are to be looked at anew | `hooks` | `reload` | the user | |
//!
//! No parameter, output or secret is ever in one. The control plane has no word for them: they reach a local endpoint
//! alone.
//!
//! Specification: "Internal record shapes (local endpoint delivery)" (source `process`); `gaps-agent.md` section 4.1.

use alloc::{
    format,
    string::{String, ToString as _},
    sync::Arc,
    vec::Vec,
};

use super::facts::{Cause, SessionFact};
use crate::{
    ids::{ExecutionId, SessionId},
    time::Wall,
    wire::{
        json::quote,
        record::{AuditEntry, AuditOrigin, Outcome},
        timestamp::Timestamp,
    },
};

/// The longest id or name that is told, in characters.
const NAME_MAX: usize = 256;

/// Something that this agent did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    Started,
    Stopping,
    Registered,
    KeyRotated,
    ExecutionBegun { execution: ExecutionId, action: String },
    ExecutionEnded { execution: ExecutionId, cause: Cause },
    LocalRunBegun { user: u32, action: String },
    LocalRunEnded { user: u32, action: String, cause: Cause },
    SessionOpened { session: SessionId, is_open: bool },
    SessionClosed { session: SessionId },
    Reloaded { user: Option<u32> },
}

impl Deed {
    /// What a listener tells, where it is a deed.
    pub fn of_session(session: &SessionId, fact: &SessionFact) -> Option<Self> {
        let session = session.clone();
        match fact {
            SessionFact::Opened { .. } => Some(Self::SessionOpened { session, is_open: true }),
            SessionFact::Refused { .. } => Some(Self::SessionOpened { session, is_open: false }),
            SessionFact::Closed(_) => Some(Self::SessionClosed { session }),
            SessionFact::Idle => None,
        }
    }

    /// As the audit pipeline takes it; `version` is that of the program, `node` that of the identity.
    pub fn entry(
        &self,
        wall: Wall,
        hostname: &Arc<str>,
        (version, node): (&str, &str),
    ) -> AuditEntry {
        let (event_type, action) = self.kind();
        AuditEntry {
            timestamp: Timestamp::from(wall),
            source: AuditOrigin::Process,
            event_type: event_type.into(),
            subject: self.subject(),
            object: self.object(version, node),
            action: action.into(),
            result: Some(if self.is_well() { Outcome::Success } else { Outcome::Failure }),
            hostname: Arc::clone(hostname),
            raw: String::new(),
        }
    }

    const fn kind(&self) -> (&'static str, &'static str) {
        match self {
            Self::Started => ("agent", "start"),
            Self::Stopping => ("agent", "stop"),
            Self::Registered => ("registration", "register"),
            Self::KeyRotated => ("rotation", "rotate"),
            Self::ExecutionBegun { .. } => ("execution", "begin"),
            Self::ExecutionEnded { .. } => ("execution", "end"),
            Self::LocalRunBegun { .. } => ("local_run", "begin"),
            Self::LocalRunEnded { .. } => ("local_run", "end"),
            Self::SessionOpened { .. } => ("session", "open"),
            Self::SessionClosed { .. } => ("session", "close"),
            Self::Reloaded { .. } => ("hooks", "reload"),
        }
    }

    fn subject(&self) -> String {
        match self {
            Self::Started | Self::Stopping | Self::Registered | Self::KeyRotated => {
                object(&[("process", "meshward")])
            }
            Self::ExecutionBegun { .. }
            | Self::ExecutionEnded { .. }
            | Self::SessionOpened { .. }
            | Self::SessionClosed { .. } => object(&[("process", "control plane")]),
            Self::LocalRunBegun { user, .. } | Self::LocalRunEnded { user, .. } => uid(*user),
            Self::Reloaded { user } => user.map_or_else(|| object(&[]), uid),
        }
    }

    fn object(&self, version: &str, node: &str) -> String {
        match self {
            Self::Started | Self::Stopping => object(&[("version", version)]),
            Self::Registered | Self::KeyRotated => object(&[("node_id", node)]),
            Self::ExecutionBegun { execution, action } => {
                object(&[("execution_id", &execution.0), ("action", action)])
            }
            Self::ExecutionEnded { execution, cause } => {
                object(&[("execution_id", &execution.0), ("end", &ending(cause))])
            }
            Self::LocalRunBegun { action, .. } => object(&[("action", action)]),
            Self::LocalRunEnded { action, cause, .. } => {
                object(&[("action", action), ("end", &ending(cause))])
            }
            Self::SessionOpened { session, .. } | Self::SessionClosed { session } => {
                object(&[("session_id", &session.0)])
            }
            Self::Reloaded { .. } => object(&[]),
        }
    }

    const fn is_well(&self) -> bool {
        match self {
            Self::ExecutionEnded { cause, .. } | Self::LocalRunEnded { cause, .. } => {
                matches!(cause, Cause::Exited(0))
            }
            Self::SessionOpened { is_open, .. } => *is_open,
            Self::Started
            | Self::Stopping
            | Self::Registered
            | Self::KeyRotated
            | Self::ExecutionBegun { .. }
            | Self::LocalRunBegun { .. }
            | Self::SessionClosed { .. }
            | Self::Reloaded { .. } => true,
        }
    }
}

/// How a run ended, without a word of what it printed.
fn ending(cause: &Cause) -> String {
    match cause {
        Cause::Exited(code) => format!("exit code {code}"),
        Cause::Signalled(signal) => format!("signal {signal}"),
        Cause::TimedOut => "timed out".into(),
        Cause::Cancelled => "cancelled".into(),
        Cause::Broken(_) => "could not run".into(),
        Cause::Changed { .. } => "the hook was changed".into(),
    }
}

fn uid(user: u32) -> String {
    object(&[("uid", &user.to_string())])
}

/// A JSON object of texts.
fn object(members: &[(&str, &str)]) -> String {
    let mut bytes = Vec::from(b"{");
    for (at, (name, value)) in members.iter().enumerate() {
        if at > 0 {
            bytes.push(b',');
        }
        quote(&mut bytes, name);
        bytes.push(b':');
        quote(&mut bytes, &value.chars().take(NAME_MAX).collect::<String>());
    }
    bytes.push(b'}');
    String::from_utf8(bytes).unwrap_or_default()
}
