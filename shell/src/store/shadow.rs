//! A disk in memory that keeps what is seen and what is durable apart, and that stops or fails at a chosen operation.

use std::{collections::BTreeMap, io};

use zeroize::Zeroizing;

use super::{
    disk::{Disk, Found, Names},
    vault::UNFINISHED,
};

/// A change of names that a power failure may undo.
#[derive(Clone, Debug)]
enum Change {
    Link(String, usize),
    Unlink(String),
    Rename(String, String, usize),
}

#[derive(Clone, Debug, Default)]
struct Inode {
    seen: Vec<u8>,
    /// What a power failure leaves for sure; the rest is any of [`remains`].
    synced: bool,
}

/// What happens at the chosen operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The process ends before it: every later operation fails and changes nothing.
    Stop,
    /// It fails, and the process goes on.
    Fail(i32),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Shadow {
    inodes: Vec<Inode>,
    seen: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    pending: Vec<Change>,
    /// How many operations were begun.
    pub(super) begun: usize,
    pub(super) fate: Option<(usize, Fate)>,
    /// Nothing can be made beside the directory.
    pub(super) alone: bool,
    /// There is neither a block nor an inode left.
    pub(super) full: bool,
}

/// The most pending changes of which every subset is tried.
const PENDING_MAX: usize = 12;

/// What a power failure may leave of content that was not synced.
fn remains(whole: &[u8]) -> [Vec<u8>; 4] {
    [whole.to_vec(), Vec::new(), whole[..whole.len() / 2].to_vec(), vec![0; whole.len()]]
}

impl Shadow {
    /// The content under a name.
    pub(super) fn content(&self, name: &str) -> Option<&[u8]> {
        Some(&self.inodes[*self.seen.get(name)?].seen)
    }

    /// How many files have an unfinished name.
    pub(super) fn unfinished(&self) -> usize {
        self.seen.keys().filter(|name| name.starts_with(UNFINISHED)).count()
    }

    /// Puts a file there, durable, as if it had always been.
    pub(super) fn plant(&mut self, name: &str, content: &[u8]) {
        self.inodes.push(Inode { seen: content.to_vec(), synced: true });
        self.seen.insert(name.into(), self.inodes.len() - 1);
        self.durable.insert(name.into(), self.inodes.len() - 1);
    }

    /// The same disk as a new process finds it, all that was seen still there and still not durable.
    pub(super) fn restarted(&self) -> Self {
        Self { begun: 0, fate: None, ..self.clone() }
    }

    /// Every disk that a power failure here may leave.
    pub(super) fn images(&self) -> Vec<Self> {
        let count = self.pending.len();
        assert!(count <= PENDING_MAX, "{count} changes are pending: some sync is missing");
        let unsynced: Vec<_> =
            (0..self.inodes.len()).filter(|at| !self.inodes[*at].synced).collect();
        assert!(unsynced.len() <= 2, "{} files are not synced", unsynced.len());
        let mut images = Vec::new();
        for subset in 0..1_usize << count {
            for choice in 0..4_usize.pow(u32::try_from(unsynced.len()).unwrap()) {
                images.push(self.image(subset, choice, &unsynced));
            }
        }
        images
    }

    fn image(&self, subset: usize, mut choice: usize, unsynced: &[usize]) -> Self {
        let mut image = Self { inodes: self.inodes.clone(), alone: self.alone, ..Self::default() };
        for at in unsynced {
            image.inodes[*at].seen = remains(&self.inodes[*at].seen)[choice % 4].clone();
            choice /= 4;
        }
        for inode in &mut image.inodes {
            inode.synced = true;
        }
        let mut names = self.durable.clone();
        for (at, change) in self.pending.iter().enumerate() {
            if subset >> at & 1 == 1 {
                apply(&mut names, change);
            }
        }
        // A folder that is not there has nothing in it.
        let folders: Vec<_> = names.keys().cloned().collect();
        names.retain(|name, _| match name.rsplit_once('/') {
            Some((folder, _)) if folder != ".." => folders.iter().any(|one| one == folder),
            Some(_) | None => true,
        });
        image.seen.clone_from(&names);
        image.durable = names;
        image
    }

