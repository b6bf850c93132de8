//! What the hands are told to begin, and what comes of it: runs, uploads, looks at the hooks, the tunnel device, sessions, senses.
//!
//! Nothing of this is waited for; each order that is answered names what its answer brings back.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::{fmt, time::Duration};

use super::{
    hooks::Scan,
    runs::{Ending, Run, RunId},
    senses::{Discovery, Heard, Listen, Measured, Seen},
    sessions::{SessionFact, SessionOrder},
    voice::{Collected, Pipe, Spooled, Voice},
};
use crate::{
    agent::figures::Process,
    backoff::Jitter,
    ids::{CallId, SessionId},
    wire::{grammar::PublicKey, upload_url::UploadUrl},
};

/// An order that is begun, and answered when it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Run a program; answered by [`Acted::Finished`].
    Run { id: RunId, run: Run },
    /// Bring the output of a run to where the control plane has invited it: one PUT, without a bearer, a redirect or a
    /// second try; answered by [`Input::Answered`](super::Input::Answered) within the timeout.
    Upload { call: CallId, url: UploadUrl, bytes: Bytes, timeout: Duration },
    /// End a run before its time; it is still answered by [`Acted::Finished`].
    Cancel(RunId),
    /// Let the tunnel device use the private key with this public half; answered by [`Acted::Installed`].
    Install { key: PublicKey },
    /// Look at the hooks directory, and watch it from then on; answered by [`Acted::Scanned`].
    Scan,
    /// Open or close the listener of a session; answered by [`Acted::Session`].
    Session(SessionId, SessionOrder),
    /// Open a stream of events under this name, or close it; answered by [`Acted::Heard`].
    Listen(CallId, Listen),
    /// Ask how this node is seen from outside; answered by [`Acted::Discovered`].
    Discover(Discovery),
    /// Look at the program's file and the host key; answered by [`Acted::Measured`].
    Measure,
    /// Collect records, or bring them away.
    Voice(Voice),
    /// Read what this process takes, for who asks; answered by [`Acted::Weighed`].
    Weigh(CallId),
}

/// What a run has printed; it may hold anything, so only its length is ever shown.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// How an [`Act`] ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acted {
    /// A run by [`Act::Run`] ended.
    Finished { id: RunId, ending: Ending },
    /// The tunnel device took a key, or why it did not.
    Installed { key: PublicKey, outcome: Result<(), String> },
    /// The hooks directory was looked at.
    Scanned(Box<Scan>),
    /// Something in the hooks directory, or on the way to it, has changed since it was looked at.
    Stirred,
    /// The listener of a session tells.
    Session(SessionId, SessionFact),
    /// A stream of events tells.
    Heard { stream: CallId, heard: Heard, jitter: Jitter },
    /// What each of the servers told, in their order and with the cause where it told nothing; or why none could be asked.
    Discovered { round: u64, outcome: Result<Vec<Result<Seen, String>>, String>, jitter: Jitter },
    /// The program's file and the host key were looked at.
    Measured(Box<Measured>),
    /// Records were collected.
    Collected(Box<Collected>),
    /// The disk tells of the records of a pipeline.
    Spooled { pipe: Pipe, spooled: Box<Spooled> },
    /// What this process takes was read, for who asks.
    Weighed { asker: CallId, process: Process },
}
