//! Carries out the agent's effects; decides nothing.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use meshward_core::{
    agent::{Act, Agent, Effect, Input, Level, Notice, Order, RunId, Settings, Stored, Stream},
    ids::CallId,
    time::Mono,
    wire::{http::Request, sse::Frame},
};
use tokio::sync::mpsc;
use tracing::{debug, error, info, warn};

use crate::{
    actions::Own,
    askers::Askers,
    chance,
    client::Client,
    drive::Outcome,
    hands::Hands,
    hooks::HooksDir,
    local::{Asked, Reply, watch::Watchers},
    measure::Measures,
    registration::RegistrationSources,
    service::Manager,
    store::{Store, Writer},
    voice::VoiceParts,
};

/// The hands of one agent.
#[derive(Debug)]
pub(crate) struct Performer {
    store: Arc<Mutex<Store>>,
    writer: Writer,
    client: Client,
    sources: RegistrationSources,
    facts: mpsc::Sender<Input>,
    hands: Hands,
    askers: Askers,
    watchers: Watchers,
    manager: Manager,
}

impl Performer {
    pub(crate) fn new(
        (store, writer): (Store, Writer),
        client: Client,
        sources: RegistrationSources,
        (own, hooks, measures, voice): (Own, HooksDir, Measures, VoiceParts),
        facts: mpsc::Sender<Input>,
    ) -> Self {
        Self {
            store: Arc::new(Mutex::new(store)),
            writer,
            hands: Hands::new(facts.clone(), client.clone(), (own, hooks, measures, voice)),
            client,
            sources,
            askers: Askers::new(facts.clone()),
            facts,
            watchers: Watchers::default(),
            manager: Manager::default(),
        }
    }

    /// Tells this service manager how the agent stands.
    pub(crate) fn telling(self, manager: Manager) -> Self {
        Self { manager, ..self }
    }

    /// Tells the service manager what follows from a whole round of the loop.
    pub(crate) fn passed(&mut self, agent: &Agent, settings: &Settings, now: Mono) {
        self.manager.passed(now, agent.round(settings, now, self.writer.is_alive()));
    }

    /// When the agent wants another round, or the service manager does.
    pub(crate) fn wakeup(&self, agent: &Agent) -> Option<Mono> {
        [agent.wakeup(), self.manager.wakeup()].into_iter().flatten().min()
    }

    /// Notes who asked, and makes it a fact.
    pub(crate) fn take_in(&mut self, asked: Asked) -> Input {
        self.askers.take_in(asked)
    }

    /// Carries out one effect; what takes long is begun and answered through the inbox.
    pub(crate) async fn perform(&mut self, effect: Effect) -> Outcome {
        match effect {
            Effect::Gather => self.gather(),
            Effect::Store(order) => return self.store(order).await,
            Effect::Keep { file, change } => {
                return self.writer.order(file, change).map_or(Outcome::Begun, Outcome::Known);
            }
            Effect::Send { call, request, timeout, answer_max } => {
                self.send(call, request, (timeout, answer_max))
            }
            Effect::Act(act) => self.act(act),
            Effect::Reply { call, response } => self.askers.reply(call, response.into()),
            Effect::Stream(Stream::Open { watcher, hello }) => self.open_stream(watcher, &hello),
            Effect::Stream(Stream::Send { to, frame }) => self.watchers.send(&to, &frame),
            Effect::Stream(Stream::Close) => self.watchers.close(),
            Effect::Tell(notice) => tell(&notice),
            Effect::Exit(exit) => return Outcome::Exited(exit),
        }
        Outcome::Begun
    }

    /// The sources may be slow, so nothing waits for them.
    fn gather(&self) {
        let (sources, facts) = (self.sources.clone(), self.facts.clone());
        tokio::spawn(async move {
            let gathered = sources.gather().await;
            // A closed inbox means that the agent has ended.
            let _ = facts.send(Input::Gathered(Box::new(gathered))).await;
        });
    }

    /// Finished before the next effect is begun, on a thread that may block.
    async fn store(&self, order: Order) -> Outcome {
        let kind = order.kind();
        let store = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || {
            store.lock().unwrap_or_else(PoisonError::into_inner).carry_out(order)
        });
        let stored = done.await.unwrap_or_else(|broken| Stored::Failed {
            order: kind,
            jitter: chance::jitter(),
            reason: broken.to_string(),
        });
        Outcome::Known(Input::Stored(stored))
    }

    fn send(&self, call: CallId, request: Request, (timeout, answer_max): (Duration, usize)) {
        let (client, facts) = (self.client.clone(), self.facts.clone());
        tokio::spawn(async move {
            let answer = client.send(request, timeout, answer_max).await;
            // A closed inbox means that the agent has ended and wants no answer.
            let _ = facts.send(Input::Answered { call, answer, jitter: chance::jitter() }).await;
        });
    }

    /// Whoever has ordered a run locally is watched while it goes on.
    fn act(&mut self, act: Act) {
        if let Act::Run { id: RunId::Local(asker), .. } = &act {
            self.askers.watch(*asker);
        }
        self.hands.begin(act);
    }

    fn open_stream(&mut self, watcher: CallId, hello: &Frame) {
        let (feed, absence) = self.watchers.open(watcher, hello);
        let facts = self.facts.clone();
        tokio::spawn(async move {
            // It brings nothing, and ends when the watcher is gone.
            let _ = absence.await;
            let _ = facts.send(Input::Left(watcher)).await;
        });
        self.askers.reply(watcher, Reply::Stream(feed));
    }
}

fn tell(notice: &Notice) {
    match notice.level {
        Level::Error => error!("{notice}"),
        Level::Warn => warn!("{notice}"),
        Level::Info => info!("{notice}"),
        Level::Debug => debug!("{notice}"),
    }
}