    fn begin(&mut self) -> io::Result<()> {
        let at = self.begun;
        self.begun += 1;
        match self.fate {
            Some((chosen, Fate::Stop)) if at >= chosen => Err(io::Error::other("stopped")),
            Some((chosen, Fate::Fail(code))) if at == chosen => {
                Err(io::Error::from_raw_os_error(code))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.seen, &change);
        self.pending.push(change);
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        self.seen.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn make(&mut self, name: &str) -> io::Result<usize> {
        if self.seen.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.inodes.push(Inode::default());
        let inode = self.inodes.len() - 1;
        self.change(Change::Link(name.into(), inode));
        Ok(inode)
    }
}

fn apply(names: &mut BTreeMap<String, usize>, change: &Change) {
    match change {
        Change::Link(name, inode) => {
            names.insert(name.clone(), *inode);
        }
        Change::Unlink(name) => {
            names.remove(name);
        }
        Change::Rename(from, to, inode) => {
            names.insert(to.clone(), *inode);
            if names.get(from) == Some(inode) {
                names.remove(from);
            }
        }
    }
}

impl Disk for Shadow {
    /// An inode, and where in it is written next.
    type File = (usize, usize);

    fn create(&mut self, name: &str) -> io::Result<Self::File> {
        self.begin()?;
        if self.full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok((self.make(name)?, 0))
    }

    fn reopen(&mut self, name: &str) -> io::Result<Self::File> {
        self.begin()?;
        Ok((self.find(name)?, 0))
    }

    fn write(&mut self, (inode, at): &mut Self::File, bytes: &[u8]) -> io::Result<()> {
        let begun = self.begin();
        let half = if begun.is_err() && self.fate.is_some_and(|(_, fate)| fate != Fate::Stop) {
            bytes.len() / 2
        } else if begun.is_err() {
            0
        } else {
            bytes.len()
        };
        let inode = &mut self.inodes[*inode];
        let end = *at + half;
        if inode.seen.len() < end {
            if self.full {
                return Err(io::ErrorKind::StorageFull.into());
            }
            inode.seen.resize(end, 0);
        }
        inode.seen[*at..end].copy_from_slice(&bytes[..half]);
        *at = end;
        inode.synced = false;
        begun
    }

    fn cut(&mut self, (inode, _): &mut Self::File, length: usize) -> io::Result<()> {
        self.begin()?;
        let inode = &mut self.inodes[*inode];
        inode.seen.truncate(length);
        inode.synced = false;
        Ok(())
    }

    fn sync_file(&mut self, (inode, _): &mut Self::File) -> io::Result<()> {
        self.begin()?;
        self.inodes[*inode].synced = true;
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.begin()?;
        let inode = self.find(from)?;
        self.change(Change::Rename(from.into(), to.into(), inode));
        Ok(())
    }

    fn unlink(&mut self, name: &str) -> io::Result<()> {
        self.begin()?;
        self.find(name)?;
        self.change(Change::Unlink(name.into()));
        Ok(())
    }

    fn read_within(&mut self, name: &str, most: usize) -> io::Result<Found> {
        self.begin()?;
        Ok(match self.content(name) {
            None => Found::Missing,
            Some(bytes) if bytes.len() > most => Found::Foreign("too large"),
            Some(bytes) => Found::Bytes(Zeroizing::new(bytes.to_vec())),
        })
    }

    fn names(&mut self) -> io::Result<Names> {
        self.begin()?;
        let names = self.seen.keys().filter(|name| !name.contains('/')).cloned().collect();
        Ok(Names { names, foreign: 0 })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.begin()?;
        self.pending.clear();
        self.durable.clone_from(&self.seen);
        Ok(())
    }

    fn beside(&self) -> Option<String> {
        (!self.alone).then(|| "../data".to_owned())
    }

    fn make_folder(&mut self, folder: &str) -> io::Result<()> {
        self.begin()?;
        let inode = self.make(folder)?;
        self.inodes[inode].synced = true;
        if folder.starts_with("../") {
            // The directory above is synced, and whatever was made of this name before is settled with it.
            self.durable.insert(folder.into(), inode);
            self.pending.retain(|change| match change {
                Change::Link(name, _) | Change::Unlink(name) => name != folder,
                Change::Rename(..) => true,
            });
        }
        Ok(())
    }

    fn remove_folder(&mut self, folder: &str) -> io::Result<()> {
        self.begin()?;
        self.find(folder)?;
        if self.seen.keys().any(|name| name.starts_with(&format!("{folder}/"))) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        self.change(Change::Unlink(folder.into()));
        Ok(())
    }

    fn move_into(&mut self, name: &str, folder: &str) -> io::Result<()> {
        self.begin()?;
        let inode = self.find(name)?;
        self.find(folder)?;
        self.change(Change::Rename(name.into(), format!("{folder}/{name}"), inode));
        Ok(())
    }

    /// A move is undone as a whole or not at all, and it counts as durable only when the directory it left is.
    fn sync_folder(&mut self, folder: &str) -> io::Result<()> {
        self.begin()?;
        self.find(folder).map(|_| ())
    }
}
