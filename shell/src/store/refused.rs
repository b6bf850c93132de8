//! A refused identity makes room for a fresh registration: its files move into a folder that a note names, and come back
//! from there unless a new record is written first.
//!
//! The record leaves first and comes back last, so that at any time `identity.json` says whose the other files are.

use std::io;

use meshward_core::{
    agent::Finding,
    wire::{files::Flaw, identity::IdentityFile},
};
use rustix::io::Errno;

use super::{
    disk::{Disk, Found},
    vault::{Context, FILES, Fault, IDENTITY, Vault},
};

/// Names the folder while neither identity is settled.
pub(super) const NOTE: &str = "refused_identity";

/// What the names of folders begin with, inside the data directory.
const INSIDE: &str = "refused-";

/// What the note says.
enum Noted {
    Nothing,
    Folder(String),
    /// It names no folder; the text tells what is wrong.
    Damaged(String),
}

/// Whether it is a name as [`Vault::retire`] gives one: of a folder inside the data directory, or right beside it.
fn is_ours(folder: &&str) -> bool {
    let (name, is_marked) = match folder.strip_prefix("../") {
        Some(name) => (name, name.contains(&format!(".{INSIDE}"))),
        None => (*folder, folder.starts_with(INSIDE)),
    };
    is_marked && !name.contains(['/', '\0'])
}

fn is_no_folder(error: &io::Error) -> bool {
    let is_loop = Errno::from_io_error(error) == Some(Errno::LOOP);
    is_loop || matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl<D: Disk> Vault<D> {
    /// Moves a sound identity aside, beside the data directory, or into it where that cannot be. What an earlier try has
    /// moved comes back first.
    pub(super) fn retire(&mut self, time: &str) -> Result<String, Fault> {
        self.restore()?;
        let beside = self.disk.beside().map(|name| format!("{name}.{INSIDE}{time}"));
        if let Some(folder) = beside
            && let Ok(folder) = self.fresh_folder(&folder)
        {
            if self.move_out(&folder).is_ok() {
                return Ok(folder);
            }
            self.restore()?;
        }
        let folder = self.fresh_folder(&format!("{INSIDE}{time}"))?;
        self.move_out(&folder)?;
        Ok(folder)
    }

    fn move_out(&mut self, folder: &str) -> Result<(), Fault> {
        self.replace(NOTE, folder.as_bytes())?;
        for name in FILES {
            if !matches!(self.disk.read(name).doing("read", name)?, Found::Missing) {
                self.disk.move_into(name, folder).doing("move aside", name)?;
                self.disk.sync_folder(folder).doing("sync", folder)?;
                self.disk.sync().doing("sync", ".")?;
            }
        }
        Ok(())
    }

    /// Puts a refused identity back, unless its place is taken by a new one; without a note there is nothing to do.
    ///
    /// A note that names no folder says where an identity is that cannot be found: an error, so that no registration
    /// takes its place. Beside a sound record it says nothing that matters, and goes.
    pub(super) fn restore(&mut self) -> Result<Option<Finding>, Fault> {
        let folder = match self.noted()? {
            Noted::Nothing => return Ok(None),
            Noted::Folder(folder) => folder,
            Noted::Damaged(reason) if self.has_record()? => return self.needless(reason).map(Some),
            Noted::Damaged(reason) => return Err(self.mend(&reason)).doing("follow", NOTE),
        };
        let is_lacking =
            matches!(self.disk.read(IDENTITY).doing("read", IDENTITY)?, Found::Missing);
        let mut found = None;
        if is_lacking {
            for name in FILES.iter().rev() {
                if self.move_back(&folder, name)? && *name == IDENTITY {
                    found = Some(Finding::PutBack { folder: folder.clone() });
                }
            }
        }
        self.settle()?;
        // A folder that is empty now is of no use; one that is not keeps what it has.
        let _ = self.disk.remove_folder(&folder);
        Ok(found)
    }

    /// Reads the note. It is written whole before it gets its name, and its folder is durable before it and goes after
    /// it, so that no crash leaves a note that is damaged.
    fn noted(&mut self) -> Result<Noted, Fault> {
        let bytes = match self.disk.read(NOTE).doing("read", NOTE)? {
            Found::Missing => return Ok(Noted::Nothing),
            Found::Foreign(kind) => {
                return Ok(Noted::Damaged(format!("it {}", Flaw::Foreign(kind))));
            }
            Found::Bytes(bytes) => bytes,
        };
        if let Some(lost) = Flaw::of_lost(bytes.trim_ascii()) {
            return Ok(Noted::Damaged(format!("it {lost}")));
        }
        let Some(folder) = std::str::from_utf8(&bytes).ok().map(str::trim_ascii).filter(is_ours)
        else {
            return Ok(Noted::Damaged("it holds no name of such a folder".to_owned()));
        };
        match self.disk.sync_folder(folder) {
            Ok(()) => Ok(Noted::Folder(folder.to_owned())),
            Err(error) if is_no_folder(&error) => {
                Ok(Noted::Damaged(format!("there is no folder {folder:?}, which it names")))
            }
            Err(error) => Err(error).doing("open", folder),
        }
    }

    fn has_record(&mut self) -> Result<bool, Fault> {
        let found = self.disk.read(IDENTITY).doing("read", IDENTITY)?;
        Ok(matches!(found, Found::Bytes(bytes) if IdentityFile::decode(&bytes).is_ok()))
    }

    /// What cannot be removed, as a folder, stays and is told again.
    fn needless(&mut self, reason: String) -> Result<Finding, Fault> {
        let removed = match self.settle() {
            Ok(()) => Ok(()),
            Err(fault) if fault.doing == "remove" => Err(fault.source.to_string()),
            Err(fault) => return Err(fault),
        };
        Ok(Finding::NeedlessNote { name: NOTE, reason, removed })
    }

    fn mend(&self, reason: &str) -> io::Error {
        let beside = self.disk.beside().map_or_else(String::new, |name| {
            format!("{name}.{INSIDE}<time> for one beside the data directory, or ")
        });
        io::Error::other(format!(
            "{reason}; it tells where the identity of this node is kept while identity.json is missing. Write the name \
             of that folder into it ({beside}{INSIDE}<time> for one inside), or remove it to have this node register \
             afresh with a new bootstrap token"
        ))
    }

    fn move_back(&mut self, folder: &str, name: &str) -> Result<bool, Fault> {
        let kept = format!("{folder}/{name}");
        if matches!(self.disk.read(&kept).doing("read", &kept)?, Found::Missing) {
            return Ok(false);
        }
        self.disk.rename(&kept, name).doing("put back", name)?;
        self.disk.sync().doing("sync", ".")?;
        self.disk.sync_folder(folder).doing("sync", folder)?;
        Ok(true)
    }

    /// One identity is in place for good: the note goes.
    pub(super) fn settle(&mut self) -> Result<(), Fault> {
        match self.disk.unlink(NOTE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            unlinked => {
                unlinked.doing("remove", NOTE)?;
                self.disk.sync().doing("sync", ".")
            }
        }
    }
}
