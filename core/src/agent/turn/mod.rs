//! One step of the agent, while it is being taken: each machine moves in its turn, and what it orders is passed on.

mod answers;
mod catalogue;
mod ending;
mod events;
mod integrity;
mod keeping;
mod local;
mod local_runs;
mod machines;
mod manifest;
mod nat;
mod reconcile;
mod rejoin;
mod reload;
mod reporting;
mod secret_reads;
mod senses;
mod sessions;
mod spoilt;
mod verified;
mod voice;
mod watchers;

use alloc::{boxed::Box, vec::Vec};
use core::{mem, time::Duration};

use super::{
    Agent, Effect, Exit, Input, Memory, Question, Settings, deeds::Deed, device, execution,
    heartbeat, hooks, post, pull, readiness::Readiness, register, rotation, secrets, sync,
};
use crate::{
    ids::CallId,
    step::Step,
    time::Now,
    wire::{call::Call, http::Request},
};

pub(super) struct Turn<'s> {
    agent: Agent,
    effects: Vec<Effect>,
    settings: &'s Settings,
    now: Now,
    /// Before this step.
    was: Readiness,
}

impl<'s> Turn<'s> {
    pub(super) const fn new(agent: Agent, settings: &'s Settings, now: Now) -> Self {
        let was = agent.readiness();
        Self { agent, effects: Vec::new(), settings, now, was }
    }

    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Restarted(memory) => self.restarted(memory),
            Input::Gathered(gathered) => self.registration(register::Input::Gathered(gathered)),
            Input::Stored(stored) => self.stored(stored),
            Input::Kept { file, outcome } => self.kept(file, outcome),
            Input::Answered { call, answer, jitter } => self.answered(call, answer, jitter),
            Input::Acted(acted) => self.acted(acted),
            Input::Asked { call, caller, request } => self.asked(call, &caller, &request),
            Input::Left(asker) => self.left(asker),
            Input::Broke(door) => self.broke(door),
            Input::Retimed => self.retimed(),
            Input::Draining => self.drain(),
            Input::Ticked => self.ticked(),
        }
    }

    /// Ends the step, and the process where nothing is left to wait for.
    pub(super) fn done(mut self) -> Step<Agent, Effect> {
        self.tell_readiness();
        if self.is_drained() {
            self.exit(Exit::Drained);
        }
        self.agent.counts.told(&self.effects);
        Step { state: self.agent, effects: self.effects }
    }

    fn restarted(&mut self, mut memory: Box<Memory>) {
        self.agent.started = self.now.mono;
        self.agent.staged = memory.staged;
        let told = mem::take(&mut memory.findings);
        self.effects.extend(told.iter().map(|finding| Effect::Tell(finding.notice())));
        self.found(mem::take(&mut memory.state));
        self.start_hooks();
        self.did(Deed::Started);
        self.registration(register::Input::Restarted(memory));
        self.orphan();
    }

    fn ticked(&mut self) {
        self.registration(register::Input::Ticked);
        self.heartbeat(heartbeat::Input::Ticked);
        self.pull(pull::Input::Ticked);
        self.rotation(rotation::Input::Ticked);
        self.device(device::Input::Ticked);
        self.dispatch(execution::Input::Ticked);
        self.hooks(hooks::Input::Ticked);
        self.secrets(secrets::Input::Ticked);
        self.sessions(super::sessions::Input::Ticked);
        self.sync(sync::Input::Ticked);
        self.voice(super::voice::Input::Ticked);
        self.tick_senses();
    }

    /// Asks a question; its answer comes back with the id it is given here.
    pub(super) fn send(
        &mut self,
        question: Question,
        call: &Call,
        body: Vec<u8>,
        timeout: Option<Duration>,
    ) {
        let request = self.request(call, body);
        self.send_request(question, call, request, timeout);
    }

    pub(super) fn request(&self, call: &Call, body: Vec<u8>) -> Request {
        let identity = self.agent.identity.as_ref().filter(|_| *call != Call::Register);
        post::request(self.settings, call, body, identity)
    }

    /// Notes a question that is about to be asked.
    pub(super) fn ask(&mut self, question: Question) -> CallId {
        self.agent.last_call = self.agent.last_call.next();
        self.agent.asked.insert(self.agent.last_call, question);
        self.agent.last_call
    }

    pub(super) fn send_request(
        &mut self,
        question: Question,
        call: &Call,
        request: Request,
        timeout: Option<Duration>,
    ) {
        let answer_max = post::answer_max(call);
        let timeout =
            timeout.unwrap_or(self.settings.request_timeout).min(self.settings.request_timeout);
        let call = self.ask(question);
        self.effects.push(Effect::Send { call, request, timeout, answer_max });
    }
}
