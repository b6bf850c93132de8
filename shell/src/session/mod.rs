//! Listeners of sessions: one connection at a time is carried to the target, and every byte is counted.

mod carry;
mod counts;
mod listener;

use std::collections::BTreeMap;

use meshward_core::{
    agent::{Acted, Forward, Input, SessionFact, SessionOrder},
    ids::SessionId,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, JoinSet},
};

/// The sessions that are open, and where their facts are told. Dropped, it ends them all.
#[derive(Debug)]
pub struct Sessions {
    facts: mpsc::Sender<Input>,
    open: BTreeMap<SessionId, Open>,
}

#[derive(Debug)]
struct Open {
    close: Option<oneshot::Sender<core::time::Duration>>,
    task: AbortHandle,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Sessions {
    pub const fn new(facts: mpsc::Sender<Input>) -> Self {
        Self { facts, open: BTreeMap::new() }
    }

    /// Begins what is ordered; what comes of it is told.
    pub fn begin(&mut self, session: SessionId, order: SessionOrder) {
        self.open.retain(|_, open| !open.task.is_finished());
        match order {
            SessionOrder::Open(forward) => self.open(session, forward),
            SessionOrder::Close { within } => {
                let close = self.open.get_mut(&session).and_then(|open| open.close.take());
                // One that has ended has told so, or is about to.
                let _ = close.map(|close| close.send(within));
            }
        }
    }

    fn open(&mut self, session: SessionId, forward: Forward) {
        let (close, closing) = oneshot::channel();
        let told = Told { session: session.clone(), facts: self.facts.clone() };
        let task = tokio::spawn(run(forward, told, closing)).abort_handle();
        self.open.insert(session, Open { close: Some(close), task });
    }
}

/// Where the facts of one session are told.
#[derive(Clone, Debug)]
struct Told {
    session: SessionId,
    facts: mpsc::Sender<Input>,
}

impl Told {
    async fn tell(&self, fact: SessionFact) {
        let fact = Input::Acted(Acted::Session(self.session.clone(), fact));
        // A closed inbox means that the agent has ended.
        let _ = self.facts.send(fact).await;
    }
}

/// Runs one listener to its end, which is told whatever comes; a panic ends this session and nothing else.
async fn run(forward: Forward, told: Told, closing: oneshot::Receiver<core::time::Duration>) {
    let bound = match listener::bind(forward.listen).await {
        Ok(bound) => bound,
        Err(error) => return told.tell(SessionFact::Refused { reason: error.to_string() }).await,
    };
    told.tell(SessionFact::Opened { endpoint: bound.endpoint }).await;
    let counts = counts::Counts::default();
    let mut serving = JoinSet::new();
    serving.spawn(listener::serve(bound.listener, forward, counts.clone(), told.clone(), closing));
    // However it ended, the counts are what they are.
    let _ = serving.join_next().await;
    told.tell(SessionFact::Closed(counts.carried())).await;
}
