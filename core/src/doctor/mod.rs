//! What `meshward doctor` makes of what it has gathered: a row a check, each with the way to mend what is wrong.
//!
//! The shell looks and changes nothing; here is decided what of it is good. No secret comes in, so that none can come out.
//!
//! Specification: `decisions.md` section 3 (`doctor`).

mod data;
mod endpoint;
mod identity;
mod journal;
mod kernel;
mod local;
mod plane;
mod port;
pub mod proc;
mod roots;

use alloc::{format, string::String};

pub use data::{DataDir, Folder, Holder, ROOM_MIN, ROOM_WARN};
pub use endpoint::{Endpoint, Fares};
pub use identity::{Identities, KeptFile, Tokens};
pub use journal::journal;
pub use kernel::{Ability, Log, Seen, There};
pub use local::{Local, Socket, hooks};
pub use plane::{Health, Plane, Shake, TlsFault, Way};
pub use port::{Place, Port, TcpToken, TokenSeen};
pub use roots::Roots;

use crate::legible;

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Good,
    /// It works, and not as well as it could.
    Warn,
    Bad,
}

impl State {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// What was found about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub name: &'static str,
    pub state: State,
    /// What is so.
    pub words: String,
    /// What to do about it; empty where it is good.
    pub mend: String,
}

impl Finding {
    pub fn good(name: &'static str, words: impl AsRef<str>) -> Self {
        Self::of(name, State::Good, words, "")
    }

    pub fn warn(name: &'static str, words: impl AsRef<str>, mend: impl AsRef<str>) -> Self {
        Self::of(name, State::Warn, words, mend)
    }

    pub fn bad(name: &'static str, words: impl AsRef<str>, mend: impl AsRef<str>) -> Self {
        Self::of(name, State::Bad, words, mend)
    }

    /// What did not end in time.
    pub fn unseen(name: &'static str) -> Self {
        Self::bad(
            name,
            "it is not to be seen in time, as from a disk, a name server or a peer that hangs",
            "look at what it stands on, and ask again",
        )
    }

    /// What another user than the agent's cannot see, so that nothing is said of it but that.
    pub fn untold(name: &'static str, what: impl AsRef<str>) -> Self {
        Self::bad(name, format!("{} cannot be told as this user", what.as_ref()), ASK)
    }

    /// On one line, since words of others may stand in it.
    fn of(name: &'static str, state: State, words: impl AsRef<str>, mend: impl AsRef<str>) -> Self {
        let line = |text: &str| legible::line(text).into_owned();
        Self { name, state, words: line(words.as_ref()), mend: line(mend.as_ref()) }
    }

    /// The line that people read.
    pub fn line(&self) -> String {
        let Self { name, state, words, mend } = self;
        let state = state.name();
        match mend.as_str() {
            "" => format!("{state:<5} {name}: {words}"),
            mend => format!("{state:<5} {name}: {words}; {mend}"),
        }
    }
}

/// The mend of what this user cannot see.
const ASK: &str = "ask as the user of the agent, such as with sudo";

/// Whether there is nothing to mend.
pub fn is_all_good(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.state == State::Good)
}
