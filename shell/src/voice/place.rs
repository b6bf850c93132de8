//! A file that others write: opened without following a link of theirs and without waiting, and told from another one that
//! has come into its place.
//!
//! Whether a file is the one that was known is decided by [`tail::Place`](meshward_core::wire::sources::tail::Place).

use std::{
    collections::BTreeMap,
    ffi::{CStr, CString},
    fs::{File, Metadata},
    io,
    iter::Take,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use meshward_core::wire::sources::{
    lines::Lines,
    tail::{Found, HEAD_MAX, Next, Place},
};
use rustix::{
    fs::{Dir, FileType, Mode, OFlags, fstat, openat},
    io::{Errno, retry_on_intr},
};

use super::way::{Astray, folder_of};

/// The most names of a folder that are looked through for a file that was renamed.
const SIBLINGS_MAX: usize = 65_536;

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The number of a file, which a rename does not change; it may be given to another file once this one is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    pub(super) const fn at(place: &Place) -> Self {
        Self { device: place.device, inode: place.inode }
    }
}

/// What is seen of a file.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) identity: Identity,
    pub(super) size: u64,
    start: [u8; HEAD_MAX],
    length: usize,
}

impl Look {
    pub(super) fn at(file: &File) -> Result<Self, Errno> {
        let stat = fstat(file)?;
        let mut start = [0; HEAD_MAX];
        let mut length = 0;
        while length < HEAD_MAX {
            match retry_on_intr(|| rustix::io::pread(file, &mut start[length..], length as u64))? {
                0 => break,
                read => length += read,
            }
        }
        let identity = Identity { device: stat.st_dev, inode: stat.st_ino };
        // What was appended between the two calls is there.
        let size = u64::try_from(stat.st_size).unwrap_or_default().max(length as u64);
        Ok(Self { identity, size, start, length })
    }

    pub(super) fn found(&self) -> Found<'_> {
        let Identity { device, inode } = self.identity;
        Found { device, inode, size: self.size, start: &self.start[..self.length] }
    }
}

