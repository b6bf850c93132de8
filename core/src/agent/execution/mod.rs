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
//! | long output | announced, brought, taken | referred to by the terminal report |
//! | long output | any of that fails | what fits goes inline |
//! | terminal report | failed | again after 500 ms, then 1 s, then kept for later pulls |
//!
//! Nothing here survives the process: what ran before a restart is on the pull as `started`, and is reported lost.
//! Specification: "Dispatch of pulled executions" and "Limits" of the node agent.

mod claim;
pub mod environment;
mod judge;
mod kit;
mod limits;
mod parameters;
mod pass;
mod phase;
mod report;
mod settled;
mod terminal;
mod turn;

use alloc::{
    boxed::Box,
    collections::{BTreeMap, VecDeque},
};

pub use environment::environment;
pub use kit::{Effect, Input, Kit};
pub use limits::{
    CLAIM_DEADLINE, LISTED_MAX, ORPHAN_REPORTS_MAX, PASS_BUDGET, SETTLEMENT_BUDGET, STOP_BUDGET,
    TERMINAL_WAITS, UNREPORTED_MAX, UPLOAD_TIMEOUT,
};
pub use parameters::BAD_PARAMETERS;
pub use report::{ERROR_MAX, LAPSED, LOST, NO_EXIT_CODE, TRUNCATED};
pub use settled::SETTLED_MAX;

use crate::{
    ids::ExecutionId,
    step::Step,
    time::{Mono, Now},
    wire::execution::Execution,
};
use phase::{Active, Current};
use report::Report;
use settled::Settled;
use turn::Turn;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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
    unreported: BTreeMap<ExecutionId, Report>,
    /// How often each lost or unreported run was reported on a pull.
    reports: BTreeMap<ExecutionId, u32>,
    draining: bool,
}

impl Dispatch {
    /// Moves on one input.
    pub fn step(self, kit: Kit<'_>, now: Now, input: Input) -> Step<Self, Effect> {
        let mut turn = Turn::new(self, kit, now);
        match input {
            Input::Pulled { asked, entries, unread } => turn.pulled(asked, entries, unread),
            Input::Answered { execution, status, verdict } => {
                turn.answered(execution, status, verdict)
            }
            Input::Finished { execution, ending } => turn.finished(execution, ending),
            Input::Uploaded { execution, outcome } => turn.uploaded(execution, outcome),
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
