//! A refused identity makes room for a fresh registration: its files move into a folder that a note names, and come back
//! from there unless a new record is written first.
//!
//! The record leaves first and comes back last, so that at any time `identity.json` says whose the other files are.

use std::io;

use super::{
    disk::{Disk, Found},
    vault::{Context, FILES, Fault, IDENTITY, Vault},
};

/// Names the folder while neither identity is settled.
pub(super) const NOTE: &str = "refused_identity";

/// What the names of folders begin with, inside the data directory.
const INSIDE: &str = "refused-";

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
    pub(super) fn restore(&mut self) -> Result<(), Fault> {
        let Found::Bytes(bytes) = self.disk.read(NOTE).doing("read", NOTE)? else { return Ok(()) };
        let folder = String::from_utf8_lossy(&bytes).into_owned();
        if matches!(self.disk.read(IDENTITY).doing("read", IDENTITY)?, Found::Missing) {
            for name in FILES.iter().rev() {
                self.move_back(&folder, name)?;
            }
        }
        self.settle()?;
        // A folder that is empty now is of no use; one that is not keeps what it has.
        let _ = self.disk.remove_folder(&folder);
        Ok(())
    }

    fn move_back(&mut self, folder: &str, name: &str) -> Result<(), Fault> {
        let kept = format!("{folder}/{name}");
        if matches!(self.disk.read(&kept).doing("read", &kept)?, Found::Missing) {
            return Ok(());
        }
        self.disk.rename(&kept, name).doing("put back", name)?;
        self.disk.sync().doing("sync", ".")?;
        self.disk.sync_folder(folder).doing("sync", folder)
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