/// Opens a regular file to be read; `None` where nothing, or something else, is there.
pub(super) fn regular(path: &Path) -> Result<Option<File>, Astray> {
    match folder_of(path) {
        Ok(Some((folder, name))) => Ok(regular_at(folder, name)?),
        Ok(None) | Err(Astray::System(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn regular_at(
    folder: impl std::os::fd::AsFd,
    path: impl rustix::path::Arg + Copy,
) -> Result<Option<File>, Errno> {
    match retry_on_intr(|| openat(&folder, path, FILE, Mode::empty())) {
        Ok(file) => Ok(is_regular(&file)?.then(|| file.into())),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a regular file to be read; what stands there instead is told.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let Some((folder, name)) = folder_of(path)? else { return Err(Errno::ISDIR.into()) };
    open_at(folder, name)
}

/// As [`open`], on a way that the agent alone has made.
pub(super) fn open_own(path: &Path) -> io::Result<File> {
    open_at(rustix::fs::CWD, path)
}

fn open_at(
    folder: impl std::os::fd::AsFd,
    path: impl rustix::path::Arg + Copy,
) -> io::Result<File> {
    match retry_on_intr(|| openat(&folder, path, FILE, Mode::empty())) {
        Ok(file) if is_regular(&file)? => Ok(file.into()),
        Ok(_) => Err(io::Error::other("it is no regular file")),
        // What the kernel calls too many links is the one that stands there.
        Err(Errno::LOOP) => Err(io::Error::other("it is a link: name the file that it leads to")),
        Err(error) => Err(error.into()),
    }
}

fn is_regular(file: impl std::os::fd::AsFd) -> Result<bool, Errno> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::RegularFile)
}

/// The file of a place, by whatever name it has in the folder of a path.
pub(super) fn find(path: &Path, place: Place) -> Result<Option<(File, Look)>, Astray> {
    let Some((folder, listed)) = list(path)? else { return Ok(None) };
    for entry in listed {
        let entry = entry?;
        if entry.ino() == place.inode
            && let Some(found) = is_at(&folder, entry.file_name(), place)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The folder of a path, and the names in it; `None` where there is none.
fn list(path: &Path) -> Result<Option<(OwnedFd, Take<Dir>)>, Astray> {
    let folder = match folder_of(path) {
        Ok(Some((folder, _))) => folder,
        Ok(None) | Err(Astray::System(Errno::NOENT | Errno::NOTDIR)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let listed = retry_on_intr(|| openat(&folder, ".", LISTED, Mode::empty()))?;
    Ok(Some((folder, Dir::new(listed)?.take(SIBLINGS_MAX))))
}

/// The file of this name, if it is that of the place.
fn is_at(folder: &OwnedFd, name: &CStr, place: Place) -> Result<Option<(File, Look)>, Errno> {
    let Some(file) = regular_at(folder, name)? else { return Ok(None) };
    let look = Look::at(&file)?;
    Ok((place.next(&look.found()) == Next::On).then_some((file, look)))
}

/// As [`find`], for many places of one folder after another: each folder is listed once.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// The folder that was listed last; nothing where it is not there.
    listed: Option<(PathBuf, Option<Listed>)>,
}

#[derive(Debug)]
struct Listed {
    folder: OwnedFd,
    /// The names of each inode.
    names: BTreeMap<u64, Vec<CString>>,
}

impl Finder {
    pub(super) fn find(
        &mut self,
        path: &Path,
        place: Place,
    ) -> Result<Option<(File, Look)>, Astray> {
        let parent = path.parent().unwrap_or(path);
        if self.listed.as_ref().is_none_or(|(of, _)| of != parent) {
            self.listed = Some((parent.to_owned(), Listed::of(path)?));
        }
        let Some((_, Some(listed))) = &self.listed else { return Ok(None) };
        let Some(names) = listed.names.get(&place.inode) else { return Ok(None) };
        for name in names {
            if let Some(found) = is_at(&listed.folder, name, place)? {
                return Ok(Some(found));
            }
        }
        // It has another name by now, or its inode is that of another file.
        find(path, place)
    }
}

impl Listed {
    fn of(path: &Path) -> Result<Option<Self>, Astray> {
        let Some((folder, listed)) = list(path)? else { return Ok(None) };
        let mut names: BTreeMap<u64, Vec<CString>> = BTreeMap::new();
        for entry in listed {
            let entry = entry?;
            names.entry(entry.ino()).or_default().push(entry.file_name().to_owned());
        }
        Ok(Some(Self { folder, names }))
    }
}

/// Lines from here on; what stands in front tells whether it is within one, whose start was given then.
pub(super) fn lines(file: &File, offset: u64, max: usize) -> Result<Lines, Errno> {
    let mut before = *b"\n";
    if let Some(at) = offset.checked_sub(1) {
        retry_on_intr(|| rustix::io::pread(file, &mut before, at))?;
    }
    Ok(if before == *b"\n" { Lines::new(max) } else { Lines::within(max) })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, process::Command};

    use meshward_core::wire::sources::tail::Place;

    use super::{Look, find, open, regular};

    #[test]
    fn only_a_regular_file_that_stands_there_itself_is_opened_and_nothing_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::write(path("file"), "x").unwrap();
        symlink(path("file"), path("link")).unwrap();
        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        assert!(open(&path("file")).is_ok());
        let why = |name: &str| open(&path(name)).unwrap_err().to_string();
        assert!(why("link").contains("it is a link"), "{}", why("link"));
        assert!(why("pipe").contains("no regular file"), "{}", why("pipe"));
        assert!(open(home.path()).unwrap_err().to_string().contains("no regular file"));
        assert_eq!(open(&path("gone")).unwrap_err().kind(), std::io::ErrorKind::NotFound);
        for name in ["link", "pipe", "gone", "file/below"] {
            assert!(regular(&path(name)).unwrap().is_none(), "{name}");
        }
        assert!(regular(&path("file")).unwrap().is_some());
    }

    #[test]
    fn a_file_that_was_renamed_is_found_beside_its_place() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("audit.log");
        fs::write(&path, "old").unwrap();
        let place = Place::at_start(&Look::at(&open(&path).unwrap()).unwrap().found());
        fs::rename(&path, home.path().join("audit.log.1")).unwrap();
        fs::write(&path, "new").unwrap();
        let (found, look) = find(&path, place).unwrap().expect("it is beside");
        assert_eq!((std::io::read_to_string(found).unwrap().as_str(), look.size), ("old", 3));
        fs::remove_file(home.path().join("audit.log.1")).unwrap();
        assert!(find(&path, place).unwrap().is_none());
    }
}
