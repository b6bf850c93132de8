//! The hooks of this node: the directory is looked at, and who asked for that is answered.

use core::mem;

use super::Turn;
use crate::{
    agent::{
        deeds::Deed,
        facts::{Act, Caller, Effect, Purpose},
        hooks, local,
    },
    ids::CallId,
};

impl Turn<'_> {
    /// The first look, where there is something to be looked at.
    pub(super) fn start_hooks(&mut self) {
        if self.settings.actions.hooks && self.settings.purpose == Purpose::Run {
            self.hooks(hooks::Input::Started);
        }
    }

    pub(super) fn reload_asked(&mut self, call: CallId, caller: &Caller) {
        match local::gate::may_order(caller) {
            true => {
                self.did(Deed::Reloaded { user: caller.peer.as_ref().map(|peer| peer.uid) });
                self.hooks(hooks::Input::Reload(call));
            }
            false => self.reply(call, local::refusal(403, local::gate::MAY_NOT_ORDER)),
        }
    }

    pub(super) fn hooks(&mut self, input: hooks::Input) {
        let step = mem::take(&mut self.agent.hooks).step(self.now, input);
        self.agent.hooks = step.state;
        for effect in step.effects {
            match effect {
                hooks::Effect::Look => self.effects.push(Effect::Act(Act::Scan)),
                hooks::Effect::Answer { askers, wrong, failure } => {
                    let response = local::reloaded(&self.agent.hooks, wrong, failure);
                    for asker in askers {
                        self.reply(asker, response.clone());
                    }
                }
                hooks::Effect::Refuse { asker, crowded } => {
                    self.reply(asker, local::not_reloaded(crowded));
                }
                hooks::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }
}
