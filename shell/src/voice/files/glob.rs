//! The files that patterns mean, found from folder to folder.
//!
//! | What is met | What is done |
//! |---|---|
//! | a regular file that is meant | found |
//! | a folder that a pattern leads to | looked into; through a symbolic link only where the pattern names it, and `way.rs` trusts it |
//! | a symbolic link, a pipe, a socket or a device that is meant | refused, and told |
//! | the data directory of this agent, and what the kernel shows of itself, as `/proc` | never looked into |
//! | more than can be followed | each user's part of it, as `meshward_core::wire::sources::crowd` says |
//!
//! Specification: `reliability.md` section 3 (Log files by glob).

use std::{
    collections::{BTreeMap, BTreeSet},
    os::fd::OwnedFd,
};

use meshward_core::wire::sources::{
    crowd::{Budget, Crowd},
    pattern::{Here, Pattern},
};
use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, FsWord, Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs,
        openat, statat,
    },
    io::Errno,
};

use super::troubles::Troubles;
use crate::voice::{
    place::Identity,
    way::{self, Astray, is_trusted},
};

/// The most files that are found.
pub(crate) const FILES_MAX: usize = 512;

/// The most folders that are looked into in one round.
const DIRECTORIES_MAX: usize = 2_048;

/// The most names that are looked at in one round.
const NAMES_MAX: usize = 65_536;

/// How deep below the root a folder may be.
const DEPTH_MAX: usize = 64;

/// The file systems by which the kernel shows itself: proc, sysfs, debugfs, tracefs, securityfs, and control groups. To
/// read there may do something, and what processes were started with stands there.
const OF_THE_KERNEL: [FsWord; 7] = [
    PROC_SUPER_MAGIC,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
];

/// What a round finds.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) files: BTreeMap<String, Identity>,
    pub(super) troubles: Troubles,
}

#[derive(Debug)]
struct Walker {
    /// The folder that is kept out of.
    own: Option<Identity>,
    crowd: Crowd<Identity>,
    troubles: Troubles,
    directories: Budget,
    names: Budget,
    crowded: bool,
}

/// A folder on the way, and what of a pattern it may be.
#[derive(Clone, Copy, Debug)]
struct Folder<'f> {
    pattern: (usize, &'f Pattern),
    here: Here,
    fd: &'f OwnedFd,
    owner: u32,
    /// Without a slash at its end.
    path: &'f str,
    depth: usize,
}

/// What a name stands for in a pattern.
#[derive(Clone, Copy, Debug)]
struct Meant<'n> {
    name: &'n str,
    below: Here,
    as_file: bool,
    /// The pattern names it as it is.
    by_name: bool,
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Looks for the files that these patterns mean, and never in the folder that is kept out of.
pub(super) fn walk(patterns: &[Pattern], own: Option<Identity>) -> Walk {
    let mut walker = Walker {
        own,
        crowd: Crowd::new(FILES_MAX),
        troubles: Troubles::default(),
        directories: Budget::new(DIRECTORIES_MAX),
        names: Budget::new(NAMES_MAX),
        crowded: false,
    };
    match openat(CWD, "/", FOLDER, Mode::empty()) {
        Ok(root) => {
            for pattern in patterns.iter().enumerate() {
                let here = pattern.1.root();
                walker.folder(Folder { pattern, here, fd: &root, owner: 0, path: "", depth: 0 });
            }
        }
        Err(error) => walker.troubles.refused("/", error),
    }
    walker.done()
}

impl Walker {
    fn done(self) -> Walk {
        let Self { crowd, mut troubles, crowded, .. } = self;
        let (files, is_left_out) = crowd.shared(is_trusted);
        if crowded || is_left_out {
            troubles.tell_of_all(format!(
                "logs.file_patterns: more than {FILES_MAX} files, {DIRECTORIES_MAX} folders or {NAMES_MAX} names are met, \
                 or more than the part of one user in them, and the rest is not read: narrow the patterns"
            ));
        }
        Walk { files, troubles }
    }

    fn folder(&mut self, folder: Folder<'_>) {
        if folder.depth > DEPTH_MAX
            || !self.directories.take(folder.owner, is_trusted(folder.owner))
        {
            self.crowded = true;
            return;
        }
        if let Some(only) = folder.pattern.1.only(folder.here) {
            self.name(folder, only, true);
            return;
        }
        let names = match self.list(folder) {
            Ok(names) => names,
            Err(error) => return self.troubles.refused(folder.path, error),
        };
        for name in names {
            self.name(folder, &name, false);
        }
    }

