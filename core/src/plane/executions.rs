//! All executions and their uploads: a report is checked against the uploads before its transition is recorded.
//!
//! Specification: "POST /v1/nodes/{id}/executions/{eid}"; `decisions.md` section 5 (Order on executions).

use alloc::{collections::BTreeMap, string::String};

use thiserror::Error;

use super::{
    execution::{self, Advance, Progress, declared},
    upload::{self, Token, Uploads},
};
use crate::{
    ids::ExecutionId,
    step::Step,
    time::Now,
    wire::{
        control::ExecutionStatuses,
        execution::{Callback, Status},
    },
};

/// The most executions that are kept.
pub const TRACKED_MAX: usize = 1 << 16;

/// A fact for the executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The node reported on an execution; the body passed its checks.
    Reported { execution: ExecutionId, callback: Callback },
    /// A configured snapshot brought these executions, each in its status.
    Seeded(BTreeMap<ExecutionId, Status>),
    /// Something concerned the uploads alone.
    Upload(upload::Input),
}

/// An order of the executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Answer with the new status and, where output was announced, with a token for its upload.
    Answer {
        status: Status,
        upload: Option<Token>,
    },
    Upload(upload::Effect),
    Refuse(Refusal),
}

/// Why a report is refused although its body is sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("{0}")]
    Advance(Advance),
    #[error("output.object_key and output.sha256 match no upload received for this execution")]
    Output,
    #[error("{0}")]
    Upload(upload::Refusal),
    #[error("the table of executions is full; POST /test/reset empties it")]
    Full,
}

/// The status of each execution ever seen, and the uploads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executions {
    tracked: BTreeMap<ExecutionId, Status>,
    uploads: Uploads,
}

impl Executions {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Reported { execution, callback } => self.reported(now, execution, &callback),
            Input::Seeded(seeds) => Step::to(self.seeded(now, seeds)),
            Input::Upload(input) => {
                let Self { tracked, uploads } = self;
                uploads.step(now, input).lift(|uploads| Self { tracked, uploads }, Effect::Upload)
            }
        }
    }

    fn reported(self, now: Now, execution: ExecutionId, callback: &Callback) -> Step<Self, Effect> {
        if self.status(&execution).is_none() && self.tracked.len() >= TRACKED_MAX {
            return Step::to(self).emit(Effect::Refuse(Refusal::Full));
        }
        let declares = declared(callback).is_some();
        let input = execution::Input::Reported { status: callback.status, declares };
        let moved = Progress(self.status(&execution)).step(now, input);
        match moved.effects.first() {
            Some(execution::Effect::Accept(status)) => self.accept(execution, callback, *status),
            Some(execution::Effect::AcceptAndMint(status)) => {
                self.mint(now, execution, callback, *status)
            }
            Some(execution::Effect::Refuse(refusal)) => {
                Step::to(self).emit(Effect::Refuse(Refusal::Advance(*refusal)))
            }
            None => Step::to(self),
        }
    }

    fn accept(
        mut self,
        execution: ExecutionId,
        callback: &Callback,
        status: Status,
    ) -> Step<Self, Effect> {
        let unmatched = callback.output.as_ref().is_some_and(|output| {
            !output.object_key.is_empty()
                && !self.uploads.holds(&execution, output.object_key.as_str(), &output.sha256)
        });
        if unmatched {
            return Step::to(self).emit(Effect::Refuse(Refusal::Output));
        }
        self.tracked.insert(execution, status);
        Step::to(self).emit(Effect::Answer { status, upload: None })
    }

    fn mint(
        self,
        now: Now,
        execution: ExecutionId,
        callback: &Callback,
        status: Status,
    ) -> Step<Self, Effect> {
        let Self { mut tracked, uploads } = self;
        let bytes = declared(callback).unwrap_or_default();
        let minted =
            uploads.step(now, upload::Input::Declared { execution: execution.clone(), bytes });
        let effect = match minted.effects.first() {
            Some(upload::Effect::Issue(token)) => {
                tracked.insert(execution, status);
                Effect::Answer { status, upload: Some(*token) }
            }
            Some(upload::Effect::Refuse(refusal)) => Effect::Refuse(Refusal::Upload(*refusal)),
            Some(upload::Effect::Accept) | None => Effect::Refuse(Refusal::Full),
        };
        Step::to(Self { tracked, uploads: minted.state }).emit(effect)
    }

    /// A full table takes no further seeds; a known execution is never moved by one.
    fn seeded(mut self, now: Now, seeds: BTreeMap<ExecutionId, Status>) -> Self {
        for (execution, status) in seeds {
            if self.tracked.len() >= TRACKED_MAX {
                break;
            }
            let input = execution::Input::Seeded { status };
            let seeded = Progress(self.status(&execution)).step(now, input).state;
            self.tracked.extend(seeded.0.map(|status| (execution, status)));
        }
        self
    }

    /// The status of an execution; `None` is never seen.
    pub fn status(&self, execution: &ExecutionId) -> Option<Status> {
        self.tracked.get(execution).copied()
    }

    pub const fn uploads(&self) -> &Uploads {
        &self.uploads
    }

    /// The body of `GET /test/executions`.
    pub fn statuses(&self) -> ExecutionStatuses<'_> {
        let all = self.tracked.iter();
        ExecutionStatuses(all.map(|(id, status)| (id.0.as_str(), status.as_str())).collect())
    }

    /// The URL under which a node brings its output.
    pub fn upload_url(host: &str, execution: &ExecutionId, token: Token) -> String {
        let segment = crate::wire::http::percent_encode(&execution.0);
        alloc::format!("http://{host}/exec-output/{segment}?token={token}")
    }
}
