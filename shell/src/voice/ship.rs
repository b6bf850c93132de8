//! Batches brought to the control plane, packed on the way where the request says so.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use meshward_core::{
    agent::{Answer, Failure, Input, Lost},
    ids::CallId,
    wire::http::{Body, Headers, Request},
};
use tokio::sync::mpsc;

use crate::{chance, client::Client, gzip::Packer};

/// What a request says whose body is to be packed.
const ENCODING: (&str, &str) = ("content-encoding", "gzip");

/// The way to the control plane.
#[derive(Debug)]
pub(crate) struct Ship {
    facts: mpsc::Sender<Input>,
    client: Client,
    packer: Arc<Mutex<Packer>>,
}

impl Ship {
    pub(crate) fn new(facts: mpsc::Sender<Input>, client: Client) -> Self {
        Self { facts, client, packer: Arc::default() }
    }

    pub(crate) fn begin(
        &self,
        call: CallId,
        request: Request,
        (timeout, answer_max): (Duration, usize),
    ) {
        let (client, facts) = (self.client.clone(), self.facts.clone());
        let packer = Arc::clone(&self.packer);
        tokio::spawn(async move {
            let answer = match packed(request, packer).await {
                Some(request) => client.send(request, timeout, answer_max).await,
                None => Answer::Failed(Lost::from(Failure::Unreachable)),
            };
            // A closed inbox means that the agent has ended and wants no answer.
            let _ = facts.send(Input::Answered { call, answer, jitter: chance::jitter() }).await;
        });
    }
}

/// Packs the body beside the loop, which a batch of some megabytes would hold up; `None` where the runtime ends.
async fn packed(request: Request, packer: Arc<Mutex<Packer>>) -> Option<Request> {
    if !request.headers.iter().any(|header| header == ENCODING) {
        return Some(request);
    }
    let pack = move || {
        let Body::Whole(bytes) = &request.body else { return request };
        match packer.lock().unwrap_or_else(PoisonError::into_inner).pack(bytes) {
            Some(packed) => Request { body: Body::Whole(packed), ..request },
            None => plain(request),
        }
    };
    tokio::task::spawn_blocking(pack).await.ok()
}

/// The request without its promise to be packed.
fn plain(request: Request) -> Request {
    let mut headers = Headers::new();
    let rest = request.headers.iter().filter(|header| *header != ENCODING);
    rest.for_each(|(name, value)| headers.push(name, value));
    Request { headers, ..request }
}
