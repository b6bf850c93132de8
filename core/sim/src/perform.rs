//! The agent's hands in the simulated world: one step, then its effects in order, with a crash between any two.

use std::time::Duration;

use meshward_core::{
    agent::{Effect, Exit, Gathered, Input, Order, Stored, TokenSources},
    backoff::Jitter,
    ids::{CallId, ExecutionId},
    plane::site,
    secret::Secret,
    wire::{
        grammar::{PublicKey, Uuid},
        http::{Request, Response},
    },
};

use crate::{
    codec,
    net::{Caller, Fate, Message, Passage},
    world::World,
};

impl World {
    /// One step of the agent, and its effects in order; a crash may fall between any two of them.
    pub(crate) fn feed(&mut self, input: Input) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let Some(agent) = self.agent.take() else { return };
            let step = agent.step(&self.settings, self.clock.agent(), input);
            self.agent = Some(step.state);
            for effect in step.effects {
                if self.crashes() {
                    return self.die();
                }
                match self.perform(effect) {
                    Some(known) => inputs.insert(0, known),
                    None if self.agent.is_none() => return,
                    None => {}
                }
            }
        }
    }

    pub(crate) fn crashes(&mut self) -> bool {
        match &mut self.crash_behind {
            Some(0) => {
                self.summary.crashes += 1;
                true
            }
            Some(behind) => {
                *behind -= 1;
                false
            }
            None => false,
        }
    }

    pub(crate) fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Gather => return Some(self.gathered()),
            Effect::Store(order) => return self.store(&order),
            Effect::Send { call, request, timeout } => self.call(call, &request, timeout),
            Effect::Run { execution, .. } => self.run_action(execution),
            Effect::Cancel { execution } => {
                self.runs.insert(execution.clone(), self.clock.mono());
                self.cancelled.insert(execution);
            }
            Effect::Reply { .. } | Effect::Tell(_) => {}
            Effect::Exit(exit) => self.exited(&exit),
        }
        None
    }

    pub(crate) fn exited(&mut self, exit: &Exit) {
        self.checks.exited(exit);
        self.die();
    }

    pub(crate) fn gathered(&mut self) -> Input {
        let token = Some(Secret::new("psb_dev_sim_node_aaaaaaaaaaaaaaaaaaaa".to_owned()));
        Input::Gathered(Box::new(Gathered {
            token: TokenSources { value: token, ..TokenSources::default() },
            project_id: site::PROJECT_ID.to_owned(),
            resource_handle: "sim-node".to_owned(),
            requested_resource_id: String::new(),
            nonce: Uuid::drawn(self.rng.bytes()),
        }))
    }

    pub(crate) fn store(&mut self, order: &Order) -> Option<Input> {
        let fresh = PublicKey::from_bytes(self.rng.bytes()).unwrap_or_else(|| self.spare_key());
        for write in self.disk.plan(order, fresh) {
            if self.failing_writes > 0 {
                self.failing_writes -= 1;
                let reason = "no space left".to_owned();
                let jitter = Jitter::NONE;
                return Some(Input::Stored(Stored::Failed { order: order.kind(), jitter, reason }));
            }
            if self.crashes() {
                self.die();
                return None;
            }
            self.disk.write(write);
        }
        Some(Input::Stored(self.disk.done(order)))
    }

    /// Sixteen zero bytes in a row are not to be expected, and still no reason to stop.
    pub(crate) fn spare_key(&self) -> PublicKey {
        PublicKey::from_bytes([1; 32]).expect("it is not all zero")
    }

    pub(crate) fn call(&mut self, call: CallId, request: &Request, timeout: Duration) {
        let caller = Caller { life: self.life, call };
        let fate = self.faults.fate(&mut self.rng);
        self.open.insert(call);
        self.checks.sent(call, request);
        self.net.put(self.clock.mono().after(timeout), Message::TimedOut { caller });
        let bytes = codec::request_bytes(request);
        match fate.instead {
            Some(status) => {
                let bytes = codec::response_bytes(&Response::empty(status));
                self.send(fate.reply, |_| Message::Reply { caller, bytes: bytes.clone() });
            }
            None => self.send(fate.request, |fate| Message::Request {
                caller,
                bytes: bytes.clone(),
                fate,
            }),
        }
    }

    /// Puts a message on its way; a second arrival draws a fate of its own.
    pub(crate) fn send(&mut self, passage: Passage, message: impl Fn(Fate) -> Message) {
        let now = self.clock.mono();
        let arrivals = match passage {
            Passage::Lost => Vec::new(),
            Passage::After(delay) => vec![delay],
            Passage::Twice(first, second) => vec![first, second],
        };
        for delay in arrivals {
            let fate = self.faults.fate(&mut self.rng);
            self.net.put(now.after(delay), message(fate));
        }
    }

    pub(crate) fn run_action(&mut self, execution: ExecutionId) {
        self.summary.runs += 1;
        self.checks.began(&execution);
        let takes = Duration::from_secs(self.rng.below(90));
        self.runs.insert(execution, self.clock.mono().after(takes));
    }
}
