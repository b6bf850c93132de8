//! What this node runs and offers is told.

use core::mem;

use super::Turn;
use crate::agent::{facts::Effect, manifest};

impl Turn<'_> {
    pub(super) fn manifest(&mut self, input: manifest::Input) {
        if !self.settings.senses.manifest {
            return;
        }
        let step = mem::take(&mut self.agent.senses.manifest).step(self.now, input);
        self.agent.senses.manifest = step.state;
        for effect in step.effects {
            match effect {
                manifest::Effect::Put => {}
                manifest::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }
}
