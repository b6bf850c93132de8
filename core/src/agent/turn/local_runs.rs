//! Runs: begun wherever they are known, and told to whoever ordered them; those of programs of this node.

use alloc::{format, string::String};
use core::mem;

use super::Turn;
use crate::{
    agent::{
        builtins::{self, Known, Prepared},
        events, execution,
        facts::{Act, Caller, Door, Effect, Ending, Run, RunId},
        life::Life,
        local::{self, gate},
        local_runs,
        notice::Notice,
        pull, watch,
    },
    ids::CallId,
    wire::http::Request,
};

impl Turn<'_> {
    /// Begins a run, or ends it at once where the agent itself knows what it prints.
    pub(super) fn begin(&mut self, id: RunId, run: Run) {
        match builtins::prepare(&self.known(), run) {
            Prepared::Run(run) => self.act(Act::Run { id, run }),
            Prepared::Ended(ending) => self.ended(id, ending),
            Prepared::Reconnect(ending) => {
                self.events(events::Input::Ordered);
                self.pull(pull::Input::Triggered);
                self.ended(id, ending);
            }
        }
    }

    fn known(&self) -> Known<'_> {
        let agent = &self.agent;
        let file = agent.identity.as_ref().map(|identity| &identity.file);
        Known {
            node_id: file.map_or("", |file| &file.node_id),
            mesh_ip: file.map_or("", |file| &file.mesh_ip),
            version: &self.settings.binary_version,
            peers: &agent.network.peers,
            readiness: agent.readiness(),
            pulls: agent.pull.is_awake(),
            started: agent.started,
            last_heartbeat: agent.heartbeat.accepted,
            last_reconcile: agent.pull.succeeded,
            now: self.now,
        }
    }

    pub(super) fn ended(&mut self, id: RunId, ending: Ending) {
        self.held_back(&ending);
        self.did_end(&id, &ending);
        self.agent.counts.ended(&id, &ending);
        match id {
            RunId::Execution(execution) => {
                self.dispatch(execution::Input::Finished { execution, ending });
            }
            RunId::Local(asker) => self.local_runs(local_runs::Input::Finished { asker, ending }),
        }
    }

    pub(super) fn run_ordered(&mut self, asker: CallId, caller: &Caller, request: &Request) {
        let peer = caller.peer.as_ref().filter(|_| gate::may_order(caller));
        let Some(user) = peer.map(|peer| peer.uid) else { return self.deny(asker, caller) };
        let is_working = self.agent.life == Life::Working;
        let names = &self.settings.actions.builtins;
        match local::read_order((names, is_working), user, request) {
            Ok(order) => self.local_runs(local_runs::Input::Ordered { asker, order }),
            Err(refused) => self.reply(asker, refused),
        }
    }

    fn deny(&mut self, asker: CallId, caller: &Caller) {
        let who: String = match (caller.door, &caller.peer) {
            (Door::Socket, Some(peer)) => format!("user {}", peer.uid),
            (Door::Socket, None) => "a program whose user the system does not tell".into(),
            (Door::Tcp | Door::Health, _) => "a program that asks by TCP".into(),
        };
        let text = format!("{who} may not order the run of an action, and is refused");
        self.effects.push(Effect::Tell(Notice::warn(text)));
        self.reply(asker, local::refusal(403, gate::MAY_NOT_ORDER));
    }

    pub(super) fn local_runs(&mut self, input: local_runs::Input) {
        let step = mem::take(&mut self.agent.local_runs).step(&self.settings.actions, input);
        self.agent.local_runs = step.state;
        for effect in step.effects {
            match effect {
                local_runs::Effect::Run { asker, run } => {
                    self.did_begin_local(asker);
                    self.begin(RunId::Local(asker), run);
                }
                local_runs::Effect::Cancel(asker) => self.act(Act::Cancel(RunId::Local(asker))),
                local_runs::Effect::Answer { asker, result } => {
                    self.reply(asker, local::ran(&result));
                }
                local_runs::Effect::Refuse(asker) => {
                    self.reply(asker, local::unavailable("too many local runs"));
                }
                local_runs::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    pub(super) fn left(&mut self, asker: CallId) {
        self.watch(watch::Input::Left(asker));
        self.local_runs(local_runs::Input::Left(asker));
    }
}
