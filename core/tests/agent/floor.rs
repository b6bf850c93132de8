//! A dispatch with its clock and settings, for the tests of executions.

use std::{collections::BTreeSet, time::Duration};

use meshward_core::{
    agent::{
        ActionSettings, Captured, Cause, Ending, Run,
        execution::{Dispatch, Effect, Input, Kit},
        hooks::Hooks,
        verdict::Called,
    },
    secret::Secret,
    step::Step,
    time::Now,
    wire::execution::{Callback, Execution, Status},
};

use crate::bench::{actions, entry, execution_id, start};

/// The id of the node.
pub(crate) const NODE: &str = "0f0e0d0c-0b0a-4908-8706-050403020100";

#[derive(Debug)]
pub(crate) struct Floor {
    pub(crate) dispatch: Dispatch,
    pub(crate) settings: ActionSettings,
    pub(crate) hooks: Hooks,
    pub(crate) now: Now,
}

impl Floor {
    pub(crate) fn new() -> Self {
        Self {
            dispatch: Dispatch::default(),
            settings: actions(),
            hooks: Hooks::default(),
            now: start(),
        }
    }

    pub(crate) fn give(&mut self, input: Input) -> Vec<Effect> {
        let kit = Kit { settings: &self.settings, hooks: &self.hooks, node: NODE };
        let Step { state, effects } = std::mem::take(&mut self.dispatch).step(kit, self.now, input);
        self.dispatch = state;
        effects
    }

    pub(crate) fn pulled(&mut self, entries: &[Execution]) -> Vec<Effect> {
        self.give(Input::Pulled {
            asked: self.now.mono,
            entries: entries.into(),
            unread: BTreeSet::new(),
        })
    }

    pub(crate) fn answer(&mut self, id: &str, status: Status, verdict: Called) -> Vec<Effect> {
        self.give(Input::Answered { execution: execution_id(id), status, verdict })
    }

    pub(crate) fn finish(&mut self, id: &str, cause: Cause) -> Vec<Effect> {
        self.finish_with(id, cause, "")
    }

    pub(crate) fn finish_with(&mut self, id: &str, cause: Cause, stdout: &str) -> Vec<Effect> {
        let ending = Ending {
            cause,
            stdout: Captured { bytes: stdout.into(), cut: false },
            stderr: Captured::default(),
        };
        self.give(Input::Finished { execution: execution_id(id), ending })
    }

    /// Takes an entry to its run.
    pub(crate) fn run(&mut self, id: &str) -> Run {
        self.pulled(&[entry(id, "ack")]);
        let effects = self.answer(id, Status::Started, Called::Accepted);
        runs(&effects).pop().expect("an accepted claim runs").1
    }

    pub(crate) fn settle(&mut self, id: &str) {
        self.pulled(&[entry(id, "ack")]);
        self.answer(id, Status::Started, refused());
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    /// Moves to the wakeup that is wanted and tells how long that took.
    pub(crate) fn wake(&mut self) -> (Duration, Vec<Effect>) {
        let wait = self.dispatch.wakeup().expect("a wakeup is wanted").since(self.now.mono);
        self.pass(wait);
        (wait, self.give(Input::Ticked))
    }
}

pub(crate) fn refused() -> Called {
    Called::Refused("no".into())
}

/// An upload URL for the output of an execution, on another host than the control plane's.
pub(crate) const STORE: &str = "https://store.example";

pub(crate) fn invited(id: &str) -> Called {
    Called::Invited(Secret::new(format!("{STORE}/exec-output/{id}?token=canary")))
}

pub(crate) fn failed() -> Called {
    Called::Failed("down".into())
}

pub(crate) fn unacceptable(inline_too_large: bool) -> Called {
    Called::Unacceptable { inline_too_large, reason: "no".into() }
}

/// The callbacks among effects.
pub(crate) fn posted(effects: &[Effect]) -> Vec<(String, Callback, Option<Duration>)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Post { execution, callback, timeout } => {
                Some((execution.0.clone(), callback.clone(), *timeout))
            }
            Effect::Run { .. } | Effect::Upload { .. } | Effect::Cancel(_) | Effect::Tell(_) => {
                None
            }
        })
        .collect()
}

/// The statuses of the callbacks among effects.
pub(crate) fn statuses(effects: &[Effect]) -> Vec<Status> {
    posted(effects).into_iter().map(|(_, callback, _)| callback.status).collect()
}

pub(crate) fn runs(effects: &[Effect]) -> Vec<(String, Run)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Run { execution, run } => Some((execution.0.clone(), run.clone())),
            Effect::Post { .. } | Effect::Upload { .. } | Effect::Cancel(_) | Effect::Tell(_) => {
                None
            }
        })
        .collect()
}
