//! Metrics, logs and audit records: collected from this node, brought to the control plane and to local endpoints.

mod collect;
mod deliver;
mod files;
mod journald;
mod parts;
mod ship;
mod source;
mod spool;

use meshward_core::agent::{self, Input};
use tokio::sync::mpsc;

use crate::client::Client;
use collect::Collection;
use deliver::Endpoints;
pub(crate) use parts::{VoiceParts, settings};
use ship::Ship;

/// What collects and brings away.
#[derive(Debug)]
pub(crate) struct Voice {
    collection: Collection,
    ship: Ship,
    endpoints: Endpoints,
}

impl Voice {
    pub(crate) fn new(facts: mpsc::Sender<Input>, client: Client, parts: VoiceParts) -> Self {
        Self {
            collection: Collection::new(facts.clone(), parts.collectors),
            ship: Ship::new(facts.clone(), client),
            endpoints: parts.endpoints.telling(facts),
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
        }
    }
}
