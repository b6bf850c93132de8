//! Executions: that each runs at most once, is reported along the table, and comes to an end on both sides.

use std::collections::{BTreeMap, BTreeSet};

use meshward_core::{ids::ExecutionId, time::Mono, wire::timestamp::Timestamp};

use super::witness::{Beginning, Found, Rest, Sending, Serving};
use crate::{
    net::Caller,
    route::{Route, Said},
    settings::MAX_CONCURRENT,
};

/// "Orphan report retries 5": after so many reports that were not taken, an execution may be left open.
const REPORTS_MAX: u32 = 5;

/// When something took place: in which life of a node and of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Age {
    life: u32,
    /// How often the control plane had forgotten.
    forgotten: u32,
}

#[derive(Clone, Copy, Debug)]
struct Dispatched {
    expires_at: Timestamp,
    known: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Executions {
    /// Several nodes bear one name and see the same executions.
    shared: bool,
    forgotten: u32,
    dispatched: BTreeMap<ExecutionId, Dispatched>,
    begun: BTreeMap<ExecutionId, Vec<(usize, Age)>>,
    /// Whose `started` was heard to be accepted, by node, in this life.
    claimed: BTreeSet<(usize, ExecutionId)>,
    /// How runs of this life ended; empty while they go on.
    outcomes: BTreeMap<(usize, ExecutionId), &'static str>,
    /// Whose terminal report was heard to be accepted.
    settled: BTreeMap<(usize, ExecutionId), Age>,
    /// What the control plane refused, in this life.
    refused: BTreeSet<(usize, ExecutionId)>,
    /// What was spoken of in this life and not settled.
    open: BTreeSet<(usize, ExecutionId)>,
    /// Terminal reports that were not taken, in this life.
    untaken: BTreeMap<(usize, ExecutionId), u32>,
    /// Of which both ends may think differently: a callback met a fault, or its sender died.
    disturbed: BTreeSet<ExecutionId>,
    /// When each pull was answered, and when the one was that a node heard of last.
    pulls: BTreeMap<Caller, Mono>,
    seen: BTreeMap<usize, Mono>,
    /// When a callback last moved each execution.
    moved: BTreeMap<ExecutionId, Mono>,
    /// Which the node may leave open: refused behind a pull that was out of date, forgotten, or reported in vain too
    /// often.
    let_go: BTreeSet<ExecutionId>,
}

impl Executions {
    pub(super) fn of(nodes: usize) -> Self {
        Self { shared: nodes > 1, ..Self::default() }
    }

    pub(super) fn dispatched(&mut self, id: ExecutionId, expires_at: Timestamp, known: bool) {
        self.dispatched.insert(id, Dispatched { expires_at, known });
    }

    /// What the node is done with stays pending on a control plane that does not know it.
    pub(super) fn forgot(&mut self) {
        self.forgotten += 1;
        self.disturbed.extend(self.dispatched.keys().cloned());
        let done =
            self.begun.keys().chain(self.open.iter().chain(self.settled.keys()).map(|(_, id)| id));
        self.let_go.extend(done.cloned());
    }

    /// What a process has not heard the end of, nobody knows.
    pub(super) fn died(&mut self, at: usize) {
        let of = |(node, _): &(usize, ExecutionId)| *node == at;
        self.disturbed.extend(self.open.iter().filter(|key| of(key)).map(|(_, id)| id.clone()));
        self.claimed.retain(|key| !of(key));
        self.refused.retain(|key| !of(key));
        self.open.retain(|key| !of(key));
        self.untaken.retain(|key, _| !of(key));
        self.outcomes.retain(|key, _| !of(key));
    }

    const fn age(&self, life: u32) -> Age {
        Age { life, forgotten: self.forgotten }
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let Said::Callback { execution, status, .. } = sending.said else { return };
        let key = (sending.caller.node, execution.clone());
        let now = self.age(sending.caller.life);
        // Only one that has died since can meet it again, on a control plane that has forgotten since.
        let settled = self
            .settled
            .get(&key)
            .is_some_and(|then| then.life == now.life || then.forgotten == now.forgotten);
        found.unless(!settled, "no settled execution is reported again");
        found.unless(
            !self.refused.contains(&key),
            "an execution that the control plane refused is left alone",
        );
        if sending.said.route() == Route::Terminal {
            self.the_report_tells_how_the_run_ended(&key, status, found);
        }
        self.open.insert(key);
        if sending.fate.disturbs() {
            self.disturbed.insert(execution.clone());
        }
    }

    /// Without a run in this life it failed, or was called off behind its claim.
    fn the_report_tells_how_the_run_ended(
        &self,
        key: &(usize, ExecutionId),
        status: &str,
        found: &mut Found,
    ) {
        let true_to_the_run = match self.outcomes.get(key) {
            Some(outcome) => *outcome == status,
            None => matches!(status, "failed" | "cancelled"),
        };
        found.unless(true_to_the_run, "the report tells how the run ended");
    }

