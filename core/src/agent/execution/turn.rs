//! One step of the dispatch, while it is being taken: what its parts share.

use alloc::{format, vec::Vec};

use super::{
    Dispatch, Effect, Kit, STOP_BUDGET, UNREPORTED_MAX,
    phase::{Active, Stage},
    report::Report,
};
use crate::{
    agent::{notice::Notice, verdict::Called},
    ids::ExecutionId,
    step::Step,
    time::{Mono, Now},
    wire::execution::{Execution, Status},
};

pub(super) struct Turn<'s> {
    pub(super) dispatch: Dispatch,
    pub(super) effects: Vec<Effect>,
    pub(super) kit: Kit<'s>,
    pub(super) now: Now,
}

impl<'s> Turn<'s> {
    pub(super) const fn new(dispatch: Dispatch, kit: Kit<'s>, now: Now) -> Self {
        Self { dispatch, effects: Vec::new(), kit, now }
    }

    pub(super) fn done(self) -> Step<Dispatch, Effect> {
        Step { state: self.dispatch, effects: self.effects }
    }

    /// The answer belongs to the leg in hand, or to a run that is being reported.
    pub(super) fn answered(&mut self, execution: ExecutionId, status: Status, verdict: Called) {
        let is_leg = |current: &Execution| id(current) == execution;
        match self
            .dispatch
            .current
            .take_if(|current| current.leg == status && is_leg(&current.entry))
        {
            Some(current) => {
                self.answered_leg(current, verdict);
                self.advance();
            }
            None => self.answered_run(execution, status, verdict),
        }
    }

    pub(super) fn ticked(&mut self) {
        let now = self.now.mono;
        let due = |active: &Active| active.due().is_some_and(|due| due <= now);
        let active = self.dispatch.active.iter().filter(|(_, active)| due(active));
        let ids: Vec<_> = active.map(|(execution, _)| execution.clone()).collect();
        for execution in ids {
            let Some(active) = self.dispatch.active.remove(&execution) else { continue };
            match active {
                Active { until: Some(until), .. } if until <= now => self.give_up(&execution),
                Active { stage: Stage::Resting { report, tries, .. }, until } => {
                    self.report_terminal(execution, report, (tries, until));
                }
                other => drop(self.dispatch.active.insert(execution, other)),
            }
        }
    }

    /// Begins nothing more and ends what runs; what is being reported has little time left.
    pub(super) fn drain(&mut self) {
        self.dispatch.draining = true;
        self.dispatch.waiting.clear();
        let until = self.now.mono.after(STOP_BUDGET);
        for (execution, active) in &mut self.dispatch.active {
            if active.is_running() {
                self.effects.push(Effect::Cancel(execution.clone()));
            } else {
                active.until = Some(until);
            }
        }
    }

    /// By when all that is told of a run that ends now must be told.
    pub(super) fn until(&self) -> Option<Mono> {
        self.dispatch.draining.then(|| self.now.mono.after(STOP_BUDGET))
    }

    /// At a stop there is no time left; the next process meets it as `started`, and reports it lost.
    pub(super) fn give_up(&mut self, execution: &ExecutionId) {
        self.tell(Notice::warn(format!(
            "the report on execution {:?} is given up, as this process stops: the next one reports it lost",
            execution.0
        )));
        self.settle(execution);
    }

    /// Keeps an outcome for later pulls, and lets go of the oldest where there are too many.
    pub(super) fn keep(&mut self, execution: ExecutionId, report: Report) {
        if self.dispatch.unreported.len() >= UNREPORTED_MAX
            && let Some(lost) = self.dispatch.unreported.keys().next().cloned()
        {
            self.tell(Notice::warn(format!(
                "how execution {:?} ended is not kept any longer: {UNREPORTED_MAX} reports wait",
                lost.0
            )));
            self.settle(&lost);
        }
        self.dispatch.unreported.insert(execution, report);
    }

    pub(super) fn settle(&mut self, execution: &ExecutionId) {
        self.dispatch.unreported.remove(execution);
        self.dispatch.reports.remove(execution);
        self.dispatch.left.remove(execution);
        self.dispatch.settled.insert(execution);
    }

    pub(super) fn tell(&mut self, notice: Notice) {
        self.effects.push(Effect::Tell(notice));
    }
}

pub(super) fn id(entry: &Execution) -> ExecutionId {
    ExecutionId(entry.execution_id.0.clone())
}
