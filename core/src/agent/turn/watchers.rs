//! Co-located programs are told that something changed.

use core::mem;

use super::Turn;
use crate::{
    agent::{
        facts::{Caller, Effect, Stream},
        local,
        network::Network,
        view::View,
        watch,
    },
    ids::CallId,
    wire::{
        change::{Change, ChangeKind},
        local::DELIVERY_MODE,
    },
};

impl Turn<'_> {
    pub(super) fn watch_asked(&mut self, watcher: CallId, caller: &Caller) {
        let hears_of_secrets = self.gate(caller).is_ok();
        self.watch(watch::Input::Opened { watcher, door: caller.door, hears_of_secrets });
    }

    /// Tells the watchers that something is no longer what it was.
    pub(super) fn changed(&mut self, change: Change) {
        self.watch(watch::Input::Changed(change));
    }

    /// What is served now, kept for a comparison where anybody listens.
    pub(super) fn served(&self) -> Option<(View, Network)> {
        let kept = || (self.agent.view.clone(), self.agent.network.clone());
        self.agent.watch.is_watched().then(kept)
    }

    pub(super) fn tell_changes(&mut self, before: Option<(View, Network)>) {
        let Some((view, network)) = before else { return };
        let now = (&self.agent.view, &self.agent.network);
        let is_own = |change: &Change| {
            change.kind == ChangeKind::Metadata && change.key.as_deref() == Some(DELIVERY_MODE)
        };
        let hides = self.delivery_mode().is_some();
        for change in watch::changes(now, (&view, &network)) {
            // What is pulled under a key of the agent's own is not served.
            if !hides || !is_own(&change) {
                self.changed(change);
            }
        }
    }

    /// Tells those who listen when this step made the process useful, or useless, or so for another reason.
    pub(super) fn tell_readiness(&mut self) {
        if self.agent.readiness() != self.was && self.agent.watch.is_watched() {
            self.changed(Change::whole(ChangeKind::Readiness));
        }
    }

    pub(super) fn watch(&mut self, input: watch::Input) {
        let step = mem::take(&mut self.agent.watch).step(input);
        self.agent.watch = step.state;
        for effect in step.effects {
            let stream = match effect {
                watch::Effect::Open { watcher, hello } => Stream::Open { watcher, hello },
                watch::Effect::Send { to, frame } => Stream::Send { to, frame },
                watch::Effect::Close => Stream::Close,
                watch::Effect::Refuse(watcher) => {
                    self.reply(watcher, local::unavailable("too many watchers"));
                    continue;
                }
            };
            self.effects.push(Effect::Stream(stream));
        }
    }
}
