//! One pass through what a pull lists: each entry is judged, and taken up, left or settled.

use alloc::{
    collections::{BTreeSet, VecDeque},
    format,
    vec::Vec,
};

use super::{
    LISTED_MAX, PASS_BUDGET, SETTLEMENT_BUDGET,
    judge::{self, Known, Move},
    phase::Errand,
    report::{self, LOST, Report},
    turn::{Turn, id},
};
use crate::{
    agent::notice::Notice,
    ids::ExecutionId,
    time::Mono,
    wire::execution::{Execution, Status},
};

impl Turn<'_> {
    /// Begins a pass; what an earlier one left waiting is in this pull again if it still matters. An entry that could
    /// not be read is listed all the same.
    pub(super) fn pulled(
        &mut self,
        asked: Mono,
        mut entries: Vec<Execution>,
        unread: BTreeSet<ExecutionId>,
    ) {
        if let Some(surplus) = entries.len().checked_sub(LISTED_MAX).filter(|over| *over > 0) {
            self.tell(Notice::warn(format!(
                "the pull lists {surplus} executions more than are looked at, which is {LISTED_MAX}"
            )));
            entries.truncate(LISTED_MAX);
        }
        let mut listed: BTreeSet<_> = entries.iter().map(id).collect();
        listed.extend(unread.into_iter().take(LISTED_MAX));
        self.dispatch.settled.listed(&listed);
        self.forget_unlisted(&listed);
        self.dispatch.reports.retain(|execution, _| listed.contains(execution));
        self.dispatch.left.retain(|_, left| *left > asked);
        self.dispatch.waiting = VecDeque::from(entries);
        self.dispatch.began = self.now.mono;
        self.advance();
    }

    /// Gives up the outcomes that the control plane no longer asks for; what ran is never run again.
    fn forget_unlisted(&mut self, listed: &BTreeSet<ExecutionId>) {
        let unlisted = |execution: &&ExecutionId| !listed.contains(*execution);
        let gone: Vec<_> = self.dispatch.unreported.keys().filter(unlisted).cloned().collect();
        for execution in gone {
            self.settle(&execution);
        }
    }

    /// Judges waiting entries until one needs an answer.
    pub(super) fn advance(&mut self) {
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
        match judge::judge(&entry, self.known(&id(&entry)), self.now.wall, self.room(), self.kit) {
            Move::Skip => {}
            Move::Defer(reason) => {
                self.tell(Notice::debug(format!(
                    "execution {:?} is deferred: {reason}",
                    entry.execution_id.as_str()
                )));
            }
            Move::Settle(reason) => self.settle_unrun(&entry, &reason),
            Move::Claim(leg) => self.begin(entry, Errand::Claim, leg),
            Move::Walk(leg, reason) => {
                self.tell(judge::rejected(&entry, reason));
                self.begin(entry, Errand::Walk(reason), leg);
            }
            Move::Orphan => {
                let callback = report::failed(LOST);
                self.tell(report::told_end(&id(&entry), &callback));
                self.report(entry, Report::of(callback));
            }
            Move::Deliver(report) => self.report(entry, *report),
        }
    }

    fn known(&self, execution: &ExecutionId) -> Known {
        if self.dispatch.settled.contains(execution) {
            Known::Settled
        } else if self.dispatch.active.contains_key(execution) {
            Known::Active
        } else if let Some(report) = self.dispatch.unreported.get(execution) {
            Known::Unreported(report.clone().into())
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

    pub(super) fn settle_unrun(&mut self, entry: &Execution, reason: &str) {
        self.tell(judge::settled(entry, reason));
        self.settle(&id(entry));
    }

    fn report(&mut self, entry: Execution, report: Report) {
        *self.dispatch.reports.entry(id(&entry)).or_default() += 1;
        let leg: Status = report.callback.status;
        self.begin(entry, Errand::Report(report.into()), leg);
    }
}
