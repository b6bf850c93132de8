//! The keys that events are signed with, whether an event is signed by one of them, and what it leads to.
//!
//! The keys of the registration count until a verified event rotates them; from then on those of
//! `state/signing_keys.json` do, for as long as the registration is the same.

mod event;
mod judge;
mod keeping;
mod keys;
mod reaction;
mod refusals;

use alloc::{boxed::Box, format, string::String, vec::Vec};

pub use judge::{Refused, SKEW_MAX, claimed, names};
pub use keeping::BACKOFF;
pub use keys::{Flaw, KEY_ID_MAX, RETIRED_MAX};
pub use reaction::{RECONCILING, Reaction};
pub use refusals::{KIND_SHOWN_MAX, KINDS_MAX, TOLD_EVERY};

use super::{facts::FoundContent, notice::Notice};
use crate::{
    step::Step,
    time::{Mono, Now, Wall},
    wire::{event::Event, identity::Identity, kept::SIGNING_KEYS, signing_keys::KeySet},
};
use keeping::Keeping;
use refusals::Refusals;

/// So many events of unknown keys are a row.
pub const UNKNOWN_MIN: u64 = 3;

/// The keys in force, and their file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Signing {
    /// What a start found, until it is known whose this node is.
    found: Option<KeySet>,
    keys: Option<KeySet>,
    /// When the former key is to be let go, as far as can be told.
    ends: Option<Mono>,
    keeping: Keeping,
    refusals: Refusals,
    /// Events of unknown keys since one was verified.
    unknown: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// What a start found of the keys on the disk.
    Loaded(FoundContent),
    Armed(Box<Identity>),
    /// An event was judged by [`Signing::judge`].
    Judged(Result<Event, Refused>),
    /// A change of the file is durable, or was refused.
    Kept(Result<(), String>),
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Keep(super::facts::Change),
    /// Pull the desired state.
    Reconcile,
    /// Rotate the mesh key.
    RotateKeys,
    Tell(Notice),
}

impl Signing {
    /// Moves on one input.
    pub fn step(mut self, now: Now, input: Input) -> Step<Self, Effect> {
        let mut effects = Vec::new();
        self.expire(now.wall, &mut effects);
        match input {
            Input::Loaded(content) => {
                self.found = self.keeping.read(now, content, &mut effects);
            }
            Input::Armed(identity) => {
                self.unknown = 0;
                self.armed(&identity, &mut effects);
            }
            Input::Judged(Ok(event)) => {
                self.unknown = 0;
                self.verified(now, &event, &mut effects);
            }
            Input::Judged(Err(refused)) => self.refused(now.mono, &refused, &mut effects),
            Input::Kept(outcome) => {
                let told =
                    self.keeping.kept(now.mono, outcome.as_ref().map_err(String::as_str).copied());
                effects.extend(told.map(Effect::Tell));
            }
            Input::Ticked => self.keeping.ticked(now.mono),
        }
        if let Some(keys) = &self.keys {
            effects.extend(self.keeping.advance(keys));
            let former = keys.previous.as_ref();
            self.ends =
                former.map(|former| now.mono.after(former.transition_expires.left(now.wall)));
        }
        Step { state: self, effects }
    }

    /// Reads the data of an event and verifies it.
    pub fn judge(&self, now: Wall, data: &[u8]) -> Result<Event, Refused> {
        judge::judge(self.keys.as_ref(), now, data)
    }

    /// The keys in force.
    pub const fn keys(&self) -> Option<&KeySet> {
        self.keys.as_ref()
    }

    /// How many events of unknown keys came since one was verified, where they are a row: it seems that this node has
    /// missed a rotation, as one alone may be anybody's.
    pub const fn unknown(&self) -> u64 {
        if self.unknown < UNKNOWN_MIN { 0 } else { self.unknown }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        [self.ends, self.keeping.due()].into_iter().flatten().min()
    }

    /// Whether a change of the file is under way.
    pub const fn is_changing(&self) -> bool {
        self.keeping.is_changing()
    }

    /// A key whose time is over does not come back, whatever the wall clock does.
    fn expire(&mut self, now: Wall, effects: &mut Vec<Effect>) {
        if let Some(key_id) = self.keys.as_mut().and_then(|keys| keys.expire(now)) {
            self.keeping.changed();
            let told = format!("the former signing key {key_id} counts no more");
            effects.push(Effect::Tell(Notice::info(told)));
        }
    }

    fn armed(&mut self, identity: &Identity, effects: &mut Vec<Effect>) {
        let Some(registered) = KeySet::registered(identity) else { return };
        let found = self.found.take();
        let is_of_another = |keys: &KeySet| keys.registration != registered.registration;
        if found.as_ref().is_some_and(is_of_another) {
            effects.push(Effect::Tell(Notice::info(format!(
                "state/{SIGNING_KEYS} is of another registration and is passed over"
            ))));
        }
        let known = self.keys.take().into_iter().chain(found).find(|keys| !is_of_another(keys));
        self.keys = Some(known.unwrap_or(registered));
    }
}
