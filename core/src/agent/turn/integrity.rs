//! The files of this node are held against what they were.

use alloc::{boxed::Box, format, vec::Vec};
use core::mem;

use super::Turn;
use crate::{
    agent::{
        facts::{Act, Answer, Cause, Effect, Ending, Folder, Measured, StateFile},
        hooks,
        integrity::{self, Kit},
        life::Question,
        notice::Notice,
        verdict,
    },
    backoff::Jitter,
    legible,
    wire::{
        call::Call,
        integrity::{IntegrityViolation, IntegrityViolationsRequest},
        json, kept,
    },
};

impl Turn<'_> {
    pub(super) fn integrity(&mut self, input: integrity::Input) {
        let Some(settings) = &self.settings.senses.integrity else { return };
        let kit = Kit {
            settings,
            hooks: &self.agent.hooks,
            version: &self.settings.binary_version,
            image: self.settings.binary_checksum,
        };
        let step = mem::take(&mut self.agent.senses.integrity).step(kit, self.now, input);
        self.agent.senses.integrity = step.state;
        for effect in step.effects {
            match effect {
                integrity::Effect::Measure => self.measure(),
                integrity::Effect::Look => self.hooks(hooks::Input::Verify),
                integrity::Effect::Keep(change) => {
                    let file = StateFile { folder: Folder::Root, name: kept::CHECKSUMS.into() };
                    self.effects.push(Effect::Keep { file, change });
                }
                integrity::Effect::Post(violations) => self.post_violations(violations),
                integrity::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    fn post_violations(&mut self, violations: Vec<IntegrityViolation>) {
        let call = Call::IntegrityViolations { node: self.node() };
        let body = json::encode(&IntegrityViolationsRequest { violations });
        self.send(Question::Violations, &call, body, None);
    }

    pub(super) fn violations_answered(&mut self, answer: &Answer, jitter: Jitter) {
        let verdict = verdict::violations::read(answer, self.now.wall);
        self.integrity(integrity::Input::Answered { verdict, jitter });
    }

    /// One look at a time, for everybody who wants one.
    pub(super) fn measure(&mut self) {
        if !mem::replace(&mut self.agent.senses.measuring, true) {
            self.act(Act::Measure);
        }
    }

    pub(super) fn measured(&mut self, measured: Box<Measured>) {
        self.agent.senses.measuring = false;
        self.host_key_seen(measured.host_key.is_some());
        self.manifest_measured(&measured);
        self.integrity(integrity::Input::Measured(measured));
    }

    /// That a configured host key is not there is told once as long as it lasts: it may be a slip in the path.
    fn host_key_seen(&mut self, is_there: bool) {
        let Some(path) = &self.settings.senses.host_key else { return };
        let was_missing = mem::replace(&mut self.agent.senses.host_key_missing, !is_there);
        let path = legible::line(path);
        let notice = match (was_missing, is_there) {
            (false, false) => Notice::warn(format!(
                "the SSH host key {path} (integrity.ssh_host_key_file) is not there: it is neither declared nor held to \
                 what it was"
            )),
            (true, true) => Notice::info(format!("the SSH host key {path} is there")),
            (true, false) | (false, true) => return,
        };
        self.effects.push(Effect::Tell(notice));
    }

    /// A hook that was refused when it was to run is a violation, whoever ordered the run.
    pub(super) fn held_back(&mut self, ending: &Ending) {
        if let Cause::Changed { hook, observed } = &ending.cause {
            let (hook, observed) = (hook.clone(), *observed);
            self.integrity(integrity::Input::Differs { hook, observed });
        }
    }
}
