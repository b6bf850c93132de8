//! The data directory: what the agent remembers over a restart, read whole at the start and changed by one
//! [`Order`] at a time. Private keys stay in here; the core learns their public halves and whether they are sound.
//!
//! Specification: "Persisted identity (in DataDir)".

mod directory;
mod disk;
mod error;
mod glance;
mod keys;
mod leftovers;
mod refused;
mod room;
mod shelf;
mod vault;
mod writer;

#[cfg(test)]
mod crash;
#[cfg(test)]
mod crash_archive;
#[cfg(test)]
mod crash_refused;
#[cfg(test)]
mod crash_room;
#[cfg(test)]
mod crash_rotation;
#[cfg(test)]
mod crash_state;
#[cfg(test)]
mod shadow;

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use meshward_core::{
    agent::{Finding, Folder, FoundFile, Memory, Order, StateFile, Stored, TokenFile},
    wire::{
        identity::TokenDigest,
        kept::{PULLED_FILE_MAX, ROOT_FILES},
    },
};

pub use self::error::StoreError;
pub(crate) use self::glance::{IDENTITY_FILES, look};
pub(crate) use self::writer::{Ended, State, Writer};
use self::{
    directory::Directory,
    disk::Disk,
    shelf::{FILES_MAX, Most, Shelf},
    vault::{Fault, Vault},
};
use crate::{chance, tokens};

/// The folder of what is kept beside the identity.
const STATE: &str = "state";

/// The data directory, locked for the life of this value.
pub struct Store {
    path: PathBuf,
    vault: Vault<Directory>,
    /// Until it is taken.
    state: Option<State>,
    token_file: Option<PathBuf>,
}

impl Store {
    /// Creates the directory if it is missing, checks that it is the agent's own, locks it, and clears what an
    /// interrupted write left.
    pub fn open(data_dir: &Path) -> Result<Self, StoreError> {
        if data_dir.as_os_str().is_empty() {
            return Err(StoreError::Unset);
        }
        let path = directory::normal(data_dir);
        let mut directory = Directory::open(&path)?;
        glance::warn_of_open(&path);
        let state = open_state(&mut directory, path.join(STATE))?;
        let vault = Vault::open(directory).map_err(|fault| unreadable(&path, fault))?;
        Ok(Self { path, vault, state: Some(state), token_file: None })
    }

    /// Hands out what is below `state/`, for the thread that changes it.
    pub(crate) const fn take_state(&mut self) -> Option<State> {
        self.state.take()
    }

    /// Names the file that [`Order::ForgetToken`] removes.
    #[must_use]
    pub fn forgetting(mut self, token_file: Option<PathBuf>) -> Self {
        self.token_file = token_file;
        self
    }

    /// Reads what the directory holds.
    pub fn remember(&mut self) -> Result<Memory, StoreError> {
        let memory = self.vault.remember().map_err(|fault| unreadable(&self.path, fault))?;
        let (state, found) = self.state.as_mut().map(load).transpose()?.unwrap_or_default();
        let leftovers = std::mem::take(&mut self.vault.leftovers).findings(&self.path);
        let findings = memory.findings.into_iter().chain(leftovers).chain(found).collect();
        Ok(Memory { state, findings, ..memory })
    }

    /// Carries an order out; it blocks until all is durable.
    pub fn carry_out(&mut self, order: Order) -> Stored {
        let kind = order.kind();
        let done = match order {
            Order::ForgetToken(token) => self.forget_token(&token),
            Order::SetAside { .. }
            | Order::Retire { .. }
            | Order::Restore
            | Order::MakeKey { .. }
            | Order::Persist(_)
            | Order::Stage
            | Order::Commit(_)
            | Order::Discard
            | Order::Shelve => perform(&mut self.vault, &order)
                .map(|stored| self.located(stored))
                .map_err(|fault| self.reason(&fault)),
        };
        done.unwrap_or_else(|reason| Stored::Failed {
            order: kind,
            jitter: chance::jitter(),
            reason,
        })
    }

    /// Tells a folder by its whole path.
    fn located(&self, stored: Stored) -> Stored {
        let Stored::Retired { folder } = &stored else { return stored };
        let place = match folder.strip_prefix("../") {
            Some(beside) => self.path.with_file_name(beside),
            None => self.path.join(folder),
        };
        Stored::Retired { folder: place.display().to_string() }
    }

