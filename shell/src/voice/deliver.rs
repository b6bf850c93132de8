//! Copies of batches brought to the endpoints that the operator names, by https alone.
//!
//! Each endpoint has a client of its own, so that one which trusts anyone is used for nothing else.

use std::{collections::BTreeMap, time::Duration};

use meshward_core::{
    agent::{
        Answer, Bytes, Failure, Input, LocalSettings, Lost, Pipe, VoiceSettings, voice::settings_of,
    },
    ids::CallId,
    secret::Secret,
};
use tokio::sync::mpsc;
use tracing::warn;

use crate::{
    chance,
    client::{ClientError, Endpoint},
};

/// The endpoints of this agent, by pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    of: BTreeMap<Pipe, Endpoint>,
    facts: Option<mpsc::Sender<Input>>,
}

impl Endpoints {
    /// Reads the trusted roots; it blocks on the disk.
    pub(crate) fn new(settings: &VoiceSettings) -> Result<Self, ClientError> {
        let mut of = BTreeMap::new();
        for pipe in Pipe::ALL {
            if let Some(local) = settings_of(settings, pipe).and_then(|pipe| pipe.local.as_ref()) {
                of.insert(pipe, endpoint(pipe, local)?);
            }
        }
        Ok(Self { of, facts: None })
    }

    /// With the inbox that is told how each delivery ended.
    pub(crate) fn telling(self, facts: mpsc::Sender<Input>) -> Self {
        Self { facts: Some(facts), ..self }
    }

    pub(crate) fn begin(
        &self,
        call: CallId,
        pipe: Pipe,
        (body, token, timeout): (Bytes, Secret<String>, Duration),
    ) {
        let (endpoint, Some(facts)) = (self.of.get(&pipe).cloned(), self.facts.clone()) else {
            return;
        };
        tokio::spawn(async move {
            let answer = match endpoint {
                Some(endpoint) => endpoint.post(body.0, token, timeout).await,
                None => Answer::Failed(Lost::from(Failure::Unreachable)),
            };
            let _ = facts.send(Input::Answered { call, answer, jitter: chance::jitter() }).await;
        });
    }
}

fn endpoint(pipe: Pipe, local: &LocalSettings) -> Result<Endpoint, ClientError> {
    if local.tls_insecure_skip_verify {
        let section = pipe.name();
        warn!(
            "{section}.local_endpoint.tls_insecure_skip_verify: whoever answers at this URL is trusted with the {section}"
        );
    }
    Endpoint::new(&local.url, local.tls_insecure_skip_verify)
}
