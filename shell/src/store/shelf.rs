//! One folder below `state/`: its files read at the start, and changed in groups that become durable together.

use std::{io, mem, path::Path};

use meshward_core::{
    agent::{Change, Content, Finding, FoundContent},
    wire::kept,
};

use super::{
    disk::{Disk, FILE_MAX, Found, Names},
    leftovers::Leftovers,
    vault::{Context, Fault, UNFINISHED, write_anew},
};

/// The most files of a folder that are read.
pub(super) const FILES_MAX: usize = 16_384;

/// How many bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Most {
    pub(super) of_one: usize,
    pub(super) of_all: usize,
}

impl Most {
    /// Of reports, which are small.
    pub(super) const REPORTS: Self = Self { of_one: FILE_MAX, of_all: FILE_MAX * FILES_MAX };

    /// Of what was pulled, of which one may be nearly all.
    pub(super) const PULLED: Self =
        Self { of_one: kept::PULLED_FILE_MAX, of_all: kept::PULLED_MAX };
}

/// What is in a folder.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) files: Vec<(String, FoundContent)>,
    /// There are more than [`FILES_MAX`], which are not read.
    pub(super) is_crowded: bool,
}

/// A folder of files that are each replaced as a whole.
#[derive(Debug)]
pub(super) struct Shelf<D> {
    disk: D,
    /// Until it is told.
    leftovers: Leftovers,
}

impl<D: Disk> Shelf<D> {
    /// Takes a folder over from an earlier process.
    pub(super) fn open(mut disk: D) -> Result<Self, Fault> {
        let leftovers = Leftovers::clear(&mut disk)?;
        Ok(Self { disk, leftovers })
    }

    #[cfg(test)]
    pub(super) const fn disk(&mut self) -> &mut D {
        &mut self.disk
    }

    /// What its opening met, told of the folder with this path.
    pub(super) fn leftovers(&mut self, path: &Path) -> Vec<Finding> {
        mem::take(&mut self.leftovers).findings(path)
    }

    /// The files by their names, sorted, but for those that were damaged at an earlier start.
    pub(super) fn load(&mut self, most: Most) -> Result<Loaded, Fault> {
        let Names { mut names, .. } = self.disk.names().doing("list", ".")?;
        names.retain(|name| {
            !matches!(name.as_str(), "." | "..")
                && !name.starts_with(UNFINISHED)
                && !kept::is_damaged_name(name)
        });
        names.sort_unstable();
        let is_crowded = names.len() > FILES_MAX;
        names.truncate(FILES_MAX);
        let (mut files, mut left) = (Vec::new(), most.of_all);
        for name in names {
            let Some(content) = self.load_one(&name, most.of_one.min(left))? else { continue };
            if let FoundContent::Bytes(Content(bytes)) = &content {
                left -= bytes.len();
            }
            files.push((name, content));
        }
        Ok(Loaded { files, is_crowded })
    }

    /// One file of those that are there; `None` where it is missing.
    pub(super) fn load_one(
        &mut self,
        name: &str,
        most: usize,
    ) -> Result<Option<FoundContent>, Fault> {
        Ok(match self.disk.read_within(name, most).doing("read", name)? {
            Found::Missing => None,
            Found::Foreign(kind) => Some(FoundContent::Foreign(kind.to_owned())),
            Found::Bytes(bytes) => Some(FoundContent::Bytes(Content(bytes.to_vec()))),
        })
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

#[cfg(test)]
mod tests {
    use meshward_core::agent::{Content, FoundContent};

    use super::{super::shadow::Shadow, Most, Shelf};

    #[test]
    fn of_a_folder_so_much_is_read_and_what_is_beyond_is_told() {
        let mut disk = Shadow::default();
        for (name, content) in [
            ("a.json", "0123456789"),
            ("a.json.damaged-2027-01-15T08:00:00Z", "0123456789"),
            ("b.json", "01234567890"),
            ("c.json", "012345"),
            ("d.json", "01234"),
        ] {
            disk.plant(name, content.as_bytes());
        }
        let loaded = Shelf::open(disk).unwrap().load(Most { of_one: 10, of_all: 15 }).unwrap();
        let read = |text: &str| FoundContent::Bytes(Content(text.into()));
        let beyond = FoundContent::Foreign("too large".to_owned());
        let expected = [
            ("a.json", read("0123456789")),
            ("b.json", beyond.clone()),
            ("c.json", beyond),
            ("d.json", read("01234")),
        ];
        assert_eq!(loaded.files, expected.map(|(name, content)| (name.to_owned(), content)));
        assert!(!loaded.is_crowded);
    }
}
