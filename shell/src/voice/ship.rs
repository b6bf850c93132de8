//! Batches brought to the control plane.

use std::time::Duration;

use meshward_core::{agent::Input, ids::CallId, wire::http::Request};
use tokio::sync::mpsc;

use crate::{chance, client::Client};

/// The way to the control plane.
#[derive(Debug)]
pub(crate) struct Ship {
    facts: mpsc::Sender<Input>,
    client: Client,
}

impl Ship {
    pub(crate) const fn new(facts: mpsc::Sender<Input>, client: Client) -> Self {
        Self { facts, client }
    }

    pub(crate) fn begin(
        &self,
        call: CallId,
        request: Request,
        (timeout, answer_max): (Duration, usize),
    ) {
        let (client, facts) = (self.client.clone(), self.facts.clone());
        tokio::spawn(async move {
            let answer = client.send(request, timeout, answer_max).await;
            // A closed inbox means that the agent has ended and wants no answer.
            let _ = facts.send(Input::Answered { call, answer, jitter: chance::jitter() }).await;
        });
    }
}
