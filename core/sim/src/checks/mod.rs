//! What must hold: one function an invariant, named as a sentence. Written from the specification and from what
//! crosses the network, without the code of either end.
//!
//! A fault that voids a promise is named where the promise is checked and not filtered out of the scripts.

mod archive;
mod executions;
mod keys;
mod presence;
mod reports;
mod sessions;
mod witness;

use meshward_core::{agent::Exit, ids::ExecutionId, time::Mono, wire::timestamp::Timestamp};

use crate::{disk::Disk, net::Caller, node::Node, route::Said, script::Token};
use archive::Archive;
use executions::Executions;
use keys::Keys;
use presence::Presence;
use reports::Reports;
use sessions::Sessions;
use witness::Found;
pub use witness::{Beginning, Opening, Rest, Sending, Serving, Violation};

#[derive(Clone, Debug)]
pub struct Checks {
    found: Found,
    archive: Archive,
    executions: Executions,
    keys: Keys,
    presence: Presence,
    reports: Reports,
    sessions: Sessions,
}

impl Checks {
    /// For so many nodes; several bear the one name that the control plane knows.
    pub fn of(nodes: usize) -> Self {
        Self {
            found: Found::default(),
            archive: Archive::of(nodes),
            executions: Executions::of(nodes),
            keys: Keys::of(nodes),
            presence: Presence::of(nodes),
            reports: Reports::of(nodes),
            sessions: Sessions::of(nodes),
        }
    }

    pub fn dispatched(&mut self, execution: ExecutionId, expires_at: Timestamp, known: bool) {
        self.executions.dispatched(execution, expires_at, known);
    }

    /// The control plane was restarted.
    pub fn forgot(&mut self) {
        self.executions.forgot();
        self.keys.forgot();
        self.presence.forgot();
        self.reports.forgot();
        self.sessions.forgot();
    }

    /// The last fault is over.
    pub fn healed(&mut self, now: Mono) {
        self.keys.healed(now);
    }

    pub fn damaged(&mut self, at: usize) {
        self.keys.damaged(at);
    }

    /// A process ended; what it had asked is never answered.
    pub fn died(&mut self, at: usize) {
        self.executions.died(at);
        self.presence.died(at);
        self.sessions.died(at);
    }

    pub fn sent(&mut self, sending: &Sending<'_>) {
        self.executions.sent(sending, &mut self.found);
        self.keys.sent(sending, &mut self.found);
        self.presence.sent(sending, &mut self.found);
        self.reports.sent(sending, &mut self.found);
        self.sessions.sent(sending, &mut self.found);
    }

    pub fn served(&mut self, serving: &Serving<'_>) {
        self.executions.served(serving, &mut self.found);
        self.keys.served(serving);
        self.presence.served(serving, &mut self.found);
        self.reports.served(serving, &mut self.found);
        self.sessions.served(serving, &mut self.found);
    }

    /// An agent hears an answer; 0 is no answer in time.
    pub fn heard(&mut self, caller: Caller, said: &Said, status: u16, now: Mono) {
        self.executions.heard(caller, said, status);
        self.keys.heard(caller.node, said, status);
        self.presence.heard(caller, said, status, now);
        self.sessions.heard(caller, said, status);
    }

    pub fn began(&mut self, beginning: &Beginning<'_>) {
        self.executions.began(beginning, &mut self.found);
    }

    /// A run ended, with the status that tells it.
    pub fn ended(&mut self, at: usize, execution: &ExecutionId, status: &'static str) {
        self.executions.ended(at, execution, status);
    }

    pub fn exited(&mut self, exit: &Exit, token: Token) {
        self.presence.exited(exit, token, &mut self.found);
    }

    /// An identity makes room for another.
    pub fn retires(&mut self, at: usize, token: Token, now: Mono) {
        self.keys.retires(at);
        self.presence.retires(at, token, now, &mut self.found);
    }

    pub fn restored(&mut self, disk: &Disk) {
        self.keys.restored(disk);
    }

    /// An agent was woken at the time it asked for.
    pub fn ticked(&mut self, wakeup: Option<Mono>, now: Mono) {
        self.found.unless(wakeup.is_none_or(|wakeup| wakeup > now), "a tick moves the wakeup on");
    }

    /// What holds at every moment.
    pub fn stand(&mut self, nodes: &[Node], now: Mono) -> Result<(), Violation> {
        self.keys.stand(nodes, now, &mut self.found);
        self.reports.stand(nodes, &mut self.found);
        self.archive.stand(nodes, &mut self.found);
        self.found.take()
    }

    /// What holds when the faults are long over.
    pub fn rested(&mut self, rest: &Rest<'_>) -> Result<(), Violation> {
        self.keys.rested(rest, &mut self.found);
        self.executions.rested(rest, &mut self.found);
        self.presence.rested(rest, &mut self.found);
        self.reports.rested(rest, &mut self.found);
        self.sessions.rested(rest, &mut self.found);
        self.archive.rested(rest, &mut self.found);
        self.found.take()
    }
}