    pub(super) fn ended(&mut self, at: usize, execution: &ExecutionId, status: &'static str) {
        self.outcomes.insert((at, execution.clone()), status);
    }

    /// Void for executions of which both ends may think differently.
    pub(super) fn served(&mut self, serving: &Serving<'_>, found: &mut Found) {
        let accepted = serving.response.status == 200;
        if *serving.said == Said::Pull && accepted {
            self.pulls.entry(serving.caller).or_insert(serving.now.mono);
        }
        let Said::Callback { execution, .. } = serving.said else { return };
        if accepted {
            self.moved.insert(execution.clone(), serving.now.mono);
        }
        let excused = self.shared || self.disturbed.contains(execution);
        found.unless(
            serving.response.status != 409 || excused,
            "no callback is sent that the control plane's table refuses",
        );
        found.unless(
            matches!(serving.response.status, 200 | 409),
            "every callback is sound in itself",
        );
    }

    pub(super) fn heard(&mut self, caller: Caller, said: &Said, status: u16) {
        if *said == Said::Pull && status == 200 {
            self.seen.extend(self.pulls.get(&caller).map(|at| (caller.node, *at)));
        }
        let Said::Callback { execution, .. } = said else { return };
        let key = (caller.node, execution.clone());
        match (status, said.route()) {
            (200, Route::Terminal) => {
                self.open.remove(&key);
                self.settled.insert(key, self.age(caller.life));
            }
            (200, Route::Started) => {
                self.claimed.insert(key);
            }
            (409, _) => {
                self.open.remove(&key);
                self.refused.insert(key);
                let out_of_date = self.seen.get(&caller.node) < self.moved.get(execution);
                self.let_go.extend(out_of_date.then(|| execution.clone()));
            }
            (_, Route::Terminal) => self.untaken(key),
            _ => {}
        }
    }

    fn untaken(&mut self, key: (usize, ExecutionId)) {
        let count = self.untaken.entry(key.clone()).or_default();
        *count += 1;
        if *count >= REPORTS_MAX {
            self.let_go.insert(key.1);
        }
    }

    pub(super) fn began(&mut self, beginning: &Beginning<'_>, found: &mut Found) {
        self.no_execution_runs_twice(beginning, found);
        self.no_execution_runs_before_its_claim_is_accepted(beginning, found);
        self.no_execution_runs_past_its_deadline(beginning, found);
        let known = self.dispatched.get(beginning.execution).is_some_and(|entry| entry.known);
        found.unless(known, "no unknown action runs");
        found.unless(beginning.node.runs.len() < MAX_CONCURRENT, "no more run at once than may");
    }

    /// Void when both have forgotten since: the node by dying, the control plane by its restart.
    fn no_execution_runs_twice(&mut self, beginning: &Beginning<'_>, found: &mut Found) {
        let now = self.age(beginning.node.life);
        let begun = self.begun.entry(beginning.execution.clone()).or_default();
        let twice = begun.iter().any(|(node, then)| {
            then.forgotten == now.forgotten || (*node == beginning.at && then.life == now.life)
        });
        begun.push((beginning.at, now));
        self.outcomes.insert((beginning.at, beginning.execution.clone()), "");
        found.unless(!twice, "no execution runs twice");
    }

    fn no_execution_runs_before_its_claim_is_accepted(
        &self,
        beginning: &Beginning<'_>,
        found: &mut Found,
    ) {
        let claimed = self.claimed.contains(&(beginning.at, beginning.execution.clone()));
        found.unless(claimed, "no execution runs before its claim is accepted");
    }

    /// By the clock of its node, right or wrong.
    fn no_execution_runs_past_its_deadline(&self, beginning: &Beginning<'_>, found: &mut Found) {
        let Some(entry) = self.dispatched.get(beginning.execution) else { return };
        let left = entry.expires_at.left(beginning.now.wall);
        found.unless(beginning.run.deadline <= left, "no execution runs past its deadline");
    }

    pub(super) fn rested(&self, rest: &Rest<'_>, found: &mut Found) {
        for (execution, entry) in &self.dispatched {
            let status = rest.statuses.get(&execution.0).map(String::as_str);
            let ended = matches!(status, Some("succeeded" | "failed" | "cancelled"));
            let lapsed = !entry.expires_at.is_after(rest.now.wall);
            found.unless(
                ended || lapsed || self.let_go.contains(execution),
                &format!("{execution} has ended, lapsed or been let go in the end"),
            );
        }
        for node in rest.nodes {
            let idle = node.agent.as_ref().is_some_and(|agent| {
                agent.status(node.now(rest.now.mono)).queues.executions_active == 0
                    && node.runs.is_empty()
            });
            found.unless(idle, "no agent has an execution in hand in the end");
        }
    }
}
