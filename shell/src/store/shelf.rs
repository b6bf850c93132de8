//! One folder below `state/`: its files read at the start, and changed in groups that become durable together.

use std::{io, mem};

use meshward_core::agent::{Change, Content, FoundContent};

use super::{
    disk::{Disk, Found},
    vault::{Context, Fault, UNFINISHED, clear_unfinished, write_anew},
};

/// The most files of a folder that are read.
pub(super) const FILES_MAX: usize = 16_384;

/// A folder of files that are each replaced as a whole.
#[derive(Debug)]
pub(super) struct Shelf<D> {
    disk: D,
}

impl<D: Disk> Shelf<D> {
    /// Takes a folder over from an earlier process.
    pub(super) fn open(mut disk: D) -> Result<Self, Fault> {
        clear_unfinished(&mut disk)?;
        Ok(Self { disk })
    }

    #[cfg(test)]
    pub(super) const fn disk(&mut self) -> &mut D {
        &mut self.disk
    }

    /// Every file by its name, sorted; `None` where there are too many.
    pub(super) fn load(&mut self) -> Result<Option<Vec<(String, FoundContent)>>, Fault> {
        let mut names = self.disk.names().doing("list", ".")?;
        names.retain(|name| !matches!(name.as_str(), "." | "..") && !name.starts_with(UNFINISHED));
        if names.len() > FILES_MAX {
            return Ok(None);
        }
        names.sort_unstable();
        let mut files = Vec::new();
        for name in names {
            let content = match self.disk.read(&name).doing("read", &name)? {
                Found::Missing => continue,
                Found::Foreign(kind) => FoundContent::Foreign(kind.to_owned()),
                Found::Bytes(bytes) => FoundContent::Bytes(Content(bytes.to_vec())),
            };
            files.push((name, content));
        }
        Ok(Some(files))
    }

    /// Carries out changes of different files. Each is durable, or refused, when this returns; none waits for a
    /// `sync` of its own.
    pub(super) fn carry_out(&mut self, changes: &[(String, Change)]) -> Vec<Result<(), Fault>> {
        let mut outcomes: Vec<_> =
            changes.iter().map(|(name, change)| self.prepare(name, change)).collect();
        for ((name, change), outcome) in changes.iter().zip(&mut outcomes) {
            if outcome.is_ok() {
                *outcome = self.apply(name, change);
            }
        }
        for ((name, change), outcome) in changes.iter().zip(&outcomes) {
            if let (Change::Write(_), Err(_)) = (change, outcome) {
                // What is left half-written is removed by the next start at the latest.
                drop(self.disk.unlink(&unfinished(name)));
            }
        }
        if outcomes.iter().any(Result::is_ok)
            && let Err(source) = self.disk.sync()
        {
            self.unsynced(changes, &mut outcomes, &source);
        }
        outcomes
    }

    /// What is not durable for sure has failed.
    fn unsynced(
        &self,
        changes: &[(String, Change)],
        outcomes: &mut [Result<(), Fault>],
        source: &io::Error,
    ) {
        for ((name, _), outcome) in changes.iter().zip(outcomes) {
            let source = io::Error::new(source.kind(), source.to_string());
            let fault = Fault { doing: "write", name: name.clone(), source };
            drop(mem::replace(outcome, Err(fault)));
        }
    }

    fn prepare(&mut self, name: &str, change: &Change) -> Result<(), Fault> {
        match change {
            Change::Write(content) => write_anew(&mut self.disk, &unfinished(name), &content.0)
                .map_err(|fault| Fault { name: name.to_owned(), ..fault }),
            Change::Remove | Change::Rename(_) => Ok(()),
        }
    }

    fn apply(&mut self, name: &str, change: &Change) -> Result<(), Fault> {
        match change {
            Change::Write(_) => self.disk.rename(&unfinished(name), name).doing("write", name),
            Change::Remove => match self.disk.unlink(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                unlinked => unlinked.doing("remove", name),
            },
            Change::Rename(to) => self.disk.rename(name, to).doing("rename", name),
        }
    }
}

fn unfinished(name: &str) -> String {
    format!("{UNFINISHED}{name}")
}
