//! The machines by which a node senses what is around it.

use super::{events::Events, integrity::Integrity, manifest::Manifest, nat::Nat, signing::Signing};
use crate::time::Mono;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Senses {
    pub(super) events: Events,
    pub(super) signing: Signing,
    pub(super) nat: Nat,
    pub(super) manifest: Manifest,
    pub(super) integrity: Integrity,
}

impl Senses {
    /// When the first of them wants to be woken, if any does.
    pub(super) fn wakeup(&self) -> Option<Mono> {
        let machines = [
            self.events.wakeup(),
            self.signing.wakeup(),
            self.nat.wakeup(),
            self.manifest.wakeup(),
            self.integrity.wakeup(),
        ];
        machines.into_iter().flatten().min()
    }
}
