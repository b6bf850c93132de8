//! Dispatch of pulled executions: each is claimed before it runs, runs at most once, and is reported until taken.
//!
//! One entry at a time is claimed, walked to `failed`, or reported as lost; runs and their terminal reports go on
//! beside it. What each entry earns is the table in `judge.rs`.
//!
//! | in hand | answer | next |
//! |---|---|---|
//! | claim, leg `ack` | accepted | leg `started` |
//! | claim, leg `started` | accepted | run, with the lesser of the time left and the action timeout |
//! | walk | accepted | the next legal edge; behind `failed` settled |
//! | report of a lost run | accepted, or the fifth failure | settled |
//! | any | refused by code | settled, nothing more is said |
//! | claim or walk | anything else | unsettled, a pull sent after this brings it again |
//! | terminal report | failed | again after 500 ms, then 1 s, then kept for later pulls |
//!
//! Nothing here survives the process: what ran before a restart is on the pull as `started`, and is reported lost.
//! Specification: "Dispatch of pulled executions" and "Limits" of the node agent.

mod judge;
mod kit;
mod parameters;
mod phase;
mod report;
mod settled;
mod turn;

use alloc::{
    boxed::Box,
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use core::time::Duration;

pub use kit::Kit;
pub use parameters::BAD_PARAMETERS;
pub use report::{LAPSED, LOST, TRUNCATED};
pub use settled::SETTLED_MAX;

use super::{
    facts::{Ending, Run},
    notice::Notice,
    verdict::Called,
};
use crate::{
    ids::ExecutionId,
    step::Step,
    time::{Mono, Now},
    wire::execution::{Callback, Execution, Status},
};
use phase::{Active, Current, Errand};
use settled::Settled;
use turn::Turn;

/// "Dispatcher pass budget 20 s; a settlement needs 15 s of budget to start".
pub const PASS_BUDGET: Duration = Duration::from_secs(20);
pub const SETTLEMENT_BUDGET: Duration = Duration::from_secs(15);
/// "Claim handshake deadline 5 s": for the whole claim, a whole walk, and each report of a lost run.
pub const CLAIM_DEADLINE: Duration = Duration::from_secs(5);
/// "Terminal callback retries: 3 attempts, backoff 500 ms then 1 s".
pub const TERMINAL_WAITS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];
/// "Orphan report retries 5": the attempts in all, one on each pull.
pub const ORPHAN_REPORTS_MAX: u32 = 5;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    settled: Settled,
    /// The rest of the last pull, in block order.
    waiting: VecDeque<Execution>,
    /// When that pull came.
    began: Mono,
    /// Entries left after the last pull was sent, which may show them as they stood before, and when.
    left: BTreeMap<ExecutionId, Mono>,
    current: Option<Box<Current>>,
    active: BTreeMap<ExecutionId, Active>,
    /// How runs ended whose report was not taken, as long as the pull lists them.
    unreported: BTreeMap<ExecutionId, Callback>,
    /// How often each lost or unreported run was reported on a pull.
    reports: BTreeMap<ExecutionId, u32>,
    draining: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// What the pull that was sent at `asked` brought.
    Pulled {
        asked: Mono,
        entries: Vec<Execution>,
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
    Tell(Notice),
}

impl Dispatch {
    /// Moves on one input.
    pub fn step(self, kit: Kit<'_>, now: Now, input: Input) -> Step<Self, Effect> {
        let mut turn = Turn::new(self, kit, now);
        match input {
            Input::Pulled { asked, entries } => turn.pulled(asked, entries),
            Input::Answered { execution, status, verdict } => {
                turn.answered(execution, status, verdict)
            }
            Input::Finished { execution, ending } => turn.finished(execution, ending),
            Input::Draining => turn.drain(),
            Input::Ticked => turn.ticked(),
        }
        turn.done()
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        self.active.values().filter_map(Active::due).min()
    }

    /// Whether nothing runs and nothing is being reported.
    pub fn is_idle(&self) -> bool {
        self.active.is_empty() && self.current.is_none()
    }

    /// How many executions run or are being reported, and how many of the last pull wait.
    pub fn depths(&self) -> (usize, usize) {
        (self.active.len(), self.waiting.len())
    }
}
