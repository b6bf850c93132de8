//! Metrics, logs and audit records: collected from this node, brought to the control plane and to local endpoints.

pub(crate) mod audit_log;
mod audit_socket;
mod auditd;
mod collect;
mod deliver;
mod files;
mod follow_end;
mod journald;
mod k8s;
mod parts;
mod peers;
mod place;
mod ship;
mod source;
mod spool;
mod stats;
mod system;
mod way;

use std::collections::BTreeMap;

use meshward_core::agent::{self, Acted, Input, Pipe, SpoolOrder};
use tokio::sync::mpsc;

use crate::client::Client;
use collect::Collection;
use deliver::Endpoints;
pub(crate) use files::{Glance, glance};
pub(crate) use k8s::glance_at_audit;
pub(crate) use parts::{VoiceParts, settings};
use ship::Ship;
use spool::Worker;

/// What collects and brings away.
#[derive(Debug)]
pub(crate) struct Voice {
    collection: Collection,
    ship: Ship,
    endpoints: Endpoints,
    spools: BTreeMap<Pipe, Worker>,
    facts: mpsc::Sender<Input>,
}

impl Voice {
    pub(crate) fn new(facts: mpsc::Sender<Input>, client: Client, parts: VoiceParts) -> Self {
        Self {
            collection: Collection::new(facts.clone(), parts.collectors),
            ship: Ship::new(facts.clone(), client),
            spools: parts
                .spools
                .into_iter()
                .map(|place| (place.pipe, Worker::new(place, facts.clone())))
                .collect(),
            endpoints: parts.endpoints.telling(facts.clone()),
            facts,
        }
    }

    /// Begins what was ordered; it is answered through the inbox.
    pub(crate) fn begin(&mut self, order: agent::Voice) {
        match order {
            agent::Voice::Collect(wanted) => self.collection.begin(wanted),
            agent::Voice::Ship { call, request, timeout, answer_max } => {
                self.ship.begin(call, request, (timeout, answer_max));
            }
            agent::Voice::Deliver { call, pipe, body, token, timeout } => {
                self.endpoints.begin(call, pipe, (body, token, timeout));
            }
            agent::Voice::Spool { pipe, order } => self.spool(pipe, order),
        }
    }

    fn spool(&mut self, pipe: Pipe, order: SpoolOrder) {
        // No other pipeline is given such an order.
        let Some(worker) = self.spools.get_mut(&pipe) else { return };
        let Some(spooled) = worker.order(order).map(Box::new) else { return };
        let facts = self.facts.clone();
        tokio::spawn(async move {
            let _ = facts.send(Input::Acted(Acted::Spooled { pipe, spooled })).await;
        });
    }
}
