//! The files of this node are held against what they were.

use core::mem;

use super::Turn;
use crate::agent::{
    facts::{Act, Effect},
    integrity,
};

impl Turn<'_> {
    pub(super) fn integrity(&mut self, input: integrity::Input) {
        if self.settings.senses.integrity.is_none() {
            return;
        }
        let step = mem::take(&mut self.agent.senses.integrity).step(self.now, input);
        self.agent.senses.integrity = step.state;
        for effect in step.effects {
            match effect {
                integrity::Effect::Measure => self.act(Act::Measure),
                integrity::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }
}
