//! What the script lets happen.

use std::time::Duration;

use meshward_core::agent::Input;

use crate::{journal::Entry, net::Message, node::Away, script::Event, world::World};

impl World {
    pub(crate) fn happen(&mut self, event: Event) {
        self.note(Entry::Happened(event));
        self.summary.events += 1;
        let mut possible = true;
        match event {
            Event::Around { node, change } => self.surround(node, change),
            Event::AskRotation => self.ask_rotation(),
            Event::Bus(bus) => possible = self.bus(bus),
            Event::Block { route, status } => {
                self.blocked.insert(route, status);
            }
            Event::Crash { node, spot } => {
                possible = self.nodes[node].crash.replace(spot).is_none();
            }
            Event::Damage { node } => possible = self.damage(node),
            Event::DeleteReport { node, key } => possible = self.report(node, key, None),
            Event::Dispatch { name, expires, known } => self.dispatch(name, expires, known),
            Event::Drift { node, rate } => self.drift(node, rate),
            Event::EndSession { name } => possible = self.end_session(name),
            Event::FailWrites { node, count } => {
                possible = std::mem::replace(&mut self.nodes[node].failing_writes, count) == 0;
            }
            Event::Murmur { node, murmur } => self.murmur(node, murmur),
            Event::OpenSession { name, expires, idle } => self.open_session(name, expires, idle),
            Event::Pause { node, seconds } => possible = self.put_away(node, seconds, false),
            Event::PutReport { node, key, value } => {
                possible = self.report(node, key, Some(value));
            }
            Event::PutToken { node, token } => self.nodes[node].token = token,
            Event::RestartPlane => self.restart_plane(),
            Event::Revoke { node } => possible = self.revoke(node),
            Event::SetClock { node, ahead } => self.set_clock(node, ahead),
            Event::Stop { node } => possible = self.stop(node),
            Event::Suspend { node, seconds } => possible = self.put_away(node, seconds, true),
            Event::Unblock { route } => possible = self.blocked.remove(&route).is_some(),
        }
        self.summary.missed += u64::from(!possible);
    }

    fn drift(&mut self, at: usize, rate: i64) {
        self.nodes[at].clock.set_rate(self.clock.mono(), rate);
        self.summary.jumps += 1;
    }

    fn set_clock(&mut self, at: usize, ahead: i64) {
        self.nodes[at].clock.set_ahead(self.clock.mono(), ahead);
        self.summary.jumps += 1;
    }

    /// Lets a process stand still. With the machine the clock of its timeouts stands still too, and its runs do.
    fn put_away(&mut self, at: usize, seconds: u64, suspended: bool) -> bool {
        let node = &mut self.nodes[at];
        if node.agent.is_none() || node.away.is_some() {
            return false;
        }
        let by = Duration::from_secs(seconds);
        node.away = Some(Away { until: self.clock.mono().after(by), suspended });
        if suspended {
            node.runs.values_mut().for_each(|until| *until = until.after(by));
            let of_it = |message: &Message| {
                message.is_timeout() && message.client().is_some_and(|caller| caller.node == at)
            };
            self.net.put_off(by, of_it);
        }
        self.summary.suspends += 1;
        true
    }

    /// A process goes on.
    pub(crate) fn resume(&mut self, at: usize) {
        if self.nodes[at].away.take().is_some() {
            self.note(Entry::Resumed { node: at });
            self.checks.resumed(at, &self.nodes[at], self.clock.mono());
        }
    }

    fn damage(&mut self, at: usize) -> bool {
        let identity = &mut self.nodes[at].disk.identity;
        let possible = identity.is_some();
        *identity = identity.take().map(|_| b"{\"node_id\":".to_vec());
        self.checks.damaged(at);
        possible
    }

    /// The operator of the control plane takes back what admits the node, until it registers afresh.
    fn revoke(&mut self, at: usize) -> bool {
        let possible =
            self.nodes[at].agent.as_ref().is_some_and(|agent| agent.identity().is_some());
        self.nodes[at].revoked |= possible;
        possible
    }

    fn stop(&mut self, at: usize) -> bool {
        let node = &self.nodes[at];
        let possible = node.agent.is_some() && node.away.is_none();
        if possible {
            self.feed(at, Input::Draining);
        }
        possible
    }
}
