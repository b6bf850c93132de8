//! The TCP ports of the agent, each held against whether it runs, and the token that guards one of them.

use alloc::{format, string::String, vec::Vec};

use super::{Finding, Holder};

const TOKEN: &str = "tcp token";

/// A listener that the agent may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listener {
    Health,
    Tcp,
}

/// Where it listens, and who does so there now; absent where that did not end in time.
pub type Place = (String, Option<Port>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    Free,
    /// What listens answers as an agent does.
    Agent,
    Other,
}

impl Listener {
    const fn name(self) -> &'static str {
        match self {
            Self::Health => "health listener",
            Self::Tcp => "tcp listener",
        }
    }

    const fn setting(self) -> &'static str {
        match self {
            Self::Health => "health.listen",
            Self::Tcp => "local_api.http_listen",
        }
    }

    const fn switch(self) -> &'static str {
        match self {
            Self::Health => "health.enabled",
            Self::Tcp => "local_api.http_enabled",
        }
    }

    /// What a place means for an agent that is to listen there; none where it is not to.
    pub(super) fn finding(self, place: Option<&Place>, agent: Holder) -> Finding {
        let (name, setting) = (self.name(), self.setting());
        let Some((at, port)) = place else {
            return Finding::good(name, format!("not wanted ({} is false)", self.switch()));
        };
        let Some(port) = port else { return Finding::unseen(name) };
        if at.ends_with(":0") {
            let words = format!("{at} is a port that the kernel gives, not looked at");
            return Finding::good(name, words);
        }
        match (port, agent) {
            (Port::Agent, Holder::Process(_)) => Finding::good(name, format!("{at} answers")),
            (Port::Free, Holder::Nobody) => Finding::good(name, format!("{at} is free")),
            (Port::Free, Holder::Process(_)) => Finding::bad(
                name,
                format!("nobody listens at {at} although the agent runs"),
                "start the agent again, which may have been started with another address",
            ),
            (Port::Free, Holder::Hidden) => {
                Finding::untold(name, format!("{at} is free, and whether an agent runs"))
            }
            (Port::Agent, Holder::Nobody) => Finding::bad(
                name,
                format!("another agent listens at {at}"),
                format!("stop it, or set {setting}"),
            ),
            (Port::Agent, Holder::Hidden) => {
                Finding::untold(name, format!("an agent listens at {at}; whether it is this one"))
            }
            (Port::Other, _) => Finding::bad(
                name,
                format!("another program listens at {at}, so that the agent does not start"),
                format!("stop that program, or set {setting}"),
            ),
        }
    }
}

/// What was found where the token of the TCP listener is to be; the token itself is not told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpToken {
    pub path: String,
    /// Absent where it did not end in time.
    pub seen: Option<TokenSeen>,
}

/// Whether the agent can use it, with what is wrong and how it is mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSeen {
    /// The agent does not start with it.
    Refused { words: String, mend: &'static str },
    /// It guards, if less than it could.
    Usable { weaknesses: Vec<(&'static str, &'static str)> },
}

impl TcpToken {
    /// A line for each thing that is wrong with it; `foreign` where another user than the agent's asks.
    pub fn findings(&self, foreign: bool) -> Vec<Finding> {
        let path = &self.path;
        if foreign {
            let what = format!("whether the agent can use what is in {path}");
            return [Finding::untold(TOKEN, what)].into();
        }
        match &self.seen {
            None => [Finding::unseen(TOKEN)].into(),
            Some(TokenSeen::Refused { words, mend }) => {
                let words = format!("{path} {words}, so that the agent does not start");
                [Finding::bad(TOKEN, words, mend)].into()
            }
            Some(TokenSeen::Usable { weaknesses }) if weaknesses.is_empty() => {
                [Finding::good(TOKEN, format!("{path} holds one"))].into()
            }
            Some(TokenSeen::Usable { weaknesses }) => weaknesses
                .iter()
                .map(|(words, mend)| Finding::warn(TOKEN, format!("{path} {words}"), mend))
                .collect(),
        }
    }
}
