//! What takes place is shown to each of the checks.

use meshward_core::{
    agent::{
        Acted, Effect, Exit, Heard, Input, Notice, Pipe, Spooled, StateFile, Voice as Order,
        voice::figures::Figures,
    },
    ids::ExecutionId,
    time::{Mono, Now},
    wire::timestamp::Timestamp,
};

use super::{Beginning, CHECKSUMS, Checks, POSITIONS, Rest, Sending, Serving, Violation};
use crate::{disk::Disk, net::Caller, node::Node, route::Said, script::Token, signing::Keyring};

impl Checks {
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
        self.streams.forgot();
    }

    /// The last fault is over.
    pub fn healed(&mut self, now: Mono) {
        self.integrity.healed(now);
        self.keys.healed(now);
        self.streams.healed(now);
    }

    pub fn damaged(&mut self, at: usize) {
        self.keys.damaged(at);
    }

    /// A process ended; what it had asked is never answered.
    pub fn died(&mut self, at: usize, node: &Node, ring: &Keyring) {
        self.authority.died(at, node, ring);
        self.endpoint.died(at);
        self.executions.died(at);
        self.pace.died(at);
        self.presence.died(at);
        self.sessions.died(at);
        self.streams.died(at);
        self.tries.afresh(at);
        self.voice.died(at);
    }

    pub fn sent(&mut self, sending: &Sending<'_>) {
        self.endpoint.sent(sending, &mut self.found);
        self.executions.sent(sending, &mut self.found);
        self.integrity.sent(sending, &mut self.found);
        self.manifest.sent(sending, &mut self.found);
        self.tries.sent(sending, &mut self.found);
        self.keys.sent(sending, &mut self.found);
        self.pace.sent(sending, &mut self.found);
        self.streams.sent(sending, &mut self.found);
        self.presence.sent(sending, &mut self.found);
        self.reports.sent(sending, &mut self.found);
        self.sessions.sent(sending, &mut self.found);
        self.voice.sent(sending, &mut self.found);
    }

    pub fn served(&mut self, serving: &Serving<'_>) {
        self.endpoint.served(serving);
        self.executions.served(serving, &mut self.found);
        self.manifest.served(serving, &mut self.found);
        self.keys.served(serving);
        self.presence.served(serving, &mut self.found);
        self.reports.served(serving, &mut self.found);
        self.sessions.served(serving, &mut self.found);
        self.voice.served(serving, &mut self.found);
    }

    /// An agent hears an answer; 0 is no answer in time. `now` is the agent's.
    pub fn heard(&mut self, caller: Caller, said: &Said, status: u16, now: Mono) {
        self.authority.heard(caller.node, said, status);
        self.pace.heard(caller.node, said, status);
        self.executions.heard(caller, said, status);
        self.integrity.heard(caller, status);
        self.manifest.heard(caller, status);
        self.tries.heard(caller, said.route(), status, now);
        self.keys.heard(caller.node, said, status);
        self.presence.heard(caller, said, status, now);
        self.sessions.heard(caller, said, status);
    }

    pub fn began(&mut self, beginning: &Beginning<'_>) {
        self.executions.began(beginning, &mut self.found);
    }

    /// What comes of a stream reaches its client; `now` is its own.
    pub fn streamed(&mut self, caller: Caller, heard: &Heard, now: Mono) {
        if matches!(heard, Heard::Answered(response) if response.is_success()) {
            self.authority.opened(caller.node);
        }
        self.pace.streamed(caller.node, heard, now);
        self.streams.streamed(caller, heard, now);
    }

    /// A client breaks its stream off; `now` is its own.
    pub fn hung_up(&mut self, at: usize, now: Mono) {
        self.pace.hung_up(at, now);
    }

    /// What an agent is told before it moves; of bytes of a stream, how many events that count end in them.
    pub fn hears(
        &mut self,
        (at, node): (usize, &Node),
        input: &Input,
        now: Now,
        ring: &Keyring,
    ) -> Option<usize> {
        self.endpoint.hears(at, input, now.mono);
        self.integrity.hears(at, input, now.mono);
        self.manifest.hears(at, input);
        self.voice.hears((at, node), input);
        if matches!(input, Input::Acted(Acted::Installed { .. })) {
            self.pace.installed(at);
        }
        let Input::Acted(Acted::Heard { stream, heard: Heard::Bytes(bytes), .. }) = input else {
            return None;
        };
        let genuine = self.authority.hears((at, *stream), (node, &bytes.0), now, ring);
        if genuine > 0 {
            self.pace.proven(at);
        }
        Some(genuine)
    }

    /// What bytes of a stream led to; whether that was anything.
    pub fn reacts(
        &mut self,
        (at, genuine): (usize, usize),
        effects: &[Effect],
        ring: &Keyring,
    ) -> u64 {
        self.authority.reacts((at, genuine), effects, ring, &mut self.found)
    }

    /// A process that stood still goes on.
    pub fn resumed(&mut self, at: usize, node: &Node, now: Mono) {
        self.pace.resumed(at, now);
        self.streams.resumed(at, node.now(now).mono);
    }

    /// Bytes that the control plane did not send are among those of a node's stream.
    pub fn misled(&mut self, at: usize) {
        self.streams.misled(at);
    }

    /// The desired state was changed so many times for the sake of it.
    pub fn configured(&mut self, changes: u32, now: Mono) {
        self.streams.configured(changes, now);
    }

    /// A run ended, with the status that tells it.
    pub fn ended(&mut self, at: usize, execution: &ExecutionId, status: &'static str) {
        self.executions.ended(at, execution, status);
    }

    pub fn exited(&mut self, at: usize, exit: &Exit, token: Token) {
        self.integrity.exited(at, &mut self.found);
        self.presence.exited(exit, token, &mut self.found);
        self.voice.exited(at, &mut self.found);
    }

    /// An identity makes room for another.
    pub fn retires(&mut self, at: usize, token: Token, now: Mono) {
        self.authority.retires(at);
        self.endpoint.retires(at);
        self.integrity.retires(at);
        self.keys.retires(at);
        self.manifest.retires(at);
        self.pace.retires(at);
        self.presence.retires(at, token, now, &mut self.found);
        self.tries.afresh(at);
        self.voice.retires(at);
    }

    /// A process begins, in what is around it now.
    pub fn started(&mut self, at: usize, node: &Node) {
        self.integrity.started(at, node);
        self.manifest.started(at, node);
    }

    /// A file below `state/` was changed.
    pub fn kept(&mut self, at: usize, node: &Node, file: &StateFile) {
        match file.name.as_str() {
            CHECKSUMS => self.integrity.kept(at, &node.disk, &mut self.found),
            POSITIONS => self.voice.kept((at, node), &mut self.found),
            _ => {}
        }
    }

    /// What the voice of an agent orders.
    pub fn speaks(&mut self, at: usize, order: &Order) {
        self.voice.speaks(at, order, &mut self.found);
    }

    /// The process dies before it is told what its disk has done.
    pub fn unheard(&mut self, at: usize, pipe: Pipe, spooled: &Spooled) {
        self.voice.unheard(at, pipe, spooled);
    }

    /// The numbers of the voice behind a step, with which the process may end.
    pub fn moved(&mut self, at: usize, figures: &Figures, exits: bool) {
        self.voice.moved(at, figures, exits, &mut self.found);
    }

    /// The operator of a node is told something.
    pub fn told(&mut self, at: usize, notice: &Notice, now: Mono) {
        self.integrity.told(at, notice, &mut self.found);
        self.voice.told(at, notice, now, &mut self.found);
    }

    /// An agent asks how it is seen from outside; `now` is its own.
    pub fn discovers(&mut self, at: usize, round: u64, now: Mono) {
        self.endpoint.discovers(at, round, now, &mut self.found);
    }

    /// How many records the control plane took, each counted once.
    pub fn records(&self) -> u64 {
        self.voice.records()
    }

    pub fn restored(&mut self, disk: &Disk) {
        self.keys.restored(disk);
    }

    /// An agent was woken at the time it asked for; `now` is its own.
    pub fn ticked(&mut self, at: usize, wakeup: Option<Mono>, now: Now) {
        let moves_on = wakeup.is_none_or(|wakeup| wakeup > now.mono);
        self.found.unless(moves_on, "a tick moves the wakeup on");
        self.pace.ticked(at, now.mono, &mut self.found);
    }

    /// What holds at every moment.
    pub fn stand(&mut self, nodes: &[Node], now: Mono) -> Result<(), Violation> {
        self.keys.stand(nodes, now, &mut self.found);
        self.reports.stand(nodes, &mut self.found);
        self.archive.stand(nodes, &mut self.found);
        self.streams.stand(nodes, now, &mut self.found);
        self.integrity.stand(nodes, now, &mut self.found);
        self.found.take()
    }

    /// What holds when nothing has changed around the nodes for a while.
    pub fn quiet(&mut self, nodes: &[Node]) -> Result<(), Violation> {
        self.integrity.rested(nodes, &mut self.found);
        self.manifest.rested(nodes, &mut self.found);
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
        self.streams.rested(rest, &mut self.found);
        self.endpoint.rested(rest, &mut self.found);
        self.integrity.rested(rest.nodes, &mut self.found);
        self.manifest.rested(rest.nodes, &mut self.found);
        self.voice.rested(rest, &mut self.found);
        self.found.take()
    }
}
