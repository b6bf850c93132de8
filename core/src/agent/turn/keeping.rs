//! What is kept below `state/`: each file is one of a machine's.

use alloc::{format, string::String, vec::Vec};
use core::mem;

use super::Turn;
use crate::{
    agent::{
        archive,
        facts::{Effect, Folder, FoundFile, StateFile},
        integrity,
        network::{Network, file},
        notice::Notice,
        pull::diff::Seen,
        reports, signing,
        view::View,
        voice,
    },
    duration,
    wire::kept,
};

/// The machine that a file belongs to.
enum Owner {
    Archive,
    Integrity,
    Network,
    Reports,
    Signing,
    Voice,
}

impl Owner {
    fn of(file: &StateFile) -> Self {
        match (file.folder, file.name.as_str()) {
            (Folder::Root, kept::CHECKSUMS) => Self::Integrity,
            (Folder::Root, kept::NETWORK) => Self::Network,
            (Folder::Root, kept::POSITIONS) => Self::Voice,
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
                Owner::Network => self.network_file(file::Input::Loaded(found.content)),
                Owner::Integrity => self.integrity(integrity::Input::Loaded(found.content)),
                Owner::Voice => self.voice(voice::Input::Loaded(found.content)),
            }
        }
        self.reports(reports::Input::Loaded(reports));
        self.archive(archive::Input::Loaded(pulled));
    }

    pub(super) fn kept(&mut self, file: StateFile, outcome: Result<(), String>) {
        match Owner::of(&file) {
            Owner::Archive => self.archive(archive::Input::Kept { file, outcome }),
            Owner::Network => self.network_file(file::Input::Kept(outcome)),
            Owner::Reports => self.reports(reports::Input::Kept { file, outcome }),
            Owner::Signing => self.signing(signing::Input::Kept(outcome)),
            Owner::Integrity => self.integrity(integrity::Input::Kept(outcome)),
            Owner::Voice => self.voice(voice::Input::Kept(outcome)),
        }
    }

    /// What was found is nobody's until there is an identity.
    pub(super) fn archive(&mut self, input: archive::Input) {
        let archive = mem::take(&mut self.agent.archive);
        let step = archive.step(self.now, &self.agent.view, input);
        self.agent.archive = step.state;
        for effect in step.effects {
            match effect {
                archive::Effect::Show(view) => self.agent.last_pull.found = Some(view),
                archive::Effect::Keep { file, change } => {
                    self.effects.push(Effect::Keep { file, change });
                }
                archive::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
        if self.agent.archive.is_settled() {
            self.network_file(file::Input::Vacated);
        }
    }

    pub(super) fn network_file(&mut self, input: file::Input) {
        let network_file = mem::take(&mut self.agent.last_pull.file);
        let step = network_file.step(self.now, &self.agent.network, input);
        self.agent.last_pull.file = step.state;
        for effect in step.effects {
            match effect {
                file::Effect::Show(network) => self.agent.network = network,
                file::Effect::Clear => self.clear_pulled(),
                file::Effect::Keep(change) => {
                    let file = StateFile { folder: Folder::Root, name: kept::NETWORK.into() };
                    self.effects.push(Effect::Keep { file, change });
                }
                file::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    /// What was found waits for an identity, and need not be that one's.
    pub(super) fn orphan(&mut self) {
        if self.agent.last_pull.found.as_ref().is_some_and(|view| **view != View::default()) {
            self.network_file(file::Input::Orphaned);
        }
    }

    /// Serves what earlier processes have pulled for this node, and tells how old that is.
    pub(super) fn recall(&mut self, node: String) {
        self.network_file(file::Input::Armed { node });
        let Some(view) = self.agent.last_pull.found.take() else { return };
        self.agent.view = *view;
        let View { metadata, data } = &self.agent.view;
        let Network { peers, policy } = &self.agent.network;
        let pulled_at = self.agent.last_pull.file.pulled_at();
        if pulled_at.is_none() && metadata.is_empty() && data.is_empty() {
            return;
        }
        let when = match pulled_at.map(|at| (at, file::age(self.now, at))) {
            Some((at, Some(age))) => {
                format!("at most {} ago, at {at} or later,", duration::words(age))
            }
            Some((at, None)) => format!("at {at}, which this node's clock has not reached,"),
            None => "at an unknown time".into(),
        };
        let policy = if policy.is_some() { "a policy" } else { "no policy" };
        let text = format!(
            "what was pulled {when} is served until a pull succeeds: {} peers, {policy}, {} metadata, {} data entries",
            peers.len(),
            metadata.len(),
            data.len()
        );
        self.effects.push(Effect::Tell(Notice::info(text)));
    }

    /// Nothing that was pulled for another node is served any more, or stays.
    fn clear_pulled(&mut self) {
        let before = self.served();
        self.agent.last_pull.found = None;
        self.agent.view = View::default();
        self.agent.network = Network::default();
        self.agent.last_pull.seen = Seen::default();
        self.tell_changes(before);
        self.archive(archive::Input::Pulled);
    }
}
