//! What the last pull brought, kept on the disk: so that a start serves it before the first pull, and versions and
//! times go on from there.
//!
//! Each pull is compared with what is known to stand in the files, and only what differs is written or removed, a few
//! files at a time, so that reports find room in the queue of the disk. What the disk refuses is tried again with the
//! next pull; nobody waits for it, and what is served is what was pulled.
//!
//! | What is known of a file | Pulled | Then |
//! |---|---|---|
//! | the version and time that were pulled | | nothing |
//! | another version or time, or nothing | an entry | written, where there is room for its key |
//! | anything | no entry | removed |
//! | a change is under way that ends elsewhere | | looked at again behind it |
//!
//! Specification: `gaps-agent.md` section 1.4; `decisions.md` section 5 (`version` and `updated_at`, Data keys with
//! `/`).

use alloc::{
    boxed::Box,
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use sha2::{Digest as _, Sha256};

use super::{
    facts::{Change, Content, Folder, FoundContent, FoundFile, StateFile},
    notice::Notice,
    view::View,
};
use crate::{
    step::Step,
    time::Now,
    wire::{kept, timestamp::Timestamp},
};

/// How many data entries are kept; the others are served, and begin at version 1 after a start.
pub const KEYS_MAX: usize = 4096;

/// How many changes are under way at once.
pub const WRITING_MAX: usize = 32;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    /// What stands in each file that may be there.
    marks: BTreeMap<StateFile, Mark>,
    /// What is to be written or removed for the last pull.
    pending: BTreeMap<StateFile, Task>,
    /// Damaged files that are to be renamed, each with its new name.
    damaged: BTreeMap<StateFile, String>,
    /// The changes that are under way.
    writing: BTreeMap<StateFile, Doing>,
    refusals: Refusals,
    /// That there are too many keys was told, and there still are.
    is_crowded: bool,
}

