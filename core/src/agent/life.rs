//! Which part of its life an agent is in, and which questions it has open.

use super::{Agent, Pipe};
use crate::{
    ids::{CallId, ExecutionId, SessionId},
    time::Mono,
    wire::{
        execution::Status,
        grammar::{Name, PublicKey},
        session,
    },
};

/// What a call asks, so that its answer reaches the machine that waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Callback {
        execution: ExecutionId,
        status: Status,
    },
    /// Where this node is reached from outside.
    Endpoint,
    Heartbeat,
    Manifest,
    Pull,
    Register,
    /// Whether the output of this run was taken.
    Upload(ExecutionId),
    Report {
        key: Name,
        generation: u64,
        is_deleted: bool,
    },
    Rotate(PublicKey),
    /// Of the program that waits for it.
    Secret(CallId),
    /// A row of it.
    Session {
        session: SessionId,
        phase: session::Phase,
    },
    Violations,
    /// Whether a batch is taken.
    Ship(Pipe),
    /// Whether the local endpoint takes a batch.
    Deliver(Pipe),
    /// The token of the local endpoint.
    Token(Pipe),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Life {
    #[default]
    Working,
    Draining {
        until: Mono,
    },
    Over,
}

impl Agent {
    /// When [`super::Input::Ticked`] is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        let drained = match self.life {
            Life::Draining { until } => Some(until),
            Life::Working => None,
            Life::Over => return None,
        };
        let machines = [
            self.registration.wakeup(),
            self.heartbeat.wakeup(),
            self.pull.wakeup(),
            self.rotation.wakeup(),
            self.device.wakeup(),
            self.dispatch.wakeup(),
            self.hooks.wakeup(),
            self.secrets.wakeup(),
            self.sessions.wakeup(),
            self.senses.wakeup(),
            self.sync.wakeup(),
            self.voice.wakeup(),
        ];
        machines.into_iter().chain([drained]).flatten().min()
    }
}
