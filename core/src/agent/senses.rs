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
    /// The program and the host key are being looked at.
    pub(super) measuring: bool,
    /// That the configured host key is not there was told, and it still is not.
    pub(super) host_key_missing: bool,
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
