//! What a start finds on the disk: sound files are taken in, damaged ones are told and renamed, and reports whose keys
//! are of an earlier grammar are deleted at the control plane and left where they are.

use alloc::{format, string::String, vec::Vec};

use super::{Effect, Reports, Slot, slot::Errand};
use crate::{
    agent::{
        facts::{Change, Content, Folder, FoundContent, FoundFile, StateFile},
        notice::Notice,
    },
    time::Now,
    wire::{
        grammar::{Name, ReportKey},
        kept::{self, KeptReport},
        timestamp::Timestamp,
    },
};

impl Reports {
    pub(super) fn loaded(&mut self, now: Now, files: Vec<FoundFile>, effects: &mut Vec<Effect>) {
        for FoundFile { file, content } in files {
            if file.folder != Folder::Report || kept::is_damaged_name(&file.name) {
                continue;
            }
            let key = kept::file_key(&file.name).and_then(|key| ReportKey::parse(&key).ok());
            if let (None, FoundContent::Bytes(Content(bytes))) = (&key, &content)
                && let Some(key) = kept::outdated_key(&file.name, bytes)
            {
                self.outdated(&file, key, effects);
                continue;
            }
            match (read(key.as_ref(), &content), key) {
                (Ok(report), Some(key)) => self.take_in(key, report),
                (Ok(_), None) => {}
                (Err(reason), key) => self.set_aside(now, (file, key), &reason, effects),
            }
        }
    }

    fn take_in(&mut self, key: ReportKey, report: KeptReport) {
        let slot = match report {
            KeptReport::Entry { entry, synced } => {
                Slot { entry: Some(entry), synced, generation: 1, ..Slot::default() }
            }
            KeptReport::Deleted(_) => Slot { generation: 1, ..Slot::default() },
        };
        if slot.synced.is_none() {
            self.unsynced.insert(Name::from(&key), slot.generation);
        }
        self.slots.insert(key, slot);
    }

    /// There is no slot for it: it cannot be read or written, only be forgotten by the control plane.
    fn outdated(&mut self, file: &StateFile, key: Name, effects: &mut Vec<Effect>) {
        effects.push(Effect::Tell(Notice::warn(format!(
            "{file} holds a report under the key {:?}, which no report can have any more: it is not served, the control \
             plane is told to delete it, and the file stays: move it away",
            key.as_str()
        ))));
        self.unsynced.insert(key, 1);
    }

    /// It may have been a report that was answered for, so it is told as an error and nothing of it is lost.
    fn set_aside(
        &mut self,
        now: Now,
        (file, key): (StateFile, Option<ReportKey>),
        reason: &str,
        effects: &mut Vec<Effect>,
    ) {
        let time = Timestamp::from(now.wall.second());
        let Some(name) = kept::damaged_name(&file.name, time) else {
            let text = format!(
                "{file} holds no report, {reason}; its name is too long for it to be renamed, so it stays: move it away"
            );
            return effects.push(Effect::Tell(Notice::error(text)));
        };
        effects.push(Effect::Tell(Notice::error(format!(
            "{file} holds no report, {reason}; it is kept beside as {name}, and the start goes on"
        ))));
        if let Some(key) = key {
            let slot = Slot { errand: Some(Errand::Aside), ..Slot::default() };
            self.slots.insert(key, slot);
        }
        effects.push(Effect::Keep { file, change: Change::Rename(name) });
    }
}

fn read(key: Option<&ReportKey>, content: &FoundContent) -> Result<KeptReport, String> {
    let key = key.ok_or("its name is not that of a report")?;
    match content {
        FoundContent::Bytes(bytes) => {
            KeptReport::decode(key, &bytes.0).map_err(|damage| format!("{damage}"))
        }
        FoundContent::Foreign(kind) => Err(format!("it is {kind}")),
    }
}
