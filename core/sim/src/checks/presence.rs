//! Registration, heartbeats and clocks: that a node comes in once, stays in, and is heard.

use std::{collections::BTreeSet, time::Duration};

use meshward_core::{
    agent::{Agent, Exit, Unprepared},
    time::Mono,
    wire::{heartbeat::CLOCK_SKEW_MAX, problem},
};

use super::witness::{Found, Rest, Sending, Serving};
use crate::{net::Caller, route::Said, script::Token};

/// How long before the end the last accepted heartbeat may lie.
const HEARTBEAT_AGE_MAX: Duration = Duration::from_secs(90);
/// The shortest wait before a registration is tried again: one second less a quarter.
const REGISTER_WAIT_MIN: Duration = Duration::from_millis(750);
/// The least of a heartbeat interval that two beats of one life are apart, as a late answer may move the first.
const BEAT_MIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default)]
pub(super) struct Presence {
    /// The nonces of accepted registrations since the control plane started.
    recorded: BTreeSet<String>,
    nodes: Vec<Seen>,
}

/// How often in a row and over which time a node must be refused before it registers afresh.
const REFUSALS_MIN: u32 = 5;
const REFUSED_FOR_MIN: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Default)]
struct Seen {
    /// When the first of the refusals in a row was heard, and how many there were.
    refused: Option<(Mono, u32)>,
    registered: Option<(String, Mono)>,
    beat: Option<(u32, Mono)>,
    accepted: Option<Mono>,
}

impl Presence {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: vec![Seen::default(); nodes], ..Self::default() }
    }

    pub(super) fn forgot(&mut self) {
        self.recorded.clear();
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let now = sending.now.mono;
        let life = sending.caller.life;
        let seen = &mut self.nodes[sending.caller.node];
        match sending.said {
            Said::Register { nonce, .. } => {
                found.unless(
                    sending.node.disk.identity().is_none(),
                    "a node that has an identity does not register",
                );
                let hasty = seen
                    .registered
                    .as_ref()
                    .is_some_and(|(last, at)| last == nonce && now.since(*at) < REGISTER_WAIT_MIN);
                found.unless(!hasty, "a registration is tried again within its backoff");
                seen.registered = Some((nonce.clone(), now));
            }
            Said::Heartbeat { .. } => {
                let hasty =
                    seen.beat.is_some_and(|(of, at)| of == life && now.since(at) < BEAT_MIN);
                found.unless(!hasty, "heartbeats keep their distance");
                seen.beat = Some((life, now));
            }
            Said::Batch(..)
            | Said::Callback { .. }
            | Said::Pull
            | Said::Report { .. }
            | Said::Sense(_)
            | Said::Rotate { .. }
            | Said::Session { .. }
            | Said::Upload { .. } => {}
        }
    }

    pub(super) fn served(&mut self, serving: &Serving<'_>, found: &mut Found) {
        match serving.said {
            Said::Register { nonce, .. } => self.registered(nonce, serving, found),
            Said::Heartbeat { client_now } => {
                let accepted = serving.response.status == 200;
                let near = client_now.is_some_and(|at| at.skew(serving.now.wall) <= CLOCK_SKEW_MAX);
                found
                    .unless(accepted == near, "a heartbeat is accepted just if its clock is right");
                if accepted {
                    self.nodes[serving.caller.node].accepted = Some(serving.now.mono);
                }
            }
            Said::Batch(..)
            | Said::Callback { .. }
            | Said::Pull
            | Said::Report { .. }
            | Said::Sense(_)
            | Said::Rotate { .. }
            | Said::Session { .. }
            | Said::Upload { .. } => {}
        }
    }

    fn registered(&mut self, nonce: &str, serving: &Serving<'_>, found: &mut Found) {
        if serving.response.status == 201 {
            found.unless(self.recorded.insert(nonce.to_owned()), "each nonce is recorded once");
            return;
        }
        let code = problem::read(serving.response).code;
        if code == Some(problem::Code::NonceCollision) {
            found.unless(self.recorded.contains(nonce), "no refusal records a nonce");
        }
    }

    /// What was refused in an earlier life says nothing in this one.
    pub(super) fn died(&mut self, at: usize) {
        self.nodes[at].refused = None;
    }

    pub(super) fn heard(&mut self, caller: Caller, said: &Said, status: u16, now: Mono) {
        let refused = &mut self.nodes[caller.node].refused;
        match (said, status) {
            (Said::Batch(..) | Said::Heartbeat { .. } | Said::Pull, 401) => {
                refused.get_or_insert((now, 0)).1 += 1;
            }
            (Said::Batch(..) | Said::Heartbeat { .. } | Said::Pull, 200..300) => *refused = None,
            _ => {}
        }
    }

    /// An identity makes room for another.
    pub(super) fn retires(&mut self, at: usize, token: Token, now: Mono, found: &mut Found) {
        // The first beat behind it, under either identity, needs no distance.
        self.nodes[at].beat = None;
        let refused = self.nodes[at].refused.take();
        let enough = refused.is_some_and(|(since, in_a_row)| {
            in_a_row >= REFUSALS_MIN && now.since(since) >= REFUSED_FOR_MIN
        });
        found.unless(
            enough,
            "an identity makes room only after five refusals in a row over a minute and longer",
        );
        found.unless(token != Token::None, "an identity makes room only where a token is at hand");
    }

    /// Void by a reply that was lost or came late: the retry meets its own nonce; and by a token that is none or used up.
    pub(super) fn exited(&self, exit: &Exit, token: Token, found: &mut Found) {
        let excused = token != Token::Good
            || match exit {
                Exit::Refused { code, .. } => *code == Some(problem::Code::NonceCollision),
                // A disk that refuses the key is told before anything is sent.
                Exit::Drained | Exit::GaveUp { .. } | Exit::Unprepared(Unprepared::Key(_)) => true,
                Exit::Registered { .. } | Exit::Unprepared(_) | Exit::Unusable { .. } => false,
            };
        found.unless(
            excused,
            "no agent exits but by its orders, a collided nonce or a closed window",
        );
    }

    pub(super) fn rested(&self, rest: &Rest<'_>, found: &mut Found) {
        for (seen, node) in self.nodes.iter().zip(rest.nodes) {
            let fresh =
                seen.accepted.is_some_and(|at| rest.now.mono.since(at) <= HEARTBEAT_AGE_MAX);
            found.unless(fresh, "heartbeats are accepted in the end");
            found.unless(node.agent.is_some(), "every agent runs in the end");
            let wakeup = node.agent.as_ref().and_then(Agent::wakeup);
            found.unless(
                wakeup.is_some_and(|wakeup| wakeup > node.now(rest.now.mono).mono),
                "every agent means to wake again in the end",
            );
        }
    }
}
