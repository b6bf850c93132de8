//! What a folder holds of an earlier process, or of somebody else: removed or left at its opening, told once.

use std::path::Path;

use meshward_core::agent::Finding;

use super::{
    disk::{Disk, Names},
    vault::{Context, Fault, UNFINISHED},
};

/// What the opening of a folder met.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    removed: usize,
    /// What could not be removed.
    left: Vec<Fault>,
    /// How many names are not UTF-8.
    foreign: usize,
}

impl Leftovers {
    /// Removes what earlier processes left half-written.
    pub(super) fn clear<D: Disk>(disk: &mut D) -> Result<Self, Fault> {
        let Names { names, foreign } = disk.names().doing("list", ".")?;
        let mut met = Self { foreign, ..Self::default() };
        for name in names.iter().filter(|name| name.starts_with(UNFINISHED)) {
            match disk.unlink(name).doing("remove", name) {
                Ok(()) => met.removed += 1,
                Err(fault) => met.left.push(fault),
            }
        }
        disk.sync().doing("sync", ".")?;
        Ok(met)
    }

    /// Something in whose place nothing can be written.
    pub(super) fn take_folder(&mut self) -> Option<Fault> {
        let at = self.left.iter().position(Fault::is_of_a_folder)?;
        Some(self.left.swap_remove(at))
    }

    /// What there is to be told of the folder with this path.
    pub(super) fn findings(self, path: &Path) -> Vec<Finding> {
        let folder = path.display().to_string();
        let uncleared = self.left.into_iter().map(|fault| Finding::Uncleared {
            file: path.join(fault.name).display().to_string(),
            cause: fault.source.to_string(),
        });
        let mut findings: Vec<_> = uncleared.collect();
        if self.removed > 0 {
            findings.push(Finding::Cleared { folder: folder.clone(), files: self.removed });
        }
        if self.foreign > 0 {
            findings.push(Finding::ForeignNames { folder, names: self.foreign });
        }
        findings
    }
}
