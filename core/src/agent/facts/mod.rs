//! What the agent is told and what it orders: the whole interface between its decisions and the shell.

mod acts;
mod caller;
mod exit;
mod findings;
mod gathered;
mod hooks;
mod kept;
mod orders;
mod runs;
mod senses;
mod sessions;
mod settings;
mod streams;
mod voice;

use alloc::{boxed::Box, string::String};
use core::{fmt, time::Duration};

use thiserror::Error;

pub use acts::{Act, Acted, Bytes};
pub use caller::{Caller, Door, Peer};
pub use exit::Exit;
pub use findings::Finding;
pub use gathered::{Gathered, TokenFile, TokenSource, TokenSources, Unprepared, Wanted};
pub use hooks::{FileKind, FoundHook, FoundProgram, FoundSidecar, Held, Scan, Sight};
pub use kept::{Change, Content, Folder, FoundContent, FoundFile, StateFile};
pub use orders::{Memory, Order, OrderKind, StagedFile, Stored};
pub use runs::{Captured, Cause, Ending, Program, Run, RunId};
pub use senses::{CHUNK_MAX, Discovery, Heard, HostKey, Listen, Measured, Seen};
pub use sessions::{Carried, Forward, SessionFact, SessionOrder};
pub use settings::{
    ActionSettings, EventSettings, IntegritySettings, NatSettings, Purpose, SenseSettings,
    SessionSettings, Settings, TcpSettings,
};
pub use streams::Stream;
pub use voice::{
    Collect, Collected, Feed, Filter, LocalSettings, Pipe, PipeSettings, Records, Source,
    SpoolOrder, Spooled, Voice, VoiceSettings,
};

use super::notice::Notice;
use crate::{
    backoff::Jitter,
    ids::CallId,
    wire::http::{Request, Response},
};

/// A fact for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The process has started and read its data directory.
    Restarted(Box<Memory>),
    /// What a registration needs was looked for, by [`Effect::Gather`].
    Gathered(Box<Gathered>),
    /// An [`Order`] on the data directory was carried out, or failed.
    Stored(Stored),
    /// A change by [`Effect::Keep`] is durable, or the disk refused it; the text tells the path and the cause.
    Kept { file: StateFile, outcome: Result<(), String> },
    /// A call by [`Effect::Send`] ended; each call is answered once.
    Answered { call: CallId, answer: Answer, jitter: Jitter },
    /// What was begun by [`Effect::Act`] has come to something.
    Acted(Acted),
    /// A co-located program asks.
    Asked { call: CallId, caller: Caller, request: Request },
    /// The stream of a watcher has ended, or a program has gone whose run was begun by [`Effect::Act`].
    Left(CallId),
    /// A listener has ended by itself.
    Broke(Door),
    /// The settings of this step differ from those before in what may change while the process runs.
    Retimed,
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
    /// Change a file below `state/`; not waited for, answered by [`Input::Kept`]. Of one file one change at a time.
    Keep { file: StateFile, change: Change },
    /// Answered by [`Input::Answered`] within the timeout; of an answer no more than `answer_max` bytes are kept.
    Send { call: CallId, request: Request, timeout: Duration, answer_max: usize },
    /// Begin something that takes its time; answered by [`Input::Acted`].
    Act(Act),
    /// Answer [`Input::Asked`].
    Reply { call: CallId, response: Response },
    /// Move the event streams, one of which may answer [`Input::Asked`].
    Stream(Stream),
    /// Tell the operator.
    Tell(Notice),
    /// End the process.
    Exit(Exit),
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
    /// The head of the answer came, with this status.
    #[error("the answer is too large")]
    Oversized { status: u16 },
}
