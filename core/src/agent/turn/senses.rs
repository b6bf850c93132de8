//! The senses of a node, where all of them are told the same.

use alloc::boxed::Box;

use super::Turn;
use crate::agent::{events, integrity, manifest, nat, signing};

impl Turn<'_> {
    pub(super) fn arm_senses(&mut self) {
        if let Some(identity) = &self.agent.identity {
            let identity = Box::new(identity.clone());
            self.signing(signing::Input::Armed(identity));
        }
        self.events(events::Input::Armed);
        self.nat(nat::Input::Armed);
        self.manifest(manifest::Input::Armed);
        self.integrity(integrity::Input::Armed);
    }

    pub(super) fn quiet_senses(&mut self) {
        self.events(events::Input::Quieted);
        self.nat(nat::Input::Quieted);
        self.manifest(manifest::Input::Quieted);
        self.integrity(integrity::Input::Quieted);
    }

    pub(super) fn tick_senses(&mut self) {
        self.signing(signing::Input::Ticked);
        self.events(events::Input::Ticked);
        self.nat(nat::Input::Ticked);
        self.manifest(manifest::Input::Ticked);
        self.integrity(integrity::Input::Ticked);
    }
}
