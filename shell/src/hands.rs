//! What the agent orders that takes its time: runs, uploads, looks at the hooks, the tunnel device, sessions, streams of
//! events and discoveries. Begun here, answered through the inbox.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use meshward_core::{
    agent::{Act, Acted, Bytes, Input, Run, RunId, Scan, Sight},
    ids::CallId,
    wire::{grammar::PublicKey, upload_url::UploadUrl},
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    actions::{self, Own, bounded::bounded},
    chance,
    client::Client,
    hooks::{self, HooksDir, Watch},
    measure::Measures,
    nat::Discoverer,
    session::Sessions,
    stream::Streams,
    tunnel::{NoTunnel, Tunnel},
    voice::{Voice, VoiceParts},
    weight,
};

/// How long a look at the hooks directory may take, or at the program and the host key.
const LOOK_MAX: Duration = Duration::from_secs(60);
const UNSEEN: &str = "it is not read within a minute, as from a disk that hangs";

/// What has been begun, and where its end is told.
#[derive(Debug)]
pub(crate) struct Hands {
    facts: mpsc::Sender<Input>,
    client: Client,
    tunnel: Arc<dyn Tunnel>,
    own: Arc<Own>,
    runs: BTreeMap<RunId, oneshot::Sender<()>>,
    hooks: HooksDir,
    measures: Measures,
    /// The watch that the last look has made.
    watch: Arc<Mutex<Option<Watch>>>,
    sessions: Sessions,
    streams: Streams,
    discoverer: Discoverer,
    voice: Voice,
}

impl Hands {
    pub(crate) fn new(
        facts: mpsc::Sender<Input>,
        client: Client,
        (own, hooks, measures, voice): (Own, HooksDir, Measures, VoiceParts),
    ) -> Self {
        let voice = Voice::new(facts.clone(), client.clone(), voice);
        let (own, watch) = (Arc::new(own), Arc::default());
        let (tunnel, runs) = (Arc::new(NoTunnel), BTreeMap::new());
        let sessions = Sessions::new(facts.clone());
        let streams = Streams::new(facts.clone(), client.clone());
        let discoverer = Discoverer::new(facts.clone());
        Self {
            facts,
            client,
            tunnel,
            own,
            runs,
            hooks,
            measures,
            watch,
            sessions,
            streams,
            discoverer,
            voice,
        }
    }

    pub(crate) fn begin(&mut self, act: Act) {
        match act {
            Act::Run { id, run } => self.run(id, run),
            Act::Upload { call, url, bytes, timeout } => self.upload(call, url, (bytes, timeout)),
            Act::Cancel(id) => drop(self.runs.remove(&id)),
            Act::Install { key } => self.install(key),
            Act::Scan => self.scan(),
            Act::Session(session, order) => self.sessions.begin(session, order),
            Act::Listen(stream, order) => self.streams.begin(stream, order),
            Act::Discover(discovery) => self.discoverer.begin(discovery),
            Act::Measure => self.measure(),
            Act::Voice(order) => self.voice.begin(order),
            Act::Weigh(asker) => self.weigh(asker),
        }
    }

    fn run(&mut self, id: RunId, run: Run) {
        let (cancel, cancelled) = oneshot::channel();
        self.runs.retain(|_, running| !running.is_closed());
        self.runs.insert(id.clone(), cancel);
        let (facts, own, hooks) = (self.facts.clone(), Arc::clone(&self.own), self.hooks.clone());
        tokio::spawn(async move {
            let task =
                tokio::spawn(async move { actions::run(run, (&own, hooks), cancelled).await });
            let ending = task.await.unwrap_or_else(actions::broke);
            // A closed inbox means that the agent has ended.
            let _ = facts.send(Input::Acted(Acted::Finished { id, ending })).await;
        });
    }

    /// One look at a time; the watch of the one before goes on until the next is made.
    fn scan(&self) {
        let (hooks, facts, watch) =
            (self.hooks.clone(), self.facts.clone(), Arc::clone(&self.watch));
        tokio::spawn(async move {
            let looked = bounded("hooks", LOOK_MAX, move || hooks::scan(&hooks)).await;
            let scan = match looked {
                Some(seen) => {
                    let (scan, next) = seen.watched(facts.clone());
                    *watch.lock().unwrap_or_else(PoisonError::into_inner) = next;
                    scan
                }
                None => Scan { sight: Sight::Failed(UNSEEN.to_owned()), watched: Ok(()) },
            };
            let _ = facts.send(Input::Acted(Acted::Scanned(Box::new(scan)))).await;
        });
    }

    fn measure(&self) {
        let (measures, facts) = (self.measures.clone(), self.facts.clone());
        tokio::spawn(async move {
            let looked = measures.clone();
            let taken = bounded("measure", LOOK_MAX, move || looked.take()).await;
            let measured = taken.unwrap_or_else(|| measures.untold(UNSEEN));
            let _ = facts.send(Input::Acted(Acted::Measured(Box::new(measured)))).await;
        });
    }

    fn weigh(&self, asker: CallId) {
        let facts = self.facts.clone();
        tokio::spawn(async move {
            let weighed = tokio::task::spawn_blocking(weight::process).await;
            let process = weighed.unwrap_or_default();
            let _ = facts.send(Input::Acted(Acted::Weighed { asker, process })).await;
        });
    }

    fn upload(&self, call: CallId, url: UploadUrl, (bytes, timeout): (Bytes, Duration)) {
        let (client, facts) = (self.client.clone(), self.facts.clone());
        tokio::spawn(async move {
            let answer = client.upload(&url, bytes, timeout).await;
            let _ = facts.send(Input::Answered { call, answer, jitter: chance::jitter() }).await;
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
