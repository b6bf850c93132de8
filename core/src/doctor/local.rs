//! What the agent offers on this node: its socket, its listeners, and its hooks.

use alloc::{format, string::String, vec, vec::Vec};

use super::{
    Finding, Holder,
    port::{Listener, Place},
};
use crate::{
    agent::{
        FoundHook, FoundProgram, Scan, Sight,
        hooks::{self, Hooks},
        notice::Level,
    },
    time::Now,
};

const SOCKET: &str = "socket";
const HOOKS: &str = "hooks";

/// What was found of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The agent that runs on the data directory.
    pub agent: Holder,
    pub socket_path: String,
    /// Absent where it did not end in time.
    pub socket: Option<Socket>,
    /// Where each is wanted.
    pub health: Option<Place>,
    pub tcp: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socket {
    Absent,
    /// There is something else.
    NoSocket,
    /// This user may not ask it, or may not even look; the text tells why.
    Closed(String),
    /// Nobody listens at it.
    Left,
    /// It does not answer as an agent does; the text tells why.
    Silent(String),
    Answers {
        /// Whether its group may ask.
        group: bool,
        /// Whether there is a group `meshward`.
        has_group: bool,
    },
}

impl Local {
    pub fn findings(&self) -> Vec<Finding> {
        let socket =
            self.socket.as_ref().map_or_else(|| Finding::unseen(SOCKET), |seen| self.socket(seen));
        let health = Listener::Health.finding(self.health.as_ref(), self.agent);
        let tcp = Listener::Tcp.finding(self.tcp.as_ref(), self.agent);
        vec![socket, health, tcp]
    }

    fn socket(&self, seen: &Socket) -> Finding {
        let path = &self.socket_path;
        match (seen, self.agent) {
            (Socket::Absent, Holder::Nobody) => {
                Finding::good(SOCKET, format!("{path} is made by the agent, which does not run"))
            }
            (Socket::Absent, Holder::Hidden) => {
                Finding::untold(SOCKET, format!("{path} is not there, and whether an agent runs"))
            }
            (Socket::Absent, Holder::Process(_)) => Finding::bad(
                SOCKET,
                format!("{path} is not there although the agent runs"),
                "somebody has removed it, or the agent was started with another path: start it again",
            ),
            (Socket::NoSocket, _) => Finding::bad(
                SOCKET,
                format!("{path} is no socket, so that the agent does not start"),
                "move it away, or set local_api.socket_path",
            ),
            (Socket::Closed(cause), _) => {
                Finding::untold(SOCKET, format!("{path} ({cause}): whether it answers"))
            }
            (Socket::Left, Holder::Nobody | Holder::Hidden) => Finding::good(
                SOCKET,
                format!("{path} is left from an agent that has gone, and the next replaces it"),
            ),
            (Socket::Left, Holder::Process(_)) => Finding::bad(
                SOCKET,
                format!("nobody listens at {path} although the agent runs"),
                "somebody has put it there, or the agent was started with another path: start it again",
            ),
            (Socket::Silent(cause), _) => Finding::bad(
                SOCKET,
                format!("{path} does not answer as an agent does: {cause}"),
                "look at the log of the agent, or at who listens there, and ask again",
            ),
            (Socket::Answers { group, has_group }, _) => answers(path, *group, *has_group),
        }
    }
}

fn answers(path: &str, group: bool, has_group: bool) -> Finding {
    match (group, has_group) {
        (true, _) => {
            Finding::good(SOCKET, format!("{path} answers, and the group meshward may ask"))
        }
        (false, true) => Finding::warn(
            SOCKET,
            format!("{path} answers its user alone, although there is a group meshward"),
            "let the agent give it away (CAP_CHOWN), and start it again",
        ),
        (false, false) => Finding::warn(
            SOCKET,
            format!("{path} answers its user alone"),
            "make the group (groupadd --system meshward) and start the agent again",
        ),
    }
}

/// What a look at the hooks directory means, by the rules that hooks are held to; `None` where it did not end in time.
/// What another user than the agent's cannot read, the agent perhaps can.
pub fn hooks(now: Now, sight: Option<Sight>, foreign: bool) -> Vec<Finding> {
    let (mut wrong, sight) = match sight {
        None => return vec![Finding::unseen(HOOKS)],
        Some(Sight::Absent) => {
            return vec![Finding::good(
                HOOKS,
                "there is no hooks directory, and so there are none",
            )];
        }
        Some(Sight::Failed(cause)) => return vec![unread(&cause, foreign)],
        Some(Sight::Found { files, crowded }) => {
            let (wrong, files) = apart(files, foreign);
            (wrong, Sight::Found { files, crowded })
        }
        Some(sight @ Sight::Distrusted { .. }) => (Vec::new(), sight),
    };
    let looking = Hooks::default().step(now, hooks::Input::Started).state;
    let step = looking.step(now, hooks::Input::Scanned(Scan { sight, watched: Ok(()) }));
    let told = step.effects.into_iter().filter_map(|effect| match effect {
        hooks::Effect::Tell(notice) if notice.level <= Level::Warn => Some(notice.text),
        hooks::Effect::Tell(_)
        | hooks::Effect::Look
        | hooks::Effect::Answer { .. }
        | hooks::Effect::Refuse { .. } => None,
    });
    wrong.extend(told.map(|words| Finding::bad(HOOKS, words, MEND)));
    match wrong.is_empty() {
        true => vec![Finding::good(HOOKS, format!("{} can run", step.state.observed().count()))],
        false => wrong,
    }
}

/// What is said of the files that cannot be read, and the others.
fn apart(files: Vec<FoundHook>, foreign: bool) -> (Vec<Finding>, Vec<FoundHook>) {
    let (mut wrong, mut others) = (Vec::new(), Vec::new());
    for file in files {
        match &file.found {
            FoundProgram::Unreadable(cause) => {
                wrong.push(unread(&format!("{}: {cause}", file.name), foreign));
            }
            FoundProgram::Whole { .. }
            | FoundProgram::Unsettled
            | FoundProgram::Misnamed
            | FoundProgram::Distrusted(_)
            | FoundProgram::TooLarge => others.push(file),
        }
    }
    (wrong, others)
}

fn unread(cause: &str, foreign: bool) -> Finding {
    match foreign {
        true => Finding::untold(HOOKS, format!("{cause}; what of it the agent runs")),
        false => Finding::bad(
            HOOKS,
            format!("it cannot be read: {cause}"),
            "let the user of the agent read it; until then it does not run",
        ),
    }
}

const MEND: &str = "until then it does not run";
