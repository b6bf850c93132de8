//! One step of the agent, while it is being taken: each machine moves in its turn, and what it orders is passed on.

use alloc::{boxed::Box, string::ToString, vec::Vec};
use core::{mem, time::Duration};

use super::{
    Agent, Answer, DRAIN_MAX, Door, Effect, Ending, Exit, Life, Memory, OrderKind, Purpose,
    Question, Settings, StagedFile, Standing, Stored, execution, facts::Order, heartbeat, local,
    post, pull, register, rotation, scrub::Scrub, verdict,
};
use crate::{
    backoff::Jitter,
    ids::{CallId, ExecutionId},
    step::Step,
    time::{Mono, Now},
    wire::{
        call::Call,
        heartbeat::{HeartbeatRequest, NatSummary},
        http::Request,
        identity::Identity,
        json,
        rotation::{KeyRotateRequest, Receipt},
        snapshot::Snapshot,
        timestamp::Timestamp,
    },
};

pub(super) struct Turn<'s> {
    agent: Agent,
    effects: Vec<Effect>,
    settings: &'s Settings,
    now: Now,
}

impl<'s> Turn<'s> {
    pub(super) const fn new(agent: Agent, settings: &'s Settings, now: Now) -> Self {
        Self { agent, effects: Vec::new(), settings, now }
    }

    /// Ends the step, and the process where nothing is left to wait for.
    pub(super) fn done(mut self) -> Step<Agent, Effect> {
        if self.is_drained() {
            self.exit(Exit::Drained);
        }
        Step { state: self.agent, effects: self.effects }
    }

    fn is_drained(&self) -> bool {
        match self.agent.life {
            Life::Draining { until } => {
                let undecided = !self.agent.dispatch.is_idle()
                    || self.agent.registration.is_undecided()
                    || self.agent.rotation.is_committing();
                !undecided || until <= self.now.mono
            }
            Life::Working | Life::Over => false,
        }
    }

    pub(super) fn restarted(&mut self, memory: Box<Memory>) {
        self.agent.staged = memory.staged;
        self.registration(register::Input::Restarted(memory));
    }

    pub(super) fn stored(&mut self, stored: Stored) {
        match stored {
            Stored::KeyMade(key) => self.registration(register::Input::KeyMade(key)),
            Stored::Persisted => self.registration(register::Input::Persisted),
            Stored::Staged(key) => self.rotation(rotation::Input::Staged(key)),
            Stored::Committed => self.rotation(rotation::Input::Committed),
            Stored::Done => {}
            Stored::Failed { order, jitter, reason } => self.store_failed(order, jitter, reason),
        }
    }

    fn store_failed(&mut self, order: OrderKind, jitter: Jitter, reason: alloc::string::String) {
        match order {
            OrderKind::MakeKey => self.registration(register::Input::KeyFailed(reason)),
            OrderKind::Persist => {
                self.registration(register::Input::PersistFailed { reason, jitter })
            }
            OrderKind::Stage => self.rotation(rotation::Input::StageFailed { reason, jitter }),
            OrderKind::Commit => self.rotation(rotation::Input::CommitFailed { reason, jitter }),
            OrderKind::Discard => self.rotation(rotation::Input::DiscardFailed { reason }),
            OrderKind::SetAside | OrderKind::ForgetToken => {
                let text = alloc::format!("{order:?} failed, the work goes on: {reason}");
                self.effects.push(Effect::Tell(super::Notice::warn(text)));
            }
        }
    }

    /// Nothing that is told of an answer holds a secret, whatever the answer holds.
    pub(super) fn answered(&mut self, call: CallId, answer: Answer, jitter: Jitter) {
        let scrub = Scrub::of(self.agent.registration.token(), self.agent.identity.as_ref());
        self.judged(call, answer, jitter);
        scrub.effects(&mut self.effects);
    }

