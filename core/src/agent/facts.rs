//! What the agent is told and what it orders: the whole interface between its decisions and the shell.

use alloc::{boxed::Box, collections::BTreeMap, string::String, vec::Vec};
use core::{fmt, time::Duration};

use thiserror::Error;

use super::notice::Notice;
use crate::{
    backoff::Jitter,
    ids::{CallId, ExecutionId},
    secret::Secret,
    wire::{
        grammar::{Checksum, PublicKey, Uuid},
        http::{Request, Response},
        identity::{Files, Identity, IdentityFile, Unusable},
        problem::Code,
    },
};

/// What stays the same while an agent runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub purpose: Purpose,
    /// How long a registration is retried on transient failures.
    pub max_retry_duration: Duration,
    pub heartbeat_interval: Duration,
    pub reconcile_interval: Duration,
    pub request_timeout: Duration,
    /// Of the running image.
    pub binary_checksum: Checksum,
    pub binary_version: String,
    pub actions: ActionSettings,
}

/// What the process was started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To run until it is told to stop.
    Run,
    /// To have an identity, then exit.
    Register,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSettings {
    pub enabled: bool,
    pub max_concurrent: usize,
    pub max_action_timeout: Duration,
    pub max_output_bytes: usize,
    /// The built-in actions that the shell can run.
    pub builtins: Vec<String>,
}

/// A fact for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The process has started and read its data directory.
    Restarted(Box<Memory>),
    /// What a registration needs was looked for, by [`Effect::Gather`].
    Gathered(Box<Gathered>),
    /// An [`Order`] on the data directory was carried out, or failed.
    Stored(Stored),
    /// A call by [`Effect::Send`] ended; each call is answered once.
    Answered { call: CallId, answer: Answer, jitter: Jitter },
    /// A run by [`Effect::Run`] ended.
    Finished { execution: ExecutionId, ending: Ending },
    /// A co-located program asks.
    Asked { call: CallId, door: Door, request: Request },
    /// The process is told to stop.
    Draining,
    /// The time of [`super::Agent::wakeup`] has come.
    Ticked,
}

/// An order of the agent, carried out in the sequence given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Look for the bootstrap token and the registration inputs; answered by [`Input::Gathered`].
    Gather,
    /// Finished before the next effect is begun; answered by [`Input::Stored`].
    Store(Order),
    /// Answered by [`Input::Answered`] within the timeout.
    Send { call: CallId, request: Request, timeout: Duration },
    /// Run an action; answered by [`Input::Finished`].
    Run { execution: ExecutionId, run: Run },
    /// End a run before its time; it is still answered by [`Input::Finished`].
    Cancel { execution: ExecutionId },
    /// Answer [`Input::Asked`].
    Reply { call: CallId, response: Response },
    /// Tell the operator.
    Tell(Notice),
    /// End the process.
    Exit(Exit),
}

/// What the data directory held at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub files: Files,
    pub staged: StagedFile,
}

/// `rotation_pending_key` as its reader found it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StagedFile {
    #[default]
    Missing,
    /// Unreadable as a key. It is written whole before any request, so no request was made with it.
    Broken,
    /// The public half of the staged key.
    Key(PublicKey),
}

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

/// A change of the data directory. Each is atomic: it happened whole, or the next start sees it undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Move identity files that make no identity out of the way, into a folder beside them.
    SetAside,
    /// Generate the private key and write `private_key`.
    MakeKey,
    /// Write `node_secret_key`, `signing_public_key`, then `identity.json`, which says that all are complete.
    Persist(Box<Identity>),
    /// Remove the token file.
    ForgetToken,
    /// Generate a private key and write `rotation_pending_key`.
    Stage,
    /// Put the staged key in the place of `private_key`, write `identity.json`, remove `rotation_pending_key`.
    Commit(Box<IdentityFile>),
    /// Remove `rotation_pending_key`.
    Discard,
}

/// How an [`Order`] ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// After [`Order::MakeKey`].
    KeyMade(PublicKey),
    /// After [`Order::Persist`].
    Persisted,
    /// After [`Order::Stage`].
    Staged(PublicKey),
    /// After [`Order::Commit`].
    Committed,
    /// After an order whose success needs no word.
    Done,
    /// The disk refused; the text tells the path and the cause.
    Failed { order: OrderKind, jitter: Jitter, reason: String },
}

/// Names an [`Order`] without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKind {
    SetAside,
    MakeKey,
    Persist,
    ForgetToken,
    Stage,
    Commit,
    Discard,
}

impl Order {
    pub const fn kind(&self) -> OrderKind {
        match self {
            Self::SetAside => OrderKind::SetAside,
            Self::MakeKey => OrderKind::MakeKey,
            Self::Persist(_) => OrderKind::Persist,
            Self::ForgetToken => OrderKind::ForgetToken,
            Self::Stage => OrderKind::Stage,
            Self::Commit(_) => OrderKind::Commit,
            Self::Discard => OrderKind::Discard,
        }
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Responded(Response),
    Failed(Lost),
}

/// A call without a response: the kind of its failure, and the cause in words, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub failure: Failure,
    pub cause: String,
}

impl From<Failure> for Lost {
    fn from(failure: Failure) -> Self {
        Self { failure, cause: String::new() }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause.as_str() {
            "" => fmt::Display::fmt(&self.failure, f),
            cause => write!(f, "{}: {cause}", self.failure),
        }
    }
}

/// Why a call has no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    #[error("the control plane cannot be reached")]
    Unreachable,
    #[error("no answer within the timeout")]
    TimedOut,
    #[error("the answer is too large")]
    Oversized,
}

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub action: String,
    /// Strings unquoted, every other value as its JSON text.
    pub parameters: BTreeMap<String, String>,
    /// The run is over after this long, with [`Cause::TimedOut`].
    pub deadline: Duration,
    /// Each stream is kept up to this many bytes.
    pub max_output_bytes: usize,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub cause: Cause,
    pub stdout: Captured,
    pub stderr: Captured,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Exited(i32),
    TimedOut,
    Cancelled,
    /// It could not be run, or broke down; the text tells why.
    Broken(String),
}

/// A stream of a run, up to the limit.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Captured {
    pub bytes: Vec<u8>,
    /// More came and was thrown away.
    pub cut: bool,
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes{}", self.bytes.len(), if self.cut { ", cut" } else { "" })
    }
}

/// The listener a local request came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    Health,
    Socket,
}

/// Why the process ends.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Exit {
    #[error("stopped")]
    Drained,
    /// There is an identity, and nothing else was asked for.
    #[error("registered")]
    Registered { node_id: String, mesh_ip: String },
    /// A registration cannot even be tried.
    #[error("{0}")]
    Unprepared(Unprepared),
    /// The control plane refused for good.
    #[error("the control plane refused the registration: {reason}")]
    Refused { status: u16, code: Option<Code>, reason: String },
    /// Transient failures for all of the retry window.
    #[error("registration gave up after {} s: {reason}", .after.as_secs())]
    GaveUp { after: Duration, reason: String },
    /// A 201 that holds no usable identity.
    #[error("the registration was accepted but the answer is unusable: {reason}")]
    Unusable { reason: Unusable },
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
