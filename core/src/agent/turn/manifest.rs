//! What this node runs and offers is told.

use core::mem;

use super::Turn;
use crate::{
    agent::{
        facts::{Answer, Effect, Measured},
        life::Question,
        manifest::{self, Kit},
        verdict,
    },
    backoff::Jitter,
    wire::{call::Call, json},
};

impl Turn<'_> {
    pub(super) fn manifest(&mut self, input: manifest::Input) {
        if !self.settings.senses.manifest {
            return;
        }
        let kit = Kit {
            hooks: &self.agent.hooks,
            host_key: self.settings.senses.host_key.is_some(),
            version: &self.settings.binary_version,
            checksum: self.settings.binary_checksum,
        };
        let step = mem::take(&mut self.agent.senses.manifest).step(kit, self.now, input);
        self.agent.senses.manifest = step.state;
        for effect in step.effects {
            match effect {
                manifest::Effect::Put(content) => {
                    let call = Call::Capabilities { node: self.node() };
                    self.send(Question::Manifest, &call, json::encode(&*content), None);
                }
                manifest::Effect::Measure => self.measure(),
                manifest::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    pub(super) fn manifest_answered(&mut self, answer: &Answer, jitter: Jitter) {
        let verdict = verdict::manifest::read(answer, self.now.wall);
        self.manifest(manifest::Input::Answered { verdict, jitter });
    }

    /// What is told of the host key; one that cannot be read may be what it was.
    pub(super) fn manifest_measured(&mut self, measured: &Measured) {
        let key = measured.host_key.as_ref().map(|key| key.fingerprint.clone()).transpose();
        self.manifest(manifest::Input::Measured(key.map_err(drop)));
    }
}