    fn judged(&mut self, call: CallId, answer: Answer, jitter: Jitter) {
        match self.agent.asked.remove(&call) {
            Some(Question::Callback { execution, status }) => {
                let verdict = verdict::callback(answer);
                self.dispatch(execution::Input::Answered { execution, status, verdict });
            }
            Some(Question::Heartbeat) => {
                self.heartbeat(heartbeat::Input::Answered(verdict::fetch(&answer)))
            }
            Some(Question::Pull) => {
                self.pull(pull::Input::Answered(Box::new(verdict::pull(&answer))))
            }
            Some(Question::Register) => {
                let verdict = Box::new(verdict::register(answer, self.now.wall));
                self.registration(register::Input::Answered { verdict, jitter });
            }
            Some(Question::Rotate(key)) => {
                let verdict = verdict::rotate(answer);
                self.rotation(rotation::Input::Answered { key, verdict, jitter });
            }
            None => {}
        }
    }

    pub(super) fn finished(&mut self, execution: ExecutionId, ending: Ending) {
        self.dispatch(execution::Input::Finished { execution, ending });
    }

    pub(super) fn asked(&mut self, call: CallId, door: Door, request: &Request) {
        let shelf = local::Shelf {
            view: &self.agent.view,
            readiness: self.agent.readiness(),
            status: self.agent.status(self.now),
        };
        let response = local::answer(&shelf, door, request);
        self.effects.push(Effect::Reply { call, response });
    }

    /// Begins the end: nothing new is sent but what finishes what is under way.
    pub(super) fn drain(&mut self) {
        if self.agent.life == Life::Working {
            self.agent.life = Life::Draining { until: self.now.mono.after(DRAIN_MAX) };
            self.heartbeat(heartbeat::Input::Quieted);
            self.pull(pull::Input::Quieted);
            self.dispatch(execution::Input::Draining);
        }
    }

    pub(super) fn ticked(&mut self) {
        self.registration(register::Input::Ticked);
        self.heartbeat(heartbeat::Input::Ticked);
        self.pull(pull::Input::Ticked);
        self.rotation(rotation::Input::Ticked);
        self.dispatch(execution::Input::Ticked);
    }

    pub(super) fn registration(&mut self, input: register::Input) {
        let step = mem::take(&mut self.agent.registration).step(
            self.settings.max_retry_duration,
            self.now,
            input,
        );
        self.agent.registration = step.state;
        for effect in step.effects {
            match effect {
                register::Effect::Gather => self.gather(),
                register::Effect::Store(order) => self.effects.push(Effect::Store(order)),
                register::Effect::Post(request) => {
                    self.send(Question::Register, &Call::Register, json::encode(&request), None);
                }
                register::Effect::Arm(identity) => self.arm(*identity),
                register::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
                register::Effect::Exit(exit) => self.exit(exit),
            }
        }
    }

    /// Begins afresh: a key that was staged for an earlier identity is gone with it.
    fn gather(&mut self) {
        self.agent.staged = StagedFile::Missing;
        self.effects.push(Effect::Gather);
    }

    fn arm(&mut self, identity: Identity) {
        let (node_id, mesh_ip) = (identity.file.node_id.clone(), identity.file.mesh_ip.clone());
        let staged = mem::take(&mut self.agent.staged);
        self.agent.identity = Some(identity);
        if self.settings.purpose == Purpose::Register {
            return self.exit(Exit::Registered { node_id, mesh_ip });
        }
        if self.agent.life == Life::Working {
            self.heartbeat(heartbeat::Input::Armed);
            self.pull(pull::Input::Armed);
            self.rotation(rotation::Input::Armed(staged));
        }
    }

