//! The stream of events moves.

use alloc::vec::Vec;
use core::mem;

use super::Turn;
use crate::{
    agent::{
        events::{self, Mode},
        facts::{Act, Effect, Heard, Listen},
        post, pull,
        scrub::Scrub,
    },
    backoff::Jitter,
    ids::CallId,
    wire::{
        call::Call,
        change::{Change, ChangeKind},
        local::DELIVERY_MODE,
    },
};

impl Turn<'_> {
    pub(super) fn events(&mut self, input: events::Input) {
        let Some(settings) = &self.settings.senses.events else { return };
        let was = self.agent.senses.events.mode();
        // A name that no call gets, whatever else is ordered in this step.
        self.agent.last_call = self.agent.last_call.next();
        let fresh = self.agent.last_call;
        let machine = mem::take(&mut self.agent.senses.events);
        let step = machine.step(settings, fresh, self.now, input);
        self.agent.senses.events = step.state;
        self.tell_mode(was);
        for effect in step.effects {
            match effect {
                events::Effect::Open { stream, cursor } => self.listen(stream, cursor.as_deref()),
                events::Effect::Close(stream) => self.act(Act::Listen(stream, Listen::Close)),
                events::Effect::Judge(data) => self.judge(&data),
                events::Effect::Reconcile => self.pull(pull::Input::Triggered),
                events::Effect::Poll => self.poll(),
                events::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    /// What a stream tells may be anything, an echo of this node's secrets too.
    pub(super) fn heard(&mut self, stream: CallId, heard: Heard, jitter: Jitter) {
        let scrub = Scrub::of(self.agent.registration.token(), self.agent.identity.as_ref());
        self.events(events::Input::Heard { stream, heard, jitter });
        scrub.effects(&mut self.effects);
    }

    /// Watchers are told of the mode as of other metadata.
    fn tell_mode(&mut self, was: Mode) {
        if self.agent.senses.events.mode() != was && self.agent.watch.is_watched() {
            self.changed(Change::of(ChangeKind::Metadata, DELIVERY_MODE.into(), None));
        }
    }

    fn listen(&mut self, stream: CallId, cursor: Option<&str>) {
        self.agent.counts.asked();
        let call = Call::Events { node: self.node() };
        let request = events::headers(self.request(&call, Vec::new()), cursor);
        let (timeout, answer_max) = (self.settings.request_timeout, post::answer_max(&call));
        self.act(Act::Listen(stream, Listen::Open { request, timeout, answer_max }));
    }

    /// One that is under way does as well.
    fn poll(&mut self) {
        if self.agent.pull.wakeup().is_some() {
            self.pull(pull::Input::Triggered);
        }
    }
}
