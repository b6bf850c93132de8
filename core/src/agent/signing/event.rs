//! What a verified event leads to, and what is told of one that is refused.

use alloc::{format, vec::Vec};

use super::{Effect, Reaction, Refused, Signing, keys::Rotated};
use crate::{
    agent::notice::Notice,
    time::{Mono, Now},
    wire::event::Event,
};

impl Signing {
    pub(super) fn verified(&mut self, now: Now, event: &Event, effects: &mut Vec<Effect>) {
        let Some(keys) = &mut self.keys else { return };
        if keys.fix_id(&event.key_id) {
            self.keeping.changed();
            let told = format!("the id of the signing key is {}", event.key_id);
            effects.push(Effect::Tell(Notice::info(told)));
        }
        match Reaction::to(&event.kind) {
            Reaction::Reconcile => effects.push(Effect::Reconcile),
            Reaction::RotateKeys => effects.push(Effect::RotateKeys),
            Reaction::RotateSigningKey => self.rotate(now, event, effects),
            Reaction::Nothing => {
                effects.extend(self.refusals.unknown(&event.kind).map(Effect::Tell));
            }
        }
    }

    fn rotate(&mut self, now: Now, event: &Event, effects: &mut Vec<Effect>) {
        let Some(keys) = &mut self.keys else { return };
        match keys.rotate(now.wall, event) {
            Ok(Rotated::Already) => {}
            Ok(Rotated::Changed) => {
                self.keeping.changed();
                let mut told = format!("the signing key is rotated to {}", keys.current.key_id);
                if let Some(former) = &keys.previous {
                    let until = former.transition_expires;
                    told.push_str(&format!("; {} counts until {until}", former.key_id));
                }
                effects.push(Effect::Tell(Notice::info(told)));
            }
            Err(flaw) => self.refused(now.mono, &Refused::Rotation(flaw), effects),
        }
    }

    pub(super) fn refused(&mut self, now: Mono, refused: &Refused, effects: &mut Vec<Effect>) {
        if *refused == Refused::UnknownKey {
            self.unknown = self.unknown.saturating_add(1);
        }
        effects.extend(self.refusals.refused(now, refused).map(Effect::Tell));
    }
}
