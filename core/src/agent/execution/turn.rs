//! One step of the dispatch, while it is being taken.

use alloc::{boxed::Box, collections::BTreeSet, format, vec::Vec};

use super::{
    Active, BAD_PARAMETERS, CLAIM_DEADLINE, Current, Dispatch, Effect, Errand, Kit, LAPSED, LOST,
    ORPHAN_REPORTS_MAX, PASS_BUDGET, SETTLEMENT_BUDGET, TERMINAL_WAITS,
    judge::{self, Known, Move},
    parameters, report,
};
use crate::{
    agent::{
        facts::{Ending, Program, Run},
        notice::Notice,
        verdict::Called,
    },
    ids::ExecutionId,
    step::Step,
    time::{Mono, Now},
    wire::execution::{Callback, Execution, Status},
};

pub(super) struct Turn<'s> {
    dispatch: Dispatch,
    effects: Vec<Effect>,
    kit: Kit<'s>,
    now: Now,
}

impl<'s> Turn<'s> {
    pub(super) const fn new(dispatch: Dispatch, kit: Kit<'s>, now: Now) -> Self {
        Self { dispatch, effects: Vec::new(), kit, now }
    }

    pub(super) fn done(self) -> Step<Dispatch, Effect> {
        Step { state: self.dispatch, effects: self.effects }
    }

    /// Begins a pass; what an earlier one left waiting is in this pull again if it still matters.
    pub(super) fn pulled(&mut self, asked: Mono, entries: Vec<Execution>) {
        let listed: BTreeSet<_> = entries.iter().map(id).collect();
        self.forget_unlisted(&listed);
        self.dispatch.reports.retain(|execution, _| listed.contains(execution));
        self.dispatch.left.retain(|_, left| *left > asked);
        self.dispatch.waiting = entries.into();
        self.dispatch.began = self.now.mono;
        self.advance();
    }

    /// Gives up the outcomes that the control plane no longer asks for; what ran is never run again.
    fn forget_unlisted(&mut self, listed: &BTreeSet<ExecutionId>) {
        let unlisted = |execution: &ExecutionId| !listed.contains(execution);
        let gone: Vec<_> =
            self.dispatch.unreported.keys().filter(|id| unlisted(id)).cloned().collect();
        for execution in gone {
            self.settle(execution);
        }
    }

    /// Judges waiting entries until one needs an answer.
    fn advance(&mut self) {
        while self.dispatch.current.is_none() {
            let left = PASS_BUDGET.saturating_sub(self.now.mono.since(self.dispatch.began));
            if left < SETTLEMENT_BUDGET && !self.dispatch.waiting.is_empty() {
                self.tell(Notice::info(
                    "the remaining executions wait for the next pull: the pass took too long",
                ));
                self.dispatch.waiting.clear();
            }
            let Some(entry) = self.dispatch.waiting.pop_front() else { return };
            self.take_up(entry);
        }
    }

    fn take_up(&mut self, entry: Execution) {
        if self.dispatch.left.contains_key(&id(&entry)) {
            return;
        }
        match judge::judge(
            &entry,
            self.known(&id(&entry)),
            self.now.wall,
            self.room(),
            self.kit.settings,
        ) {
            Move::Skip => {}
            Move::Defer(reason) => {
                self.tell(Notice::debug(format!(
                    "execution {:?} is deferred: {reason}",
                    entry.execution_id.as_str()
                )));
            }
            Move::Settle(reason) => self.settle_unrun(&entry, &reason),
            Move::Claim(leg) => self.begin(entry, Errand::Claim, leg),
            Move::Walk(leg, reason) => self.walk(entry, leg, reason),
            Move::Orphan => self.report(entry, report::failed(LOST)),
            Move::Deliver(callback) => self.report(entry, callback),
        }
    }

    fn known(&self, execution: &ExecutionId) -> Known {
        if self.dispatch.settled.contains(execution) {
            Known::Settled
        } else if self.dispatch.active.contains_key(execution) {
            Known::Active
        } else if let Some(callback) = self.dispatch.unreported.get(execution) {
            Known::Unreported(callback.clone())
        } else {
            Known::Nothing
        }
    }

