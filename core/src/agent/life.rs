//! Which part of its life an agent is in, and which questions it has open.

use crate::{
    ids::{CallId, ExecutionId},
    time::Mono,
    wire::{
        execution::Status,
        grammar::{Name, PublicKey},
    },
};

/// What a call asks, so that its answer reaches the machine that waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Callback {
        execution: ExecutionId,
        status: Status,
    },
    Heartbeat,
    Pull,
    Register,
    Report {
        key: Name,
        generation: u64,
        is_deleted: bool,
    },
    Rotate(PublicKey),
    /// Of the program that waits for it.
    Secret(CallId),
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