    fn heartbeat(&mut self, input: heartbeat::Input) {
        let step = mem::take(&mut self.agent.heartbeat).step(
            self.settings.heartbeat_interval,
            self.now,
            input,
        );
        self.agent.heartbeat = step.state;
        for effect in step.effects {
            match effect {
                heartbeat::Effect::Post => self.post_heartbeat(),
                heartbeat::Effect::Reconcile => self.pull(pull::Input::Triggered),
                heartbeat::Effect::RotateKeys => {
                    self.rotation(rotation::Input::Signalled(rotation::Source::Heartbeat));
                }
                heartbeat::Effect::Admitted => self.agent.standing = Standing::Admitted,
                heartbeat::Effect::Unauthorized => self.unauthorized(),
                heartbeat::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    fn post_heartbeat(&mut self) {
        let request = HeartbeatRequest {
            client_now: Timestamp::from(self.now.wall),
            binary_checksum: self.settings.binary_checksum,
            binary_version: self.settings.binary_version.clone(),
            nat_summary: NatSummary::default(),
        };
        let call = Call::Heartbeat { node: self.node() };
        self.send(Question::Heartbeat, &call, json::encode(&request), None);
    }

    fn pull(&mut self, input: pull::Input) {
        let step =
            mem::take(&mut self.agent.pull).step(self.settings.reconcile_interval, self.now, input);
        self.agent.pull = step.state;
        for effect in step.effects {
            match effect {
                pull::Effect::Fetch => {
                    let call = Call::State { node: self.node() };
                    self.send(Question::Pull, &call, Vec::new(), None);
                }
                pull::Effect::Pulled { asked, snapshot } => self.pulled(asked, *snapshot),
                pull::Effect::Admitted => self.agent.standing = Standing::Admitted,
                pull::Effect::Unauthorized => self.unauthorized(),
                pull::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    /// Executions first, then what is compared with what is known.
    fn pulled(&mut self, asked: Mono, snapshot: Snapshot) {
        self.dispatch(execution::Input::Pulled { asked, entries: snapshot.executions });
        self.agent.view = mem::take(&mut self.agent.view).refreshed(self.now, snapshot.state);
    }

    fn rotation(&mut self, input: rotation::Input) {
        let step = mem::take(&mut self.agent.rotation).step(self.now, input);
        self.agent.rotation = step.state;
        for effect in step.effects {
            match effect {
                rotation::Effect::Stage => self.effects.push(Effect::Store(Order::Stage)),
                rotation::Effect::Post(key) => self.post_key(key),
                rotation::Effect::Commit(receipt) => self.commit(receipt),
                rotation::Effect::Discard => self.effects.push(Effect::Store(Order::Discard)),
                rotation::Effect::Reconcile => self.pull(pull::Input::Triggered),
                rotation::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    fn post_key(&mut self, key: crate::wire::grammar::PublicKey) {
        let body = json::encode(&KeyRotateRequest { new_public_key: key });
        self.send(Question::Rotate(key), &Call::RotateKeys, body, None);
    }

    fn commit(&mut self, receipt: Option<Receipt>) {
        let Some(identity) = &mut self.agent.identity else { return };
        identity.file.last_rotation = receipt.or_else(|| identity.file.last_rotation.take());
        self.effects.push(Effect::Store(Order::Commit(Box::new(identity.file.clone()))));
    }

    fn dispatch(&mut self, input: execution::Input) {
        let step =
            mem::take(&mut self.agent.dispatch).step(&self.settings.actions, self.now, input);
        self.agent.dispatch = step.state;
        for effect in step.effects {
            match effect {
                execution::Effect::Post { execution, callback, timeout } => {
                    let call =
                        Call::Execution { node: self.node(), execution: execution.0.clone() };
                    let question = Question::Callback { execution, status: callback.status };
                    self.send(question, &call, json::encode(&callback), timeout);
                }
                execution::Effect::Run { execution, run } => {
                    self.effects.push(Effect::Run { execution, run })
                }
                execution::Effect::Cancel(execution) => {
                    self.effects.push(Effect::Cancel { execution })
                }
                execution::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    fn unauthorized(&mut self) {
        self.agent.standing = self.agent.standing.refused(self.now.mono);
    }

    fn node(&self) -> alloc::string::String {
        self.agent.identity.as_ref().map(|identity| identity.node.to_string()).unwrap_or_default()
    }

    /// Asks a question; its answer comes back with the id it is given here.
    fn send(&mut self, question: Question, call: &Call, body: Vec<u8>, timeout: Option<Duration>) {
        let identity = self.agent.identity.as_ref().filter(|_| *call != Call::Register);
        let request = post::request(self.settings, call, body, identity);
        let timeout =
            timeout.unwrap_or(self.settings.request_timeout).min(self.settings.request_timeout);
        self.agent.last_call = self.agent.last_call.next();
        self.agent.asked.insert(self.agent.last_call, question);
        self.effects.push(Effect::Send { call: self.agent.last_call, request, timeout });
    }

    fn exit(&mut self, exit: Exit) {
        self.agent.life = Life::Over;
        self.effects.push(Effect::Exit(exit));
    }
}