/// What stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Nothing that can be relied on.
    Unknown,
    Entry {
        version: u64,
        updated_at: Timestamp,
    },
    /// Metadata with this digest.
    Metadata([u8; 32]),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Task {
    Remove,
    WriteMetadata,
    /// Of this key.
    WriteEntry(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    SetAside,
    Remove,
    /// This is what stands there when it is done.
    Write(Mark),
}

/// What the disk refused, told once for as long as it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Refusals {
    is_told: bool,
    since_pull: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// What a start found on the disk.
    Loaded(Vec<FoundFile>),
    /// The view is that of a new pull.
    Pulled,
    /// A change of a file is durable, or was refused.
    Kept { file: StateFile, outcome: Result<(), String> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Serve what was found.
    Show(Box<View>),
    Keep {
        file: StateFile,
        change: Change,
    },
    Tell(Notice),
}

impl Archive {
    /// Moves on one input; `view` is what was pulled last.
    pub fn step(mut self, now: Now, view: &View, input: Input) -> Step<Self, Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Loaded(files) => self.loaded(now, files, &mut effects),
            Input::Pulled => self.pulled(view, &mut effects),
            Input::Kept { file, outcome } => self.kept(file, outcome, &mut effects),
        }
        self.advance(view, &mut effects);
        Step { state: self, effects }
    }

    /// Whether all that is to be kept is on the disk, or was refused.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.damaged.is_empty() && self.writing.is_empty()
    }

    /// Whether the disk holds what the last pull brought, and nothing else.
    pub fn is_settled(&self) -> bool {
        self.is_idle() && self.marks.values().all(|mark| *mark != Mark::Unknown)
    }

    fn loaded(&mut self, now: Now, files: Vec<FoundFile>, effects: &mut Vec<Effect>) {
        let mut view = View::default();
        for FoundFile { file, content } in files {
            if kept::is_damaged_name(&file.name) {
                continue;
            }
            if let Err(reason) = self.take_in(&file, &content, &mut view) {
                self.set_aside(now, file, &reason, effects);
            }
        }
        effects.push(Effect::Show(Box::new(view)));
    }

    fn take_in(
        &mut self,
        file: &StateFile,
        content: &FoundContent,
        view: &mut View,
    ) -> Result<(), String> {
        let bytes = match content {
            FoundContent::Bytes(Content(bytes)) => bytes,
            FoundContent::Foreign(kind) => return Err(format!("it is {kind}")),
        };
        let mark = match file.folder {
            Folder::Root => {
                view.metadata =
                    kept::decode_metadata(bytes).map_err(|damage| damage.to_string())?;
                Mark::Metadata(digest(&view.metadata))
            }
            Folder::Data => {
                let entry =
                    kept::decode_data(&file.name, bytes).map_err(|damage| damage.to_string())?;
                let mark = Mark::Entry { version: entry.version, updated_at: entry.updated_at };
                view.data.insert(entry.key.clone(), entry);
                mark
            }
            Folder::Report => return Ok(()),
        };
        self.marks.insert(file.clone(), mark);
        Ok(())
    }

    /// The next pull brings again what it held, so it is a warning, but nothing of it is lost.
    fn set_aside(&mut self, now: Now, file: StateFile, reason: &str, effects: &mut Vec<Effect>) {
        let what = match file.folder {
            Folder::Root => "no metadata",
            Folder::Data | Folder::Report => "no data entry",
        };
        let time = Timestamp::from(now.wall.second());
        let Some(name) = kept::damaged_name(&file.name, time) else {
            return effects.push(Effect::Tell(Notice::warn(format!(
                "{file} holds {what}, {reason}; its name is too long for it to be renamed, so it stays: move it away"
            ))));
        };
        effects.push(Effect::Tell(Notice::warn(format!(
            "{file} holds {what}, {reason}; it is kept beside as {name}, and the start goes on"
        ))));
        self.damaged.insert(file, name);
    }

    /// Looks for what differs. A version begins again when a key leaves and comes back, so what is known of the file of
    /// a key that left tells nothing of it any more.
    fn pulled(&mut self, view: &View, effects: &mut Vec<Effect>) {
        self.refusals.is_told &= self.refusals.since_pull;
        self.refusals.since_pull = false;
        let wanted = wanted(view);
        self.pending.clear();
        for (file, mark) in &mut self.marks {
            if !wanted.contains_key(file) {
                *mark = Mark::Unknown;
                self.pending.insert(file.clone(), Task::Remove);
            }
        }
        for (file, doing) in &mut self.writing {
            if let Doing::Write(mark) = doing
                && !wanted.contains_key(file)
            {
                *mark = Mark::Unknown;
                self.pending.insert(file.clone(), Task::Remove);
            }
        }
        let (known, new): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|(file, _)| self.found(file).is_some());
        let room = KEYS_MAX.saturating_sub(known.len());
        let differing =
            known.into_iter().filter(|(file, (mark, _))| self.found(file) != Some(*mark));
        let differing: Vec<_> = differing.map(|(file, (_, task))| (file, task)).collect();
        self.tell_crowd(new.len() > room, effects);
        let new = new.into_iter().take(room).map(|(file, (_, task))| (file, task));
        self.pending.extend(differing.into_iter().chain(new));
    }

    /// What stands in a file when all that is under way is done.
    fn found(&self, file: &StateFile) -> Option<Mark> {
        match self.writing.get(file) {
            Some(Doing::Write(mark)) => Some(*mark),
            Some(Doing::SetAside | Doing::Remove) => None,
            None => self.marks.get(file).copied(),
        }
    }

    fn tell_crowd(&mut self, is_crowded: bool, effects: &mut Vec<Effect>) {
        if is_crowded && !self.is_crowded {
            effects.push(Effect::Tell(Notice::warn(format!(
                "the control plane sends more than {KEYS_MAX} keys: of the others nothing is kept on the disk, and \
                 their versions begin again at the next start"
            ))));
        }
        self.is_crowded = is_crowded;
    }

    /// Begins what comes next while there is room: damaged files first, which a write would replace.
    fn advance(&mut self, view: &View, effects: &mut Vec<Effect>) {
        while self.writing.len() < WRITING_MAX {
            let (file, change) = if let Some((file, name)) = self.damaged.pop_first() {
                self.writing.insert(file.clone(), Doing::SetAside);
                (file, Change::Rename(name))
            } else if let Some((file, task)) = self.next() {
                let (doing, change) = begun(view, &task);
                self.writing.insert(file.clone(), doing);
                (file, change)
            } else {
                return;
            };
            effects.push(Effect::Keep { file, change });
        }
    }

    /// The next file of which no change is under way.
    fn next(&mut self) -> Option<(StateFile, Task)> {
        let file = self.pending.keys().find(|file| !self.writing.contains_key(*file))?.clone();
        self.pending.remove_entry(&file)
    }

    fn kept(&mut self, file: StateFile, outcome: Result<(), String>, effects: &mut Vec<Effect>) {
        match (self.writing.remove(&file), outcome) {
            (Some(Doing::Write(mark)), Ok(())) => drop(self.marks.insert(file, mark)),
            (Some(Doing::Remove), Ok(())) => drop(self.marks.remove(&file)),
            (Some(Doing::Write(_) | Doing::Remove), Err(reason)) => {
                self.marks.insert(file, Mark::Unknown);
                self.refused(&reason, effects);
            }
            (Some(Doing::SetAside), Err(reason)) => {
                effects.push(Effect::Tell(Notice::warn(format!("{file} stays: {reason}"))));
            }
            (Some(Doing::SetAside) | None, Ok(())) | (None, Err(_)) => {}
        }
    }

    fn refused(&mut self, reason: &str, effects: &mut Vec<Effect>) {
        self.refusals.since_pull = true;
        if !self.refusals.is_told {
            self.refusals.is_told = true;
            effects.push(Effect::Tell(Notice::warn(format!(
                "what was pulled is served but not kept on the disk, which is tried again with every pull: {reason}"
            ))));
        }
    }
}

