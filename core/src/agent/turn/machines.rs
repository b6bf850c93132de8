//! Each machine moves, and what it orders is passed on.

use alloc::{
    boxed::Box,
    string::{String, ToString as _},
    vec::Vec,
};
use core::mem;

use super::Turn;
use crate::{
    agent::{
        device, execution,
        facts::{Act, Effect, Exit, Order, Purpose, RunId, StagedFile},
        heartbeat,
        life::{Life, Question},
        pull, register, reports, rotation,
        standing::{self, Standing},
        sync, voice,
    },
    wire::{
        call::Call,
        grammar::PublicKey,
        heartbeat::HeartbeatRequest,
        identity::Identity,
        json,
        rotation::{KeyRotateRequest, Receipt},
        timestamp::Timestamp,
    },
};

impl Turn<'_> {
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
                register::Effect::Arm(identity) => {
                    self.agent.standing = Standing::default();
                    self.arm(*identity);
                }
                register::Effect::Pause => self.pause(),
                register::Effect::Rearm => self.rearm(),
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

    pub(super) fn arm(&mut self, identity: Identity) {
        let (node_id, mesh_ip) = (identity.file.node_id.clone(), identity.file.mesh_ip.clone());
        let staged = mem::take(&mut self.agent.staged);
        self.agent.identity = Some(identity);
        if self.settings.purpose == Purpose::Register {
            return self.exit(Exit::Registered { node_id, mesh_ip });
        }
        self.recall(node_id.clone());
        self.reports(reports::Input::Armed { node: node_id });
        if self.agent.life == Life::Working {
            self.sync(sync::Input::Armed);
            self.heartbeat(heartbeat::Input::Armed);
            self.pull(pull::Input::Armed);
            self.rotation(rotation::Input::Armed(staged));
            self.voice(voice::Input::Armed);
            self.arm_senses();
        }
    }

    pub(super) fn node(&self) -> String {
        self.agent.identity.as_ref().map(|identity| identity.node.to_string()).unwrap_or_default()
    }

    pub(super) fn heartbeat(&mut self, input: heartbeat::Input) {
        let step = mem::take(&mut self.agent.heartbeat).step(
            self.settings.heartbeat_interval,
            self.now,
            input,
        );
        self.agent.heartbeat = step.state;
        for effect in step.effects {
            match effect {
                heartbeat::Effect::Post => {
                    self.post_heartbeat();
                    self.publish();
                }
                heartbeat::Effect::Reconcile => self.pull(pull::Input::Triggered),
                heartbeat::Effect::RotateKeys => {
                    self.rotation(rotation::Input::Signalled(rotation::Source::Heartbeat));
                }
                heartbeat::Effect::Admitted => self.standing(standing::Input::Admitted),
                heartbeat::Effect::Unauthorized => self.standing(standing::Input::Unauthorized),
                heartbeat::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    fn post_heartbeat(&mut self) {
        let request = HeartbeatRequest {
            client_now: Timestamp::from(self.now.wall),
            binary_checksum: self.settings.binary_checksum,
            binary_version: self.settings.binary_version.clone(),
            nat_summary: self.nat_summary(),
        };
        let call = Call::Heartbeat { node: self.node() };
        self.send(Question::Heartbeat, &call, json::encode(&request), None);
    }

    pub(super) fn pull(&mut self, input: pull::Input) {
        let step =
            mem::take(&mut self.agent.pull).step(self.settings.reconcile_interval, self.now, input);
        self.agent.pull = step.state;
        for effect in step.effects {
            match effect {
                pull::Effect::Fetch => {
                    let call = Call::State { node: self.node() };
                    self.send(Question::Pull, &call, Vec::new(), None);
                }
                pull::Effect::Pulled { asked, pulled } => self.pulled(asked, *pulled),
                pull::Effect::Admitted => self.standing(standing::Input::Admitted),
                pull::Effect::Unauthorized => self.standing(standing::Input::Unauthorized),
                pull::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    pub(super) fn rotation(&mut self, input: rotation::Input) {
        let step = mem::take(&mut self.agent.rotation).step(self.now, input);
        self.agent.rotation = step.state;
        for effect in step.effects {
            match effect {
                rotation::Effect::Stage => self.effects.push(Effect::Store(Order::Stage)),
                rotation::Effect::Post(key) => self.post_key(key),
                rotation::Effect::Commit(receipt) => self.commit(receipt),
                rotation::Effect::Discard => self.effects.push(Effect::Store(Order::Discard)),
                rotation::Effect::Shelve => self.effects.push(Effect::Store(Order::Shelve)),
                rotation::Effect::Install(key) => self.device(device::Input::Committed(key)),
                rotation::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    pub(super) fn device(&mut self, input: device::Input) {
        let step = self.agent.device.step(self.now, input);
        self.agent.device = step.state;
        for effect in step.effects {
            match effect {
                device::Effect::Install(key) => self.act(Act::Install { key }),
                device::Effect::Reconcile => self.pull(pull::Input::Triggered),
                device::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    pub(super) fn act(&mut self, act: Act) {
        self.effects.push(Effect::Act(act));
    }

    fn post_key(&mut self, key: PublicKey) {
        let body = json::encode(&KeyRotateRequest { new_public_key: key });
        self.send(Question::Rotate(key), &Call::RotateKeys, body, None);
    }

    fn commit(&mut self, receipt: Option<Receipt>) {
        let Some(identity) = &mut self.agent.identity else { return };
        identity.file.last_rotation = receipt.or_else(|| identity.file.last_rotation.take());
        self.effects.push(Effect::Store(Order::Commit(Box::new(identity.file.clone()))));
    }

    pub(super) fn dispatch(&mut self, input: execution::Input) {
        let node = self.node();
        let kit = execution::Kit {
            settings: &self.settings.actions,
            hooks: &self.agent.hooks,
            node: &node,
        };
        let step = mem::take(&mut self.agent.dispatch).step(kit, self.now, input);
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
                    self.did_begin(&execution, &run);
                    self.begin(RunId::Execution(execution), run);
                }
                execution::Effect::Upload { execution, url, bytes, timeout } => {
                    let call = self.ask(Question::Upload(execution));
                    self.act(Act::Upload { call, url, bytes, timeout });
                }
                execution::Effect::Cancel(execution) => {
                    self.act(Act::Cancel(RunId::Execution(execution)));
                }
                execution::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }
}
