//! What is known of the hooks.

use alloc::vec::Vec;
use core::time::Duration;

use super::{Hooks, look::Phase};
use crate::wire::{grammar::Checksum, local::HookInfo};

impl Hooks {
    /// The digest that a discovered hook is held to; a file that has gone, or is not trusted any more, is none.
    pub fn pin(&self, name: &str) -> Option<Checksum> {
        self.listed.get(name).and_then(|_| self.pins.get(name)).copied()
    }

    /// Whether it can be told if there is a hook of this name: there was a look, and none of a file of this name is
    /// due because it was being written.
    pub fn is_known(&self, name: &str) -> bool {
        match self.phase {
            Phase::Off => true,
            Phase::Looking { .. } | Phase::Resting { .. } => {
                self.looked && (self.listed.contains_key(name) || !self.unsettled.contains(name))
            }
        }
    }

    /// The longest time that its sidecar allows a hook.
    pub fn timeout(&self, name: &str) -> Option<Duration> {
        self.listed.get(name)?.timeout
    }

    /// What programs are told of the hooks, by their names.
    pub fn list(&self) -> Vec<HookInfo> {
        self.listed.values().map(|listed| listed.info.clone()).collect()
    }

    /// Whether there is anything to be waited for: a look that was not taken yet.
    pub const fn is_unseen(&self) -> bool {
        !self.looked && !matches!(self.phase, Phase::Off)
    }

    /// Whether the last look was taken because something stirred.
    pub const fn was_stirred(&self) -> bool {
        self.stirred
    }

    /// The hooks with the digests that they had at the last look, by their names.
    pub fn observed(&self) -> impl Iterator<Item = (&str, Checksum)> {
        self.listed.iter().map(|(name, listed)| (name.as_str(), listed.digest))
    }

    /// The hooks with the digests that they are held to, by their names.
    pub fn pinned(&self) -> impl Iterator<Item = (&str, Checksum)> {
        self.listed.keys().filter_map(|name| Some((name.as_str(), *self.pins.get(name)?)))
    }
}
