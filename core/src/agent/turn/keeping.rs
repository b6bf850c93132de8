//! What is kept below `state/`: each file is one of a machine's.

use alloc::{string::String, vec::Vec};
use core::mem;

use super::Turn;
use crate::{
    agent::{
        archive,
        facts::{Effect, Folder, FoundFile, StateFile},
        integrity, reports, signing,
    },
    wire::kept,
};

/// The machine that a file belongs to.
enum Owner {
    Archive,
    Integrity,
    Reports,
    Signing,
}

impl Owner {
    fn of(file: &StateFile) -> Self {
        match (file.folder, file.name.as_str()) {
            (Folder::Root, kept::CHECKSUMS) => Self::Integrity,
            (Folder::Root, kept::SIGNING_KEYS) => Self::Signing,
            (Folder::Root | Folder::Data, _) => Self::Archive,
            (Folder::Report, _) => Self::Reports,
        }
    }
}

impl Turn<'_> {
    pub(super) fn found(&mut self, files: Vec<FoundFile>) {
        let (reports, others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|found| found.file.folder == Folder::Report);
        let mut pulled = Vec::new();
        for found in others {
            match Owner::of(&found.file) {
                Owner::Archive | Owner::Reports => pulled.push(found),
                Owner::Signing => self.signing(signing::Input::Loaded(found.content)),
                Owner::Integrity => self.integrity(integrity::Input::Loaded(found.content)),
            }
        }
        self.reports(reports::Input::Loaded(reports));
        self.archive(archive::Input::Loaded(pulled));
    }

    pub(super) fn kept(&mut self, file: StateFile, outcome: Result<(), String>) {
        match Owner::of(&file) {
            Owner::Archive => self.archive(archive::Input::Kept { file, outcome }),
            Owner::Reports => self.reports(reports::Input::Kept { file, outcome }),
            Owner::Signing => self.signing(signing::Input::Kept(outcome)),
            Owner::Integrity => self.integrity(integrity::Input::Kept(outcome)),
        }
    }

    pub(super) fn archive(&mut self, input: archive::Input) {
        let archive = mem::take(&mut self.agent.archive);
        let step = archive.step(self.now, &self.agent.view, input);
        self.agent.archive = step.state;
        for effect in step.effects {
            match effect {
                archive::Effect::Show(view) => self.agent.view = *view,
                archive::Effect::Keep { file, change } => {
                    self.effects.push(Effect::Keep { file, change });
                }
                archive::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }
}
