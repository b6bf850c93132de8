//! What the hands are told to begin, and what comes of it: runs, uploads, the tunnel device, sessions.
//!
//! Nothing of this is waited for; each order that is answered names what its answer brings back.

use alloc::string::String;

use super::{
    runs::{Ending, Run, RunId},
    sessions::{SessionFact, SessionOrder},
};
use crate::{ids::SessionId, wire::grammar::PublicKey};

/// An order that is begun, and answered when it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Run a program; answered by [`Acted::Finished`].
    Run { id: RunId, run: Run },
    /// End a run before its time; it is still answered by [`Acted::Finished`].
    Cancel(RunId),
    /// Let the tunnel device use the private key with this public half; answered by [`Acted::Installed`].
    Install { key: PublicKey },
    /// Open or close the listener of a session; answered by [`Acted::Session`].
    Session(SessionId, SessionOrder),
}

/// How an [`Act`] ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acted {
    /// A run by [`Act::Run`] ended.
    Finished { id: RunId, ending: Ending },
    /// The tunnel device took a key, or why it did not.
    Installed { key: PublicKey, outcome: Result<(), String> },
    /// The listener of a session tells.
    Session(SessionId, SessionFact),
}
