//! An agent's hands in the simulated world: one step, then its effects in order, with a crash between any two.

use std::{collections::VecDeque, time::Duration};

use meshward_core::{
    agent::{
        Agent, Change, Effect, Exit, Gathered, Input, Order, OrderKind, StateFile, Stored,
        TokenSources,
    },
    backoff::Jitter,
    ids::CallId,
    plane::site,
    secret::Secret,
    step::Step,
    time::Now,
    wire::{
        grammar::{PublicKey, Uuid},
        http::{Request, Response},
    },
};

use crate::{
    checks::Sending,
    codec,
    journal::Entry,
    net::{Caller, Fate, Message},
    node::Place,
    route::{Route, Said},
    script::Token,
    told,
    world::World,
};

impl World {
    /// One step of an agent, and its effects in order; a crash may fall between any two of them.
    pub(crate) fn feed(&mut self, at: usize, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let Some(agent) = self.nodes[at].agent.take() else { return };
            let now = self.node_now(at);
            let heard = self.checks.hears((at, &self.nodes[at]), &input, now, &self.keyring);
            let step = agent.step(&self.settings[at], now, input);
            self.account(at, &step);
            self.nodes[at].agent = Some(step.state);
            if let Some(genuine) = heard {
                self.summary.reactions +=
                    self.checks.reacts((at, genuine), &step.effects, &self.keyring);
            }
            for effect in step.effects {
                if self.crashes(at, Place::Effect) {
                    return;
                }
                inputs.extend(self.perform(at, effect));
                if self.nodes[at].agent.is_none() {
                    return;
                }
            }
        }
    }

    /// The numbers of the voice are looked at behind each step.
    fn account(&mut self, at: usize, step: &Step<Agent, Effect>) {
        if self.script.voice.is_some() {
            let exits = step.effects.iter().any(|effect| matches!(effect, Effect::Exit(_)));
            let figures = step.state.voice_figures(&self.settings[at]);
            self.checks.moved(at, &figures, exits);
        }
    }

    /// What the clocks of a node show.
    pub(crate) fn node_now(&self, at: usize) -> Now {
        self.nodes[at].now(self.clock.mono())
    }

    /// Lets the agent die here if that is its lot.
    pub(crate) fn crashes(&mut self, at: usize, place: Place) -> bool {
        let crashes = self.nodes[at].crashes_at(place);
        if crashes {
            self.summary.crashes += 1;
            self.die(at);
        }
        crashes
    }

    fn perform(&mut self, at: usize, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Gather => return Some(self.gathered(at)),
            Effect::Store(order) => return self.store(at, &order),
            Effect::Keep { file, change } => return self.keep(at, file, change),
            Effect::Send { call, request, timeout, .. } => self.send(at, call, (&request, timeout)),
            Effect::Act(act) => return self.act(at, act),
            Effect::Reply { call, response } => self.replied(at, call, response.status),
            Effect::Stream(_) => {}
            Effect::Tell(notice) => self.checks.told(at, &notice, self.node_now(at).mono),
            Effect::Exit(exit) => self.exit(at, &exit),
        }
        None
    }

    fn exit(&mut self, at: usize, exit: &Exit) {
        self.note(Entry::Exited { node: at, reason: exit.to_string() });
        self.checks.exited(at, exit, self.nodes[at].spending);
        self.die(at);
    }

    fn gathered(&mut self, at: usize) -> Input {
        self.nodes[at].spending = self.nodes[at].token;
        let value = match self.nodes[at].token {
            Token::Good => Some("psb_dev_sim_node_aaaaaaaaaaaaaaaaaaaa"),
            Token::Consumed => Some("psb_dev_sim_node_aaaaaaaaaaaaconsumed"),
            Token::None => None,
        };
        let value = value.map(|token| Secret::new(token.to_owned()));
        Input::Gathered(Box::new(Gathered {
            token: TokenSources { value, ..TokenSources::default() },
            project_id: site::PROJECT_ID.into(),
            resource_handle: "sim-node".into(),
            requested_resource_id: "".into(),
            nonce: Ok(Uuid::drawn(self.rng.bytes())),
        }))
    }

    fn store(&mut self, at: usize, order: &Order) -> Option<Input> {
        let fresh = self.fresh_key();
        let kind = order.kind();
        let failed = |jitter: Jitter, reason: &str| {
            Some(Input::Stored(Stored::Failed { order: kind, jitter, reason: reason.to_owned() }))
        };
        let writes = match self.nodes[at].disk.plan(order, fresh) {
            Ok(writes) => writes,
            Err(reason) => return failed(self.jitter(), reason),
        };
        if kind == OrderKind::Retire {
            let node = &mut self.nodes[at];
            node.abandoned = node.open.keys().copied().collect();
            let now = self.node_now(at).mono;
            self.checks.retires(at, self.nodes[at].spending, now);
        }
        for (number, write) in writes.into_iter().enumerate() {
            if self.crashes(at, Place::Write(kind, number as u32)) {
                return None;
            }
            let (node, file) = (at, write.file());
            if self.nodes[at].failing_writes > 0 {
                self.nodes[at].failing_writes -= 1;
                self.note(Entry::Refused { node, file });
                return failed(self.jitter(), "no space left");
            }
            self.nodes[at].disk.write(write);
            self.note(Entry::Wrote { node, file });
            if kind == OrderKind::Restore {
                // It is whole before the last of these, behind which the process may die.
                self.checks.restored(&self.nodes[at].disk);
            }
        }
        Some(Input::Stored(self.nodes[at].disk.done(order)))
    }

    /// The disk takes a change at once; a crash may fall between it and its answer.
    fn keep(&mut self, at: usize, file: StateFile, change: Change) -> Option<Input> {
        let node = &mut self.nodes[at];
        let is_kept = node.failing_writes == 0;
        if is_kept {
            node.disk.keep(&file, change);
            self.checks.kept(at, node, &file);
        } else {
            node.failing_writes -= 1;
        }
        self.note(Entry::Kept { node: at, file: file.to_string(), is_kept });
        if self.crashes(at, Place::Kept) {
            return None;
        }
        let outcome = if is_kept { Ok(()) } else { Err("no space left".to_owned()) };
        Some(Input::Kept { file, outcome })
    }

    fn fresh_key(&mut self) -> PublicKey {
        PublicKey::from_bytes(self.rng.bytes()).expect("32 drawn bytes are not all zero")
    }

    pub(crate) const fn jitter(&mut self) -> Jitter {
        Jitter::drawn(self.rng.next() as u16)
    }

    pub(crate) fn send(
        &mut self,
        at: usize,
        call: CallId,
        (request, timeout): (&Request, Duration),
    ) {
        let said = Said::read(request);
        let route = said.route();
        let fate = self.fate(route);
        let caller = Caller { node: at, life: self.nodes[at].life, call };
        let node = &self.nodes[at];
        let now = self.node_now(at);
        self.checks.sent(&Sending { caller, said: &said, fate, node, now });
        self.note(Entry::Sent { node: at, route });
        self.nodes[at].open.insert(call, said);
        self.net.put(self.clock.mono().after(timeout), Message::TimedOut { caller });
        let refused = (self.nodes[at].revoked && route != Route::Register).then_some(401);
        let too_large = told::is_too_large(request).then_some(413);
        match fate.instead.or(refused).or(too_large) {
            Some(status) => self.answer_instead((caller, route), fate, status),
            None => self.put_request(caller, fate, codec::request_bytes(request)),
        }
        self.crashes(at, Place::Sent(route));
    }

    /// The fate that the script names for the next call of a route, or one drawn by its faults.
    pub(crate) fn fate(&mut self, route: Route) -> Fate {
        let nth = self.calls.entry(route).or_default();
        *nth += 1;
        if let Some(status) = self.blocked.get(&route) {
            return Fate::instead(*status);
        }
        let named = self.script.fate(route, *nth);
        let fate = named.unwrap_or_else(|| self.faults.fate(&mut self.fates, route));
        if fate != Fate::PLAIN {
            self.met.push((route, *nth, fate));
        }
        fate
    }

    fn put_request(&mut self, caller: Caller, fate: Fate, bytes: Vec<u8>) {
        for delay in fate.request.arrivals() {
            let message = Message::Request { caller, bytes: bytes.clone(), reply: fate.reply };
            self.put(delay, message);
        }
    }

    fn answer_instead(&mut self, (caller, route): (Caller, Route), fate: Fate, status: u16) {
        let response = match (route.pipe(), status) {
            (Some(_), 400) => coded(status, "ingest_batch_malformed"),
            (Some(_), 501) => coded(status, "observability_ingest_not_provisioned"),
            _ => refusal(status, "reports_not_provisioned"),
        };
        let bytes = codec::response_bytes(&response);
        for delay in fate.reply.arrivals() {
            self.put(delay, Message::Reply { caller, bytes: bytes.clone() });
        }
    }

    pub(crate) fn put(&mut self, delay: u64, message: Message) {
        self.net.put(self.clock.mono().after(Duration::from_millis(delay)), message);
    }
}

/// What something between the two answers; its code tells what is not provided.
pub(crate) fn refusal(status: u16, missing: &str) -> Response {
    match status {
        400 => coded(status, "invalid_cursor"),
        429 => Response::empty(status).with("retry-after", "7"),
        501 => coded(status, missing),
        _ => Response::empty(status),
    }
}

fn coded(status: u16, code: &str) -> Response {
    Response {
        body: format!("{{\"code\":\"{code}\"}}").into_bytes(),
        ..Response::empty(status).with("content-type", "application/problem+json")
    }
}
