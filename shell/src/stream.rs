//! Streams of events: each is opened, told as it comes, and broken off when that is ordered.

use std::{collections::BTreeMap, time::Duration};

use meshward_core::{
    agent::{Acted, Bytes, Failure, Heard, Input, Listen, Lost},
    ids::CallId,
    wire::http::Request,
};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinError, JoinSet},
};

use crate::{chance, client::Client};

/// The streams that are asked for or open, and where it is told what they tell. Dropped, it ends them all.
#[derive(Debug)]
pub struct Streams {
    facts: mpsc::Sender<Input>,
    client: Client,
    open: BTreeMap<CallId, Open>,
}

#[derive(Debug)]
struct Open(AbortHandle);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Streams {
    pub const fn new(facts: mpsc::Sender<Input>, client: Client) -> Self {
        Self { facts, client, open: BTreeMap::new() }
    }

    /// Begins what is ordered; what a stream tells becomes facts, which wait for room in the inbox.
    pub fn begin(&mut self, stream: CallId, order: Listen) {
        self.open.retain(|_, open| !open.0.is_finished());
        match order {
            Listen::Open { request, timeout, answer_max } => {
                let told = Told { stream, facts: self.facts.clone() };
                let asked = (request, timeout, answer_max);
                let task = tokio::spawn(run(self.client.clone(), asked, told));
                self.open.insert(stream, Open(task.abort_handle()));
            }
            Listen::Close => drop(self.open.remove(&stream)),
        }
    }
}

/// Where it is told what one stream tells.
#[derive(Clone, Debug)]
struct Told {
    stream: CallId,
    facts: mpsc::Sender<Input>,
}

impl Told {
    async fn tell(&self, heard: Heard) {
        let (stream, jitter) = (self.stream, chance::jitter());
        // A closed inbox means that the agent has ended.
        let _ = self.facts.send(Input::Acted(Acted::Heard { stream, heard, jitter })).await;
    }
}

/// Follows one stream to its end, which is told whatever comes; a panic ends this stream and nothing else.
async fn run(client: Client, asked: (Request, Duration, usize), told: Told) {
    let mut following = JoinSet::new();
    following.spawn(follow(client, asked, told.clone()));
    match following.join_next().await {
        Some(Ok(End::Told)) | None => {}
        Some(Ok(End::Ended(lost))) => told.tell(Heard::Ended(lost)).await,
        Some(Err(broken)) => told.tell(Heard::Ended(Some(broke(&broken)))).await,
    }
}

fn broke(broken: &JoinError) -> Lost {
    Lost { failure: Failure::Unreachable, cause: broken.to_string() }
}

/// How a stream was over.
enum End {
    /// Its answer was no success, and is told.
    Told,
    Ended(Option<Lost>),
}

async fn follow(
    client: Client,
    (request, timeout, answer_max): (Request, Duration, usize),
    told: Told,
) -> End {
    let (head, feed) = match client.open(request, timeout, answer_max).await {
        Ok(opened) => opened,
        Err(lost) => return End::Ended(Some(lost)),
    };
    told.tell(Heard::Answered(head)).await;
    let Some(mut feed) = feed else { return End::Told };
    loop {
        match feed.next().await {
            Ok(Some(bytes)) => told.tell(Heard::Bytes(Bytes(bytes))).await,
            Ok(None) => return End::Ended(None),
            Err(lost) => return End::Ended(Some(lost)),
        }
    }
}
