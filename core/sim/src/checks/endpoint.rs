//! Where a node is reached: what is reported was told by a server, seldom enough, and is known in the end.

use std::{collections::BTreeSet, time::Duration};

use meshward_core::{
    agent::{Acted, Input},
    time::Mono,
};

use super::witness::{Found, Rest, Sending, Serving};
use crate::{
    route::{Said, Sense},
    settings::MIN_REPORT_INTERVAL,
};

/// How long an endpoint is reported that no server confirms any more.
const KEPT_MAX: Duration = Duration::from_secs(3600);
/// How long a reported endpoint counts at the control plane.
const TTL: Duration = Duration::from_secs(300);
/// The shortest wait between two discoveries: five seconds less a quarter.
const DISCOVERY_WAIT_MIN: Duration = Duration::from_millis(3750);

#[derive(Clone, Debug, Default)]
pub(super) struct Endpoint {
    nodes: Vec<Place>,
}

#[derive(Clone, Debug, Default)]
struct Place {
    /// The last round, and when it was ordered.
    round: Option<(u64, Mono)>,
    /// The addresses that servers told in the last round in which one told any, and when that was.
    told: Option<(BTreeSet<String>, Mono)>,
    reported: Option<Mono>,
    /// What the control plane took last, in true time.
    taken: Option<(String, Mono)>,
}

impl Endpoint {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: vec![Place::default(); nodes] }
    }

    pub(super) fn died(&mut self, at: usize) {
        let taken = self.nodes[at].taken.take();
        self.nodes[at] = Place { taken, ..Place::default() };
    }

    /// Of all that was found out only when it was reported last counts on.
    pub(super) fn retires(&mut self, at: usize) {
        let place = &mut self.nodes[at];
        place.told = None;
        place.round = place.round.map(|(round, _)| (round, Mono::default()));
    }

    pub(super) fn discovers(&mut self, at: usize, round: u64, now: Mono, found: &mut Found) {
        let place = &mut self.nodes[at];
        let is_calm = place.round.is_none_or(|(last, ordered)| {
            let first = ordered == Mono::default();
            last != round && (first || now.since(ordered) >= DISCOVERY_WAIT_MIN)
        });
        found.unless(is_calm, "servers are asked one round after the other, and not at once");
        place.round = Some((round, now));
    }

    pub(super) fn hears(&mut self, at: usize, input: &Input, now: Mono) {
        let Input::Acted(Acted::Discovered { round, outcome: Ok(outcome), .. }) = input else {
            return;
        };
        let place = &mut self.nodes[at];
        let told = outcome.iter().flatten().map(|seen| seen.mapped);
        let told: BTreeSet<_> =
            told.filter(|addr| !addr.ip().is_loopback()).map(|addr| addr.to_string()).collect();
        if place.round.is_some_and(|(last, _)| last == *round) && !told.is_empty() {
            place.told = Some((told, now));
        }
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let Said::Sense(Sense::Endpoint { endpoint, nat_type }) = sending.said else { return };
        let now = sending.now.mono;
        let place = &mut self.nodes[sending.caller.node];
        let hasty = place.reported.is_some_and(|last| now.since(last) < MIN_REPORT_INTERVAL);
        found.unless(!hasty, "two reports of the endpoint keep their distance");
        place.reported = Some(now);
        let told = place.told.as_ref().filter(|(_, at)| now.since(*at) < KEPT_MAX);
        found.unless(
            told.is_some_and(|(told, _)| told.contains(endpoint)),
            "an endpoint that is reported was told by a server",
        );
        let differs = told.is_some_and(|(told, _)| told.len() > 1);
        found.unless(
            differs == (nat_type == "symmetric"),
            "a NAT is symmetric just where two servers tell different addresses",
        );
    }

    pub(super) fn served(&mut self, serving: &Serving<'_>) {
        let Said::Sense(Sense::Endpoint { endpoint, .. }) = serving.said else { return };
        if serving.response.status == 200 {
            let taken = (endpoint.clone(), serving.now.mono);
            self.nodes[serving.caller.node].taken = Some(taken);
        }
    }

    pub(super) fn rested(&self, rest: &Rest<'_>, found: &mut Found) {
        for (place, node) in self.nodes.iter().zip(rest.nodes) {
            let seen = node.around.endpoint(0).to_string();
            let is_known = place
                .taken
                .as_ref()
                .is_some_and(|(endpoint, at)| *endpoint == seen && rest.now.mono.since(*at) < TTL);
            found.unless(is_known, "the control plane knows where a node is reached in the end");
        }
    }
}
