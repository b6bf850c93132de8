//! What a request asks, read from its bytes without the types of either end; a callback's route is its status.

use meshward_core::{
    agent::{Carried, Pipe},
    ids::{ExecutionId, SessionId},
    wire::{
        http::{Body, Request},
        json::{self, Raw},
        timestamp::Timestamp,
    },
};
use serde::Deserialize;

use crate::told::{self, Told};

/// The route of a request, with a callback told apart by how far it says the execution has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Route {
    Register,
    Heartbeat,
    Pull,
    Rotate,
    Ack,
    Started,
    /// `started` once more, with the size of an output.
    Declared,
    Terminal,
    Report,
    SessionStarted,
    SessionEnded,
    Upload,
    Events,
    Endpoint,
    Manifest,
    Violations,
    Metrics,
    Logs,
    Audit,
}

impl Route {
    /// Those of what a node tells of itself last.
    pub const ALL: [Self; 19] = [
        Self::Register,
        Self::Heartbeat,
        Self::Pull,
        Self::Rotate,
        Self::Ack,
        Self::Started,
        Self::Declared,
        Self::Terminal,
        Self::Report,
        Self::SessionStarted,
        Self::SessionEnded,
        Self::Upload,
        Self::Events,
        Self::Endpoint,
        Self::Manifest,
        Self::Violations,
        Self::Metrics,
        Self::Logs,
        Self::Audit,
    ];

    /// Those of a world that is mute.
    pub const MUTE: usize = 16;

    /// The pipeline that it is of.
    pub const fn pipe(self) -> Option<Pipe> {
        match self {
            Self::Metrics => Some(Pipe::Metrics),
            Self::Logs => Some(Pipe::Logs),
            Self::Audit => Some(Pipe::Audit),
            Self::Register
            | Self::Heartbeat
            | Self::Pull
            | Self::Rotate
            | Self::Ack
            | Self::Started
            | Self::Declared
            | Self::Terminal
            | Self::Report
            | Self::SessionStarted
            | Self::SessionEnded
            | Self::Upload
            | Self::Events
            | Self::Endpoint
            | Self::Manifest
            | Self::Violations => None,
        }
    }

    /// Whether it is called all the time.
    pub const fn is_routine(self) -> bool {
        match self {
            Self::Heartbeat
            | Self::Pull
            | Self::Events
            | Self::Metrics
            | Self::Logs
            | Self::Audit => true,
            Self::Register
            | Self::Rotate
            | Self::Ack
            | Self::Started
            | Self::Declared
            | Self::Terminal
            | Self::Report
            | Self::SessionStarted
            | Self::SessionEnded
            | Self::Upload
            | Self::Endpoint
            | Self::Manifest
            | Self::Violations => false,
        }
    }
}

/// What a request of a node says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Records of a pipeline, in their order.
    Batch(Pipe, Vec<Told>),
    Callback {
        execution: ExecutionId,
        status: String,
        /// It announces output.
        declares: bool,
    },
    Heartbeat {
        client_now: Option<Timestamp>,
    },
    Pull,
    Register {
        nonce: String,
        key: String,
    },
    /// No value deletes the report.
    Report {
        key: String,
        value: Option<String>,
    },
    Rotate {
        key: String,
    },
    /// What the senses of a node ask for and tell.
    Sense(Sense),
    Upload {
        execution: ExecutionId,
    },
    /// A row of a session.
    Session {
        session: SessionId,
        has_ended: bool,
        /// Zero on rows of a begin.
        carried: Carried,
    },
}

/// What the senses of a node ask for and tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The stream of events, from behind the one that is named.
    Events {
        cursor: Option<String>,
    },
    Endpoint {
        endpoint: String,
        nat_type: String,
    },
    Manifest(Box<Declared>),
    Violations(Vec<Deviation>),
}

/// What a node declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    pub version: String,
    pub checksum: String,
    pub fingerprint: Option<String>,
    /// With their digests, in the order given.
    pub hooks: Vec<(String, String)>,
}

/// A file that is not what it was: its kind and its name, what it is and what it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deviation {
    pub artifact: Artifact,
    pub observed: String,
    pub expected: String,
}