    fn room(&self) -> Result<(), &'static str> {
        if self.dispatch.draining {
            Err("shutting_down")
        } else if self.dispatch.active.len() >= self.kit.settings.max_concurrent {
            Err("max_concurrent_reached")
        } else {
            Ok(())
        }
    }

    fn settle_unrun(&mut self, entry: &Execution, reason: &str) {
        self.tell(judge::settled(entry, reason));
        self.settle(id(entry));
    }

    fn walk(&mut self, entry: Execution, leg: Status, reason: &'static str) {
        self.tell(judge::rejected(&entry, reason));
        self.begin(entry, Errand::Walk(reason), leg);
    }

    fn report(&mut self, entry: Execution, callback: Callback) {
        *self.dispatch.reports.entry(id(&entry)).or_default() += 1;
        let leg = callback.status;
        self.begin(entry, Errand::Report(callback), leg);
    }

    fn begin(&mut self, entry: Execution, errand: Errand, leg: Status) {
        let deadline = self.now.mono.after(CLAIM_DEADLINE);
        self.post_leg(Box::new(Current { entry, errand, leg, deadline }));
    }

    /// Sends the leg in hand within what is left of the deadline, or leaves the entry to the next pull.
    fn post_leg(&mut self, current: Box<Current>) {
        let timeout = current.deadline.since(self.now.mono);
        if timeout.is_zero() {
            return self.leave(&current.entry, "the claim deadline passed");
        }
        let callback = match (&current.errand, current.leg) {
            (Errand::Report(callback), _) => callback.clone(),
            (Errand::Walk(reason), Status::Failed) => report::failed(reason),
            (Errand::Walk(_) | Errand::Claim, leg) => Callback::of(leg),
        };
        self.effects.push(Effect::Post {
            execution: id(&current.entry),
            callback,
            timeout: Some(timeout),
        });
        self.dispatch.current = Some(current);
    }

    pub(super) fn answered(&mut self, execution: ExecutionId, status: Status, verdict: Called) {
        match self
            .dispatch
            .current
            .take_if(|current| id(&current.entry) == execution && current.leg == status)
        {
            Some(current) => {
                self.answered_leg(current, verdict);
                self.advance();
            }
            None => self.answered_terminal(execution, status, verdict),
        }
    }

    fn answered_leg(&mut self, current: Box<Current>, verdict: Called) {
        let terminal = current.leg.is_terminal();
        match verdict {
            Called::Accepted => self.next_leg(current),
            Called::Refused(reason) => {
                self.tell(Notice::warn(format!(
                    "execution {:?} is left to the control plane: {reason}",
                    current.entry.execution_id.as_str()
                )));
                self.settle(id(&current.entry));
            }
            Called::Unacceptable { inline_too_large: true, reason } if current.has_output() => {
                self.leave_without_output(*current, &reason);
            }
            Called::Unacceptable { reason, .. } if terminal => {
                self.delivered_badly(id(&current.entry), &reason)
            }
            Called::Unacceptable { reason, .. } | Called::Failed(reason) => {
                self.leave(&current.entry, &reason)
            }
        }
    }

    fn next_leg(&mut self, mut current: Box<Current>) {
        match (&current.errand, current.leg) {
            (Errand::Claim, Status::Started) => self.run(current.entry),
            // What is acknowledged and not started is run by the next process.
            (Errand::Claim, Status::Ack) if self.dispatch.draining => {
                self.leave(&current.entry, "this process is stopping");
            }
            (Errand::Claim | Errand::Walk(_), Status::Ack) => {
                current.leg = Status::Started;
                self.post_leg(current);
            }
            (Errand::Walk(_), Status::Started) => {
                current.leg = Status::Failed;
                self.post_leg(current);
            }
            (Errand::Claim | Errand::Walk(_) | Errand::Report(_), _) => {
                self.settle(id(&current.entry))
            }
        }
    }

    /// Leaves an entry unsettled: a later pull brings it again, unless its reports are used up.
    fn leave(&mut self, entry: &Execution, reason: &str) {
        let execution = id(entry);
        let reports = self.dispatch.reports.get(&execution).copied().unwrap_or_default();
        if reports >= ORPHAN_REPORTS_MAX {
            return self.settle_unrun(entry, "its report was not taken on five pulls");
        }
        self.tell(Notice::warn(format!(
            "execution {:?} waits for the next pull: {reason}",
            execution.0
        )));
        self.dispatch.left.insert(execution, self.now.mono);
    }

    /// Keeps an outcome for the next pull, and lets go of the output that was too large for the control plane.
    fn leave_without_output(&mut self, current: Current, reason: &str) {
        if let Errand::Report(callback) = current.errand {
            let callback = Callback { output: None, ..callback };
            self.dispatch.unreported.insert(id(&current.entry), callback);
        }
        self.leave(&current.entry, reason);
    }

    fn run(&mut self, entry: Execution) {
        let execution = id(&entry);
        let left = entry.expires_at.map(|at| at.at.left(self.now.wall)).unwrap_or_default();
        if left.is_zero() {
            return self.report_terminal(execution, report::failed(LAPSED), 0);
        }
        if self.dispatch.draining {
            return self.report_terminal(execution, Callback::of(Status::Cancelled), 0);
        }
        let Some(parameters) = parameters::of(entry.parameters.as_ref()) else {
            return self.report_terminal(execution, report::failed(BAD_PARAMETERS), 0);
        };
        let run = Run {
            program: Program::Builtin { name: entry.action.0, parameters },
            deadline: left.min(self.kit.settings.max_action_timeout),
            max_output_bytes: self.kit.settings.max_output_bytes,
        };
        self.tell(Notice::info(format!("execution {:?} runs {}", execution.0, run.program.name())));
        self.dispatch.active.insert(execution.clone(), Active::Running);
        self.effects.push(Effect::Run { execution, run });
    }

    pub(super) fn finished(&mut self, execution: ExecutionId, ending: Ending) {
        if self.dispatch.active.get(&execution) == Some(&Active::Running) {
            let callback = report::terminal(ending, self.kit.settings.max_output_bytes);
            self.tell(Notice::info(format!(
                "execution {:?} ended {}",
                execution.0,
                callback.status.as_str()
            )));
            self.report_terminal(execution, callback, 0);
        }
    }

    fn report_terminal(&mut self, execution: ExecutionId, callback: Callback, tries: usize) {
        let timeout = self.dispatch.draining.then_some(CLAIM_DEADLINE);
        let posted = callback.clone();
        self.dispatch.active.insert(execution.clone(), Active::Reporting { callback, tries });
        self.effects.push(Effect::Post { execution, callback: posted, timeout });
    }

    fn answered_terminal(&mut self, execution: ExecutionId, status: Status, verdict: Called) {
        let (callback, tries) = match self.dispatch.active.remove(&execution) {
            Some(Active::Reporting { callback, tries }) if callback.status == status => {
                (callback, tries)
            }
            Some(other) => return drop(self.dispatch.active.insert(execution, other)),
            None => return,
        };
        match verdict {
            Called::Accepted => self.settle(execution),
            Called::Refused(reason) => self.delivered_badly(execution, &reason),
            Called::Unacceptable { inline_too_large: true, .. } if callback.output.is_some() => {
                self.report_terminal(execution, Callback { output: None, ..callback }, tries);
            }
            Called::Unacceptable { reason, .. } => self.delivered_badly(execution, &reason),
            Called::Failed(reason) => self.rest(execution, callback, tries, &reason),
        }
    }

    fn delivered_badly(&mut self, execution: ExecutionId, reason: &str) {
        self.tell(Notice::warn(format!(
            "the report on execution {:?} was not taken: {reason}",
            execution.0
        )));
        self.settle(execution);
    }

    /// Waits for the next attempt, or keeps the outcome for later pulls.
    fn rest(&mut self, execution: ExecutionId, callback: Callback, tries: usize, reason: &str) {
        let Some(wait) = TERMINAL_WAITS.get(tries) else {
            self.tell(Notice::warn(format!(
                "the report on execution {:?} failed three times and waits for the next pull: {reason}",
                execution.0
            )));
            self.dispatch.unreported.insert(execution, callback);
            return;
        };
        let due = self.now.mono.after(*wait);
        self.dispatch.active.insert(execution, Active::Resting { callback, tries: tries + 1, due });
    }

    pub(super) fn ticked(&mut self) {
        let now = self.now.mono;
        let due = |active: &Active| active.due().is_some_and(|due| due <= now);
        let ids: Vec<_> = self
            .dispatch
            .active
            .iter()
            .filter(|(_, active)| due(active))
            .map(|(execution, _)| execution.clone())
            .collect();
        for execution in ids {
            if let Some(Active::Resting { callback, tries, .. }) =
                self.dispatch.active.remove(&execution)
            {
                self.report_terminal(execution, callback, tries);
            }
        }
    }

    /// Begins nothing more and ends what runs; terminal reports go on.
    pub(super) fn drain(&mut self) {
        self.dispatch.draining = true;
        self.dispatch.waiting.clear();
        let running = self.dispatch.active.iter().filter(|(_, active)| **active == Active::Running);
        let cancels: Vec<_> =
            running.map(|(execution, _)| Effect::Cancel(execution.clone())).collect();
        self.effects.extend(cancels);
    }

    fn settle(&mut self, execution: ExecutionId) {
        self.dispatch.unreported.remove(&execution);
        self.dispatch.reports.remove(&execution);
        self.dispatch.left.remove(&execution);
        self.dispatch.settled.insert(execution);
    }

    fn tell(&mut self, notice: Notice) {
        self.effects.push(Effect::Tell(notice));
    }
}

impl Current {
    fn has_output(&self) -> bool {
        matches!(&self.errand, Errand::Report(callback) if callback.output.is_some())
    }
}

fn id(entry: &Execution) -> ExecutionId {
    ExecutionId(entry.execution_id.0.clone())
}
