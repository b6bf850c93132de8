//! What the stream of events brings is verified and leads to something.

use alloc::format;
use core::mem;

use super::Turn;
use crate::{
    agent::{
        events,
        facts::{Effect, Folder, StateFile},
        notice::Notice,
        pull, rotation, signing,
    },
    wire::kept,
};

impl Turn<'_> {
    /// The data of a frame of the stream.
    pub(super) fn judge(&mut self, data: &[u8]) {
        let judged = self.agent.senses.signing.judge(self.now.wall, data);
        self.agent.counts.event(self.now.mono, &judged);
        let is_verified = judged.is_ok();
        let told = match &judged {
            Ok(event) => format!("verified: {}", signing::names(event)),
            Err(_) => format!("refused: {}", signing::claimed(data)),
        };
        self.effects.push(Effect::Tell(Notice::debug(told)));
        self.signing(signing::Input::Judged(judged));
        if is_verified {
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
                signing::Effect::Reconcile => self.pull(pull::Input::Triggered),
                signing::Effect::RotateKeys => {
                    self.rotation(rotation::Input::Signalled(rotation::Source::Event));
                }
                signing::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }
}