/// Every file that the view wants, with what is to stand there.
fn wanted(view: &View) -> BTreeMap<StateFile, (Mark, Task)> {
    let mut wanted = BTreeMap::new();
    if !view.metadata.is_empty() {
        let file = StateFile { folder: Folder::Root, name: kept::METADATA.into() };
        wanted.insert(file, (Mark::Metadata(digest(&view.metadata)), Task::WriteMetadata));
    }
    for (key, entry) in &view.data {
        let file = StateFile { folder: Folder::Data, name: kept::file_name(key) };
        let mark = Mark::Entry { version: entry.version, updated_at: entry.updated_at };
        wanted.insert(file, (mark, Task::WriteEntry(key.clone())));
    }
    wanted
}

/// What a task makes of its file.
fn begun(view: &View, task: &Task) -> (Doing, Change) {
    match task {
        Task::WriteMetadata => {
            let content = Content(kept::encode_metadata(&view.metadata));
            (Doing::Write(Mark::Metadata(digest(&view.metadata))), Change::Write(content))
        }
        Task::WriteEntry(key) => match view.data.get(key) {
            Some(entry) => {
                let mark = Mark::Entry { version: entry.version, updated_at: entry.updated_at };
                (Doing::Write(mark), Change::Write(Content(kept::encode_data(entry))))
            }
            None => (Doing::Remove, Change::Remove),
        },
        Task::Remove => (Doing::Remove, Change::Remove),
    }
}

fn digest(metadata: &BTreeMap<String, String>) -> [u8; 32] {
    let mut digest = Sha256::new();
    for text in metadata.iter().flat_map(|(key, value)| [key, value]) {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    digest.finalize().into()
}
