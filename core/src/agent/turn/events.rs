//! The stream of events moves.

use alloc::vec::Vec;
use core::mem;

use super::Turn;
use crate::{
    agent::{
        events,
        facts::{Act, Effect, Listen},
        pull,
    },
    ids::CallId,
    wire::call::Call,
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
}
