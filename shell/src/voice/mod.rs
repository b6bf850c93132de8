//! Metrics, logs and audit records: collected from this node, brought to the control plane and to local endpoints.

mod audit_log;
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

use meshward_core::agent::{self, Acted, Input, Pipe, SpoolOrder, Spooled};
use tokio::sync::mpsc;

use crate::client::Client;
use collect::Collection;
use deliver::Endpoints;
pub(crate) use files::{Glance, glance};
pub(crate) use k8s::glance_at_audit;
pub(crate) use parts::{VoiceParts, settings};
use ship::Ship;
use spool::{SpoolPlace, Worker};

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
            spools: spools(parts.spools, &facts),
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

    fn spool(&self, pipe: Pipe, order: SpoolOrder) {
        let refused = match self.spools.get(&pipe) {
            Some(worker) => worker.order(order),
            None => Some(Spooled::Failed(NO_SPOOL.to_owned())),
        };
        let Some(spooled) = refused.map(Box::new) else { return };
        let facts = self.facts.clone();
        tokio::spawn(async move {
            let _ = facts.send(Input::Acted(Acted::Spooled { pipe, spooled })).await;
        });
    }
}

const NO_SPOOL: &str =
    "the thread that keeps records on the disk could not be started, which a restart may mend";

fn spools(places: Vec<SpoolPlace>, facts: &mpsc::Sender<Input>) -> BTreeMap<Pipe, Worker> {
    let mut spools = BTreeMap::new();
    for place in places {
        let pipe = place.pipe;
        // Without its thread the first order is answered with why.
        spools.extend(Worker::start(place, facts.clone()).ok().map(|worker| (pipe, worker)));
    }
    spools
}