    fn reason(&self, fault: &Fault) -> String {
        let path = self.path.join(&fault.name);
        format!("cannot {} {}: {}", fault.doing, path.display(), fault.source)
    }

    /// Removes the token file; one that is gone already, or holds another token, is as good. One that cannot be read
    /// may hold another, so it stays.
    fn forget_token(&self, token: &TokenDigest) -> Result<Stored, String> {
        let Some(path) = &self.token_file else { return Ok(Stored::Done) };
        match tokens::read(path) {
            TokenFile::Missing => return Ok(Stored::Done),
            TokenFile::Unreadable(reason) => return Err(reason),
            TokenFile::Text(text) if TokenDigest::of(&text) != *token => return Ok(Stored::Done),
            TokenFile::Text(_) => {}
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Stored::Done),
            Err(error) => Err(format!("cannot remove {}: {error}", path.display())),
            Ok(()) => Ok(Stored::TokenRemoved { file: path.display().to_string() }),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.vault.leave_room();
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.path.display())
    }
}

fn open_state(directory: &mut Directory, path: PathBuf) -> Result<State, StoreError> {
    let mut state = directory.below(&path, STATE)?;
    let mut below = |folder: Folder| {
        let path = path.join(folder.name());
        let opened = state.below(&path, folder.name())?;
        Shelf::open(opened).map_err(|fault| unreadable(&path, fault))
    };
    let (data, reports) = (below(Folder::Data)?, below(Folder::Report)?);
    let root = Shelf::open(state).map_err(|fault| unreadable(&path, fault))?;
    Ok(State { path, root, data, reports })
}

/// Reads what is kept below `state/`. Reports are read whole or the start fails; what was pulled comes again.
fn load(state: &mut State) -> Result<(Vec<FoundFile>, Vec<Finding>), StoreError> {
    let (report_path, data_path) =
        (state.path.join(Folder::Report.name()), state.path.join(Folder::Data.name()));
    let found =
        |folder| move |(name, content)| FoundFile { file: StateFile { folder, name }, content };
    let reports =
        state.reports.load(Most::REPORTS).map_err(|fault| unreadable(&report_path, fault))?;
    if reports.is_crowded {
        return Err(StoreError::Crowded { path: report_path, most: FILES_MAX });
    }
    let data = state.data.load(Most::PULLED).map_err(|fault| unreadable(&data_path, fault))?;
    let mut root = Vec::new();
    for name in ROOT_FILES {
        let found = state.root.load_one(name, PULLED_FILE_MAX);
        let found = found.map_err(|fault| unreadable(&state.path, fault))?;
        root.extend(found.map(|content| (name.to_owned(), content)));
    }
    let folder = data_path.display().to_string();
    let crowded = data.is_crowded.then_some(Finding::Crowded { folder, most: FILES_MAX });
    let mut findings = state.root.leftovers(&state.path);
    findings.extend(state.data.leftovers(&data_path));
    findings.extend(state.reports.leftovers(&report_path));
    findings.extend(crowded);
    let files = reports.files.into_iter().map(found(Folder::Report));
    let files = files.chain(root.into_iter().map(found(Folder::Root)));
    Ok((files.chain(data.files.into_iter().map(found(Folder::Data))).collect(), findings))
}

fn unreadable(path: &Path, fault: Fault) -> StoreError {
    StoreError::Disk { doing: fault.doing, path: path.join(&fault.name), source: fault.source }
}

/// Carries out an order on the directory.
fn perform<D: Disk>(vault: &mut Vault<D>, order: &Order) -> Result<Stored, Fault> {
    match order {
        Order::SetAside { at } => vault.set_aside(&at.to_string()).map(|()| Stored::Done),
        Order::Retire { at } => {
            vault.retire(&at.to_string()).map(|folder| Stored::Retired { folder })
        }
        Order::Restore => {
            vault.leave_room();
            vault.restore().and_then(|_| vault.staged()).map(Stored::Restored)
        }
        Order::MakeKey { at } => vault.make_key(&at.to_string()).map(Stored::KeyMade),
        Order::Persist(identity) => vault.persist(identity).map(|()| Stored::Persisted),
        Order::ForgetToken(_) => Ok(Stored::Done),
        Order::Stage => vault.stage().map(Stored::Staged),
        Order::Commit(record) => vault.commit(record).map(|()| Stored::Committed),
        Order::Discard => vault.discard().map(|()| Stored::Done),
        Order::Shelve => vault.shelve().map(|()| Stored::Done),
    }
}