/// The kind and the name of a file, as the wire has them.
pub type Artifact = (String, String);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Members {
    binary_checksum: String,
    binary_version: String,
    client_now: Option<Timestamp>,
    declared_hooks: Vec<HookLine>,
    declared_output_bytes: Option<i64>,
    endpoint: String,
    nat_type: String,
    new_public_key: String,
    nonce: String,
    public_key: String,
    ssh_host_key_fingerprint: Option<String>,
    /// A number in problems, a text in callbacks.
    status: Option<Raw>,
    tcp: Row,
    value: Option<String>,
    violations: Vec<Entry>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HookLine {
    name: String,
    checksum: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    kind: String,
    artifact_id: String,
    observed_checksum: String,
    expected_checksum: String,
    observed_fingerprint: String,
    expected_fingerprint: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Row {
    phase: String,
    bytes_in: u64,
    bytes_out: u64,
}

impl Members {
    fn endpoint(self) -> Sense {
        Sense::Endpoint { endpoint: self.endpoint, nat_type: self.nat_type }
    }

    fn manifest(self) -> Sense {
        let hooks = self.declared_hooks.into_iter().map(|hook| (hook.name, hook.checksum));
        Sense::Manifest(Box::new(Declared {
            version: self.binary_version,
            checksum: self.binary_checksum,
            fingerprint: self.ssh_host_key_fingerprint,
            hooks: hooks.collect(),
        }))
    }

    /// Of digest and fingerprint one is empty.
    fn violations(self) -> Sense {
        let read = |entry: Entry| Deviation {
            artifact: (entry.kind, entry.artifact_id),
            observed: entry.observed_checksum + &entry.observed_fingerprint,
            expected: entry.expected_checksum + &entry.expected_fingerprint,
        };
        Sense::Violations(self.violations.into_iter().map(read).collect())
    }
}

/// Whether a path is one that a node tells of itself on.
pub(crate) fn is_sensed(path: &str) -> bool {
    ["/endpoint", "/capabilities", "/integrity-violations"].iter().any(|end| path.ends_with(end))
}

impl Said {
    pub fn read(request: &Request) -> Self {
        if let Some((pipe, body)) = told::body(request) {
            return Self::Batch(pipe, told::read(pipe, body));
        }
        let members = match &request.body {
            Body::Whole(bytes) => json::decode_tolerant(bytes).unwrap_or_default(),
            Body::Oversized | Body::Unreadable => Members::default(),
        };
        if let Some((_, execution)) = request.path.rsplit_once("/executions/") {
            let status = members.status.map(|raw| raw.text().trim_matches('"').to_owned());
            let execution = ExecutionId(execution.to_owned());
            let declares = members.declared_output_bytes.is_some();
            return Self::Callback { execution, status: status.unwrap_or_default(), declares };
        }
        if let Some((_, session)) = request.path.rsplit_once("/sessions/") {
            let Row { phase, bytes_in, bytes_out } = members.tcp;
            return Self::Session {
                session: SessionId(session.to_owned()),
                has_ended: phase == "session_ended",
                carried: Carried { bytes_in, bytes_out },
            };
        }
        if let Some((_, key)) = request.path.rsplit_once("/state/reports/") {
            return Self::Report { key: key.to_owned(), value: members.value };
        }
        if let Some(execution) = request.path.strip_prefix("/exec-output/") {
            return Self::Upload { execution: ExecutionId(execution.to_owned()) };
        }
        match request.path.as_str() {
            "/v1/register" => Self::Register { nonce: members.nonce, key: members.public_key },
            "/v1/keys/rotate" => Self::Rotate { key: members.new_public_key },
            path if path.ends_with("/heartbeat") => {
                Self::Heartbeat { client_now: members.client_now }
            }
            path => Self::Sense(match path.rsplit_once('/').map(|(_, last)| last) {
                Some("events") => {
                    let cursor = request.headers.first("last-event-id");
                    Sense::Events { cursor: cursor.map(ToOwned::to_owned) }
                }
                Some("endpoint") => members.endpoint(),
                Some("capabilities") => members.manifest(),
                Some("integrity-violations") => members.violations(),
                _ => return Self::Pull,
            }),
        }
    }

    pub fn route(&self) -> Route {
        match self {
            Self::Batch(Pipe::Metrics, _) => Route::Metrics,
            Self::Batch(Pipe::Logs, _) => Route::Logs,
            Self::Batch(Pipe::Audit, _) => Route::Audit,
            Self::Callback { declares: true, .. } => Route::Declared,
            Self::Callback { status, .. } => match status.as_str() {
                "ack" => Route::Ack,
                "started" => Route::Started,
                _ => Route::Terminal,
            },
            Self::Heartbeat { .. } => Route::Heartbeat,
            Self::Pull => Route::Pull,
            Self::Register { .. } => Route::Register,
            Self::Report { .. } => Route::Report,
            Self::Rotate { .. } => Route::Rotate,
            Self::Session { has_ended: false, .. } => Route::SessionStarted,
            Self::Session { has_ended: true, .. } => Route::SessionEnded,
            Self::Upload { .. } => Route::Upload,
            Self::Sense(Sense::Events { .. }) => Route::Events,
            Self::Sense(Sense::Endpoint { .. }) => Route::Endpoint,
            Self::Sense(Sense::Manifest(_)) => Route::Manifest,
            Self::Sense(Sense::Violations(_)) => Route::Violations,
        }
    }
}
