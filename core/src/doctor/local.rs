//! What the agent offers on this node: its socket, its health listener, and its hooks.

use alloc::{format, string::String, vec, vec::Vec};

use super::Finding;
use crate::{
    agent::{
        Scan, Sight,
        hooks::{self, Hooks},
        notice::Level,
    },
    time::Now,
};

const SOCKET: &str = "socket";
const HEALTH: &str = "health listener";
const HOOKS: &str = "hooks";

/// What was found of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Whether an agent runs on the data directory.
    pub running: bool,
    pub socket_path: String,
    /// Absent where it did not end in time.
    pub socket: Option<Socket>,
    /// The address of the health listener, where one is wanted.
    pub health: Option<String>,
    pub port: Option<Port>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socket {
    Absent,
    /// There is something else.
    NoSocket,
    /// It is there and cannot be asked; the text tells why.
    Silent(String),
    Answers {
        /// Whether its group may ask.
        group: bool,
        /// Whether there is a group `meshward`.
        has_group: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    Free,
    /// What listens answers as an agent does.
    Agent,
    Other,
}

impl Local {
    pub fn findings(&self) -> Vec<Finding> {
        let socket =
            self.socket.as_ref().map_or_else(|| Finding::unseen(SOCKET), |seen| self.socket(seen));
        let health = match (&self.health, self.port) {
            (None, _) => Finding::good(HEALTH, "not wanted (health.enabled is false)"),
            (Some(_), None) => Finding::unseen(HEALTH),
            (Some(at), Some(port)) => self.health(at, port),
        };
        vec![socket, health]
    }

    fn socket(&self, seen: &Socket) -> Finding {
        let path = &self.socket_path;
        match (seen, self.running) {
            (Socket::Absent, false) => {
                Finding::good(SOCKET, format!("{path} is made by the agent, which does not run"))
            }
            (Socket::Absent, true) => Finding::bad(
                SOCKET,
                format!("{path} is not there although the agent runs"),
                "somebody has removed it, or the agent was started with another path: start it again",
            ),
            (Socket::NoSocket, _) => Finding::bad(
                SOCKET,
                format!("{path} is no socket, so that the agent does not start"),
                "move it away, or set local_api.socket_path",
            ),
            (Socket::Silent(_), false) => Finding::good(
                SOCKET,
                format!("{path} is left from an agent that has gone, and the next replaces it"),
            ),
            (Socket::Silent(cause), true) => Finding::bad(
                SOCKET,
                format!("{path} does not answer: {cause}"),
                "ask as the user of the agent or as a member of the group meshward; look at its log",
            ),
            (Socket::Answers { group: true, .. }, _) => {
                Finding::good(SOCKET, format!("{path} answers, and the group meshward may ask"))
            }
            (Socket::Answers { has_group: true, .. }, _) => Finding::warn(
                SOCKET,
                format!("{path} answers its user alone, although there is a group meshward"),
                "let the agent give it away (CAP_CHOWN), and start it again",
            ),
            (Socket::Answers { .. }, _) => Finding::warn(
                SOCKET,
                format!("{path} answers its user alone"),
                "make the group (groupadd --system meshward) and start the agent again",
            ),
        }
    }

    fn health(&self, at: &str, port: Port) -> Finding {
        match (port, self.running) {
            (Port::Agent, true) => Finding::good(HEALTH, format!("{at} answers")),
            (Port::Free, false) => Finding::good(HEALTH, format!("{at} is free")),
            (Port::Free, true) => Finding::bad(
                HEALTH,
                format!("nobody listens at {at} although the agent runs"),
                "start the agent again, which may have been started with another address",
            ),
            (Port::Agent, false) => Finding::bad(
                HEALTH,
                format!("another agent listens at {at}"),
                "stop it, or set health.listen",
            ),
            (Port::Other, _) => Finding::bad(
                HEALTH,
                format!("another program listens at {at}, so that the agent does not start"),
                "stop that program, or set health.listen",
            ),
        }
    }
}

/// What a look at the hooks directory means, by the rules that hooks are held to; `None` where it did not end in time.
pub fn hooks(now: Now, sight: Option<Sight>) -> Vec<Finding> {
    let sight = match sight {
        None => return vec![Finding::unseen(HOOKS)],
        Some(Sight::Absent) => {
            return vec![Finding::good(
                HOOKS,
                "there is no hooks directory, and so there are none",
            )];
        }
        Some(sight @ (Sight::Distrusted { .. } | Sight::Failed(_) | Sight::Found { .. })) => sight,
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
    let wrong: Vec<_> = told.map(|words| Finding::bad(HOOKS, words, MEND)).collect();
    match wrong.is_empty() {
        true => vec![Finding::good(HOOKS, format!("{} can run", step.state.observed().count()))],
        false => wrong,
    }
}

const MEND: &str = "until then it does not run";
