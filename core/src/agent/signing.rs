//! The keys that events are signed with, and whether an event is signed by one of them.

use alloc::string::String;

use thiserror::Error;

use super::{facts::FoundContent, notice::Notice};
use crate::{
    step::Step,
    time::{Now, Wall},
    wire::{event::Event, identity::IdentityFile},
};

/// The keys in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signing;

/// Why an event does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("unknown signing key id")]
    UnknownKey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// What a start found of the keys on the disk.
    Loaded(FoundContent),
    Armed(IdentityFile),
    /// A verified event rotates the keys.
    Rotated(Event),
    /// A change of the file is durable, or was refused.
    Kept(Result<(), String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Keep(super::facts::Change),
    Tell(Notice),
}

impl Signing {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        let _ = (now, input);
        Step::to(self)
    }

    /// Reads the data of an event and verifies it.
    pub fn judge(&self, now: Wall, data: &[u8]) -> Result<Event, Refused> {
        let _ = (now, data);
        Err(Refused::UnknownKey)
    }
}
