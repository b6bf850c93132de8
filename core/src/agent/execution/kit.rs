//! What the dispatch is told, what it is lent for one step, and what it orders.

use alloc::{collections::BTreeSet, string::String, vec::Vec};
use core::time::Duration;

use crate::{
    agent::{
        facts::{ActionSettings, Bytes, Ending, Run},
        hooks::Hooks,
        notice::Notice,
        verdict::Called,
    },
    ids::ExecutionId,
    time::Mono,
    wire::{
        execution::{Callback, Execution, Status},
        upload_url::UploadUrl,
    },
};

/// What an entry is judged and run by.
#[derive(Clone, Copy, Debug)]
pub struct Kit<'k> {
    pub settings: &'k ActionSettings,
    pub hooks: &'k Hooks,
    /// The id of this node, as hooks are told it.
    pub node: &'k str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// What the pull that was sent at `asked` brought.
    Pulled {
        asked: Mono,
        entries: Vec<Execution>,
        /// The ids of entries that could not be read.
        unread: BTreeSet<ExecutionId>,
    },
    Answered {
        execution: ExecutionId,
        status: Status,
        verdict: Called,
    },
    Finished {
        execution: ExecutionId,
        ending: Ending,
    },
    /// An upload by [`Effect::Upload`] ended.
    Uploaded {
        execution: ExecutionId,
        outcome: Result<(), String>,
    },
    Draining,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Answered within `timeout`; without one, within the request timeout.
    Post {
        execution: ExecutionId,
        callback: Callback,
        timeout: Option<Duration>,
    },
    Run {
        execution: ExecutionId,
        run: Run,
    },
    Cancel(ExecutionId),
    /// Bring the whole output of a run.
    Upload {
        execution: ExecutionId,
        url: UploadUrl,
        bytes: Bytes,
        timeout: Duration,
    },
    Tell(Notice),
}