    /// The names in a folder that a pattern goes on with, in order.
    fn list(&mut self, folder: Folder<'_>) -> Result<BTreeSet<String>, Errno> {
        let mut names = BTreeSet::new();
        for entry in Dir::new(openat(folder.fd, ".", LISTED, Mode::empty())?)? {
            let entry = entry?;
            if !self.names.take(folder.owner, is_trusted(folder.owner)) {
                self.crowded = true;
                break;
            }
            let name = entry.file_name().to_string_lossy();
            let (_, pattern) = folder.pattern;
            let leads = !pattern.below(folder.here, &name).is_nowhere();
            if name == "." || name == ".." || !(leads || pattern.means(folder.here, &name)) {
                continue;
            }
            if entry.file_name().to_str().is_err() {
                let path = format!("{}/{name}", folder.path);
                self.troubles.tell(&path, "its name is not UTF-8: rename it, it is not read");
                continue;
            }
            names.insert(name.into_owned());
        }
        Ok(names)
    }

    fn name(&mut self, folder: Folder<'_>, name: &str, by_name: bool) {
        let below = folder.pattern.1.below(folder.here, name);
        let as_file = folder.pattern.1.means(folder.here, name);
        let path = format!("{}/{name}", folder.path);
        match statat(folder.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let identity = Identity { device: stat.st_dev, inode: stat.st_ino };
                let kind = FileType::from_raw_mode(stat.st_mode);
                let meant = Meant { name, below, as_file, by_name };
                if kind == FileType::RegularFile && as_file {
                    let group = (folder.pattern.0, stat.st_uid);
                    self.crowded |= !self.crowd.found(group, path, identity);
                } else {
                    self.met(folder, &path, kind, meant);
                }
            }
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(error) => self.troubles.refused(&path, error),
        }
    }

    fn met(&mut self, folder: Folder<'_>, path: &str, kind: FileType, meant: Meant<'_>) {
        let leads = !meant.below.is_nowhere();
        match kind {
            FileType::RegularFile => {}
            FileType::Directory if leads => {
                let flags = FOLDER | OFlags::NOFOLLOW;
                let opened = openat(folder.fd, meant.name, flags, Mode::empty());
                self.enter(folder, path, meant, opened.map_err(Astray::from));
            }
            FileType::Directory if meant.by_name => self.troubles.tell(path, IS_FOLDER),
            FileType::Directory => {}
            FileType::Symlink if leads && meant.by_name => {
                self.enter(folder, path, meant, way::below(folder.fd, meant.name));
            }
            FileType::Symlink if meant.as_file => self.troubles.tell(path, IS_LINK),
            FileType::Symlink => {}
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown
                if meant.as_file =>
            {
                self.troubles.tell(path, IS_SPECIAL)
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
    }

    fn enter(
        &mut self,
        folder: Folder<'_>,
        path: &str,
        meant: Meant<'_>,
        opened: Result<OwnedFd, Astray>,
    ) {
        let looked = opened.and_then(|fd| Ok((self.owner(&fd)?, fd)));
        match looked {
            Ok((Some(owner), fd)) => self.folder(Folder {
                here: meant.below,
                fd: &fd,
                owner,
                path,
                depth: folder.depth + 1,
                ..folder
            }),
            Ok((None, _)) if meant.by_name => self.troubles.tell(path, IS_NO_PLACE),
            Ok((None, _)) => {}
            // It went, or became something else, meanwhile.
            Err(Astray::System(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => {}
            Err(error) => self.troubles.refused(path, error),
        }
    }

    /// Whose folder this is, unless it is never looked into.
    fn owner(&self, fd: &OwnedFd) -> Result<Option<u32>, Errno> {
        let stat = fstat(fd)?;
        let identity = Identity { device: stat.st_dev, inode: stat.st_ino };
        let is_closed = self.own == Some(identity) || OF_THE_KERNEL.contains(&fstatfs(fd)?.f_type);
        Ok((!is_closed).then_some(stat.st_uid))
    }
}

const IS_NO_PLACE: &str =
    "it is the agent's own, or shows the kernel itself, and is not read: leave it out";
const IS_FOLDER: &str = "it is a folder: write \"/*\" behind it for the files in it";
const IS_LINK: &str =
    "it is a symbolic link, which is not followed: name the file that it leads to";
const IS_SPECIAL: &str = "it is no regular file, and only those are read: leave it out";
