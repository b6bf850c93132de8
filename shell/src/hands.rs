//! What the agent orders that takes its time: runs, the tunnel device and sessions. Begun here, answered through the inbox.

use std::{collections::BTreeMap, sync::Arc};

use meshward_core::{
    agent::{Act, Acted, Captured, Cause, Ending, Input, Run, RunId},
    wire::grammar::PublicKey,
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    actions,
    session::Sessions,
    tunnel::{NoTunnel, Tunnel},
};

/// What has been begun, and where its end is told.
#[derive(Debug)]
pub(crate) struct Hands {
    facts: mpsc::Sender<Input>,
    tunnel: Arc<dyn Tunnel>,
    runs: BTreeMap<RunId, oneshot::Sender<()>>,
    sessions: Sessions,
}

impl Hands {
    pub(crate) fn new(facts: mpsc::Sender<Input>) -> Self {
        let sessions = Sessions::new(facts.clone());
        Self { facts, tunnel: Arc::new(NoTunnel), runs: BTreeMap::new(), sessions }
    }

    pub(crate) fn begin(&mut self, act: Act) {
        match act {
            Act::Run { id, run } => self.run(id, run),
            Act::Cancel(id) => drop(self.runs.remove(&id)),
            Act::Install { key } => self.install(key),
            Act::Session(session, order) => self.sessions.begin(session, order),
        }
    }

    fn run(&mut self, id: RunId, run: Run) {
        let (cancel, cancelled) = oneshot::channel();
        self.runs.retain(|_, running| !running.is_closed());
        self.runs.insert(id.clone(), cancel);
        let facts = self.facts.clone();
        tokio::spawn(async move {
            let task = tokio::spawn(actions::run(run, cancelled));
            let ending = task.await.unwrap_or_else(|broken| broke(&broken.to_string()));
            // A closed inbox means that the agent has ended.
            let _ = facts.send(Input::Acted(Acted::Finished { id, ending })).await;
        });
    }

    fn install(&self, key: PublicKey) {
        let (tunnel, facts) = (Arc::clone(&self.tunnel), self.facts.clone());
        tokio::spawn(async move {
            let done = tokio::task::spawn_blocking(move || tunnel.install(key)).await;
            let outcome = done.unwrap_or_else(|broken| Err(broken.to_string()));
            let _ = facts.send(Input::Acted(Acted::Installed { key, outcome })).await;
        });
    }
}

/// An action that panicked ends its run and nothing else.
fn broke(reason: &str) -> Ending {
    Ending {
        cause: Cause::Broken(format!("the action broke down: {reason}")),
        stdout: Captured::default(),
        stderr: Captured::default(),
    }
}
