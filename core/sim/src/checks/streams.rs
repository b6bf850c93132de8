//! The stream of events: one at a time, followed forward, and the desired state reaches each node whatever became of it.

use std::time::Duration;

use meshward_core::{agent::Heard, time::Mono};

use super::witness::{Found, Rest, Sending};
use crate::{
    net::Caller,
    node::Node,
    operator::CHANGED,
    route::{Said, Sense},
    settings::RECONCILE_INTERVAL,
};

/// How long behind the last fault a node may take to be back: the longest try to register, the time that a process
/// stays down, and a request that is not answered.
const RECOVERY: Duration = Duration::from_secs(900);
/// What a request and its answer take.
const PASSAGE: Duration = Duration::from_secs(1);
/// How long behind the head of a stream a pull begins: a minute over which nodes are kept apart, and the timeout of one
/// that is under way.
const RECONCILED_MAX: Duration = Duration::from_secs(91);

#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    healed: Option<Mono>,
    changes: u32,
    changed: Mono,
    nodes: Vec<Ear>,
}

#[derive(Clone, Debug, Default)]
struct Ear {
    /// The last number from behind which a stream was asked for.
    cursor: Option<u64>,
    /// The next number may be lower.
    led_back: bool,
    /// What the stream that is open was asked for with.
    asked: Option<String>,
    /// The control plane took that for no cursor.
    refused: bool,
    /// The head of a stream came, and no pull was sent since.
    opened: Option<Mono>,
}

impl Streams {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: vec![Ear::default(); nodes], ..Self::default() }
    }

    pub(super) fn healed(&mut self, now: Mono) {
        self.healed = Some(now);
    }

    /// It counts from one again, which a node learns with the next event.
    pub(super) fn forgot(&mut self) {
        self.nodes.iter_mut().for_each(|ear| ear.led_back = true);
    }

    pub(super) fn died(&mut self, at: usize) {
        self.nodes[at] = Ear::default();
    }

    /// Bytes that nobody sent may lead the cursor astray.
    pub(super) fn misled(&mut self, at: usize) {
        self.nodes[at].led_back = true;
    }

    pub(super) fn resumed(&mut self, at: usize, now: Mono) {
        let ear = &mut self.nodes[at];
        ear.opened = ear.opened.map(|_| now);
    }

    pub(super) fn configured(&mut self, changes: u32, now: Mono) {
        if changes != self.changes {
            (self.changes, self.changed) = (changes, now);
        }
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let ear = &mut self.nodes[sending.caller.node];
        match sending.said {
            // What an identity that makes room has heard is nothing to the next one.
            Said::Pull | Said::Register { .. } => ear.opened = None,
            Said::Sense(Sense::Events { cursor }) => {
                found.unless(sending.node.streams.is_empty(), "there is one stream at a time");
                ear.asks(cursor.as_deref(), found);
            }
            Said::Batch(..)
            | Said::Callback { .. }
            | Said::Heartbeat { .. }
            | Said::Report { .. }
            | Said::Rotate { .. }
            | Said::Sense(Sense::Endpoint { .. } | Sense::Manifest(_) | Sense::Violations(_))
            | Said::Session { .. }
            | Said::Upload { .. } => {}
        }
    }

    pub(super) fn streamed(&mut self, caller: Caller, heard: &Heard, now: Mono) {
        let ear = &mut self.nodes[caller.node];
        match heard {
            Heard::Answered(response) if response.is_success() => {
                ear.opened.get_or_insert(now);
            }
            Heard::Answered(response) => {
                ear.refused = response.status == 400;
                ear.cursor.take_if(|_| ear.refused);
            }
            Heard::Bytes(_) | Heard::Ended(_) => {}
        }
    }

    pub(super) fn stand(&mut self, nodes: &[Node], now: Mono, found: &mut Found) {
        for (ear, node) in self.nodes.iter().zip(nodes) {
            if node.away.is_some() {
                continue;
            }
            let late = ear.opened.is_some_and(|at| node.now(now).mono.since(at) > RECONCILED_MAX);
            found.unless(!late, "a stream that opens leads to a pull");
            self.the_desired_state_arrives(node, now, found);
        }
    }

    /// Void while faults go on, and until what they brought about is over.
    fn the_desired_state_arrives(&self, node: &Node, now: Mono, found: &mut Found) {
        let (Some(healed), Some(agent)) = (self.healed, &node.agent) else { return };
        let since = self.changed.max(healed.after(RECOVERY));
        if self.changes == 0 || now.since(since) <= RECONCILE_INTERVAL + PASSAGE {
            return;
        }
        let held = agent.view().data.get(CHANGED).map(|entry| entry.payload.text().to_owned());
        let wanted = [self.changes.to_string(), format!("\"{}\"", self.changes)];
        found.unless(
            held.is_some_and(|held| wanted.contains(&held)),
            "what the operator changes is at each node within one interval",
        );
    }

    pub(super) fn rested(&self, rest: &Rest<'_>, found: &mut Found) {
        for (at, node) in rest.nodes.iter().enumerate() {
            let of_it = rest.lines.iter().filter(|line| line.caller.node == at);
            let (open, fresh) = of_it.fold((0, 0), |(open, fresh), line| {
                (open + 1, fresh + u32::from(line.caller.life == node.life))
            });
            found.unless((open, fresh) == (1, 1), "every node has one stream in the end");
        }
    }
}

impl Ear {
    fn asks(&mut self, cursor: Option<&str>, found: &mut Found) {
        let again = self.refused && self.asked.is_some() && cursor == self.asked.as_deref();
        found.unless(!again, "a cursor that was refused is not sent again");
        (self.asked, self.refused) = (cursor.map(ToOwned::to_owned), false);
        let number = cursor.and_then(|cursor| cursor.parse().ok());
        if let (Some(last), Some(number)) = (self.cursor, number) {
            let back = number < last;
            found.unless(!back || self.led_back, "a stream is followed forward");
            self.led_back &= !back;
        }
        self.cursor = number.or(self.cursor);
    }
}
