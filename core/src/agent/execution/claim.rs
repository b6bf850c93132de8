//! The legs of one entry before its run: the claim, the walk to `failed`, and one report of what is over.

use alloc::{boxed::Box, format};

use super::{
    CLAIM_DEADLINE, Effect, ORPHAN_REPORTS_MAX,
    phase::{Current, Errand},
    report,
    turn::{Turn, id},
};
use crate::{
    agent::{notice::Notice, verdict::Called},
    wire::execution::{Callback, Execution, Status},
};

impl Turn<'_> {
    pub(super) fn begin(&mut self, entry: Execution, errand: Errand, leg: Status) {
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
            (Errand::Report(report), _) => report.callback.clone(),
            (Errand::Walk(reason), Status::Failed) => report::failed(reason),
            (Errand::Walk(_) | Errand::Claim, leg) => Callback::of(leg),
        };
        let execution = id(&current.entry);
        self.effects.push(Effect::Post { execution, callback, timeout: Some(timeout) });
        self.dispatch.current = Some(current);
    }

    pub(super) fn answered_leg(&mut self, current: Box<Current>, verdict: Called) {
        let terminal = current.leg.is_terminal();
        match verdict {
            Called::Accepted | Called::Invited(_) => self.next_leg(current),
            Called::Refused(reason) => {
                self.tell(Notice::warn(format!(
                    "execution {:?} is left to the control plane: {reason}",
                    current.entry.execution_id.as_str()
                )));
                self.settle(&id(&current.entry));
            }
            Called::Unacceptable { inline_too_large, reason } if terminal => {
                self.answered_badly(*current, inline_too_large, &reason);
            }
            Called::Unacceptable { reason, .. } | Called::Failed(reason) => {
                self.leave(&current.entry, &reason);
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
                self.settle(&id(&current.entry));
            }
        }
    }

    /// A terminal report that the control plane will not take is kept in a lighter form, or is over.
    fn answered_badly(&mut self, current: Current, inline_too_large: bool, reason: &str) {
        let execution = id(&current.entry);
        let lighter = match current.errand {
            Errand::Report(report) => report.lighter(inline_too_large),
            Errand::Claim | Errand::Walk(_) => None,
        };
        match lighter {
            Some(report) => {
                self.keep(execution, report);
                self.leave(&current.entry, reason);
            }
            None => self.delivered_badly(&execution, reason),
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
}
