//! What is kept below `state/`: each file is one of a machine's.

use alloc::{string::String, vec::Vec};
use core::mem;

use super::Turn;
use crate::agent::{
    archive,
    facts::{Effect, Folder, FoundFile, StateFile},
    reports,
};

impl Turn<'_> {
    pub(super) fn found(&mut self, files: Vec<FoundFile>) {
        let (reports, pulled) =
            files.into_iter().partition(|found| found.file.folder == Folder::Report);
        self.reports(reports::Input::Loaded(reports));
        self.archive(archive::Input::Loaded(pulled));
    }

    pub(super) fn kept(&mut self, file: StateFile, outcome: Result<(), String>) {
        match file.folder {
            Folder::Root | Folder::Data => self.archive(archive::Input::Kept { file, outcome }),
            Folder::Report => self.reports(reports::Input::Kept { file, outcome }),
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
