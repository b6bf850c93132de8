//! How this node is seen from outside is found out and told.

use core::mem;

use super::Turn;
use crate::agent::{facts::Effect, nat};

impl Turn<'_> {
    pub(super) fn nat(&mut self, input: nat::Input) {
        if self.settings.senses.nat.is_none() {
            return;
        }
        let step = mem::take(&mut self.agent.senses.nat).step(self.now, input);
        self.agent.senses.nat = step.state;
        for effect in step.effects {
            match effect {
                nat::Effect::Discover => {}
                nat::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }
}
