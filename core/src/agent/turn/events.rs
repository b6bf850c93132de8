//! The stream of events moves, and what it brings is verified and leads to something.

use alloc::vec::Vec;
use core::mem;

use super::Turn;
use crate::{
    agent::{
        events,
        facts::{Act, Effect, Folder, Listen, StateFile},
        pull, signing,
    },
    ids::CallId,
    wire::{call::Call, kept},
};

impl Turn<'_> {
    pub(super) fn events(&mut self, input: events::Input) {
        let Some(settings) = &self.settings.senses.events else { return };
        let step = mem::take(&mut self.agent.senses.events).step(settings, self.now, input);
        self.agent.senses.events = step.state;
        for effect in step.effects {
            match effect {
                events::Effect::Open { cursor } => self.listen(cursor.as_deref()),
                events::Effect::Close(stream) => self.act(Act::Listen(stream, Listen::Close)),
                events::Effect::Judge(data) => self.judge(&data),
                events::Effect::Reconcile => self.pull(pull::Input::Triggered),
                events::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    fn listen(&mut self, cursor: Option<&str>) {
        let request = self.request(&Call::Events { node: self.node() }, Vec::new());
        let (request, timeout) = (events::headers(request, cursor), self.settings.request_timeout);
        self.act(Act::Listen(CallId::default(), Listen::Open { request, timeout }));
    }

    fn judge(&mut self, data: &[u8]) {
        if self.agent.senses.signing.judge(self.now.wall, data).is_ok() {
            self.events(events::Input::Verified);
        }
    }

    pub(super) fn signing(&mut self, input: signing::Input) {
        let step = mem::take(&mut self.agent.senses.signing).step(self.now, input);
        self.agent.senses.signing = step.state;
        for effect in step.effects {
            match effect {
                signing::Effect::Keep(change) => {
                    let file = StateFile { folder: Folder::Root, name: kept::SIGNING_KEYS.into() };
                    self.effects.push(Effect::Keep { file, change });
                }
                signing::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }
}
