//! The files that patterns mean, found from folder to folder.
//!
//! | What is met | What is done |
//! |---|---|
//! | a regular file that is meant | found |
//! | a folder that a pattern leads to | looked into; through a symbolic link only where the pattern names it |
//! | a symbolic link, a pipe, a socket or a device that is meant | refused, and told |
//!
//! Specification: `reliability.md` section 3 (Log files by glob).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    os::fd::OwnedFd,
};

use meshward_core::{
    legible,
    wire::sources::pattern::{Here, Pattern},
};
use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat},
    io::Errno,
};

use crate::voice::place::Identity;

/// The most files that are found.
pub(crate) const FILES_MAX: usize = 512;

/// The most folders that are looked into in one round.
const DIRECTORIES_MAX: usize = 2_048;

/// The most names that are looked at in one round.
const NAMES_MAX: usize = 65_536;

/// How deep below the root a folder may be.
const DEPTH_MAX: usize = 64;

/// The most troubles of one round that are told.
const TROUBLES_MAX: usize = 8;

/// What a round finds.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) files: BTreeMap<String, Identity>,
    pub(super) troubles: Troubles,
    directories: usize,
    names: usize,
    crowded: bool,
}

/// What went wrong in a round, as much of it as is told.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    told: BTreeSet<String>,
    untold: usize,
}

/// A folder on the way, and what of a pattern it may be.
#[derive(Clone, Copy, Debug)]
struct Folder<'f> {
    pattern: &'f Pattern,
    here: Here,
    fd: &'f OwnedFd,
    /// Without a slash at its end.
    path: &'f str,
    depth: usize,
}

/// What a name stands for in a pattern.
struct Meant<'n> {
    name: &'n str,
    below: Here,
    as_file: bool,
    /// The pattern names it as it is.
    by_name: bool,
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Looks for the files that these patterns mean.
pub(super) fn walk(patterns: &[Pattern]) -> Walk {
    let mut walk = Walk::default();
    match openat(CWD, "/", FOLDER, Mode::empty()) {
        Ok(root) => {
            for pattern in patterns {
                let here = pattern.root();
                walk.folder(Folder { pattern, here, fd: &root, path: "", depth: 0 });
            }
        }
        Err(error) => walk.troubles.refused("/", error),
    }
    if walk.crowded {
        walk.troubles.told.insert(format!(
            "logs.file_patterns: more than {FILES_MAX} files, {DIRECTORIES_MAX} folders or {NAMES_MAX} names are met, \
             and the rest is not read: narrow the patterns"
        ));
    }
    walk
}

impl Walk {
    fn folder(&mut self, folder: Folder<'_>) {
        self.directories += 1;
        if self.directories > DIRECTORIES_MAX || folder.depth > DEPTH_MAX {
            self.crowded = true;
            return;
        }
        if let Some(only) = folder.pattern.only(folder.here) {
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
            self.names += 1;
            if self.names > NAMES_MAX {
                self.crowded = true;
                break;
            }
            let name = entry.file_name().to_string_lossy();
            let leads = !folder.pattern.below(folder.here, &name).is_nowhere();
            if name == "." || name == ".." || !(leads || folder.pattern.means(folder.here, &name)) {
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
        let below = folder.pattern.below(folder.here, name);
        let as_file = folder.pattern.means(folder.here, name);
        let path = format!("{}/{name}", folder.path);
        match statat(folder.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let identity = Identity { device: stat.st_dev, inode: stat.st_ino };
                let kind = FileType::from_raw_mode(stat.st_mode);
                self.met(folder, path, (kind, identity), &Meant { name, below, as_file, by_name });
            }
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(error) => self.troubles.refused(&path, error),
        }
    }

    fn met(
        &mut self,
        folder: Folder<'_>,
        path: String,
        (kind, identity): (FileType, Identity),
        meant: &Meant<'_>,
    ) {
        let leads = !meant.below.is_nowhere();
        match kind {
            FileType::RegularFile if meant.as_file => self.found(path, identity),
            FileType::RegularFile => {}
            FileType::Directory if leads => {
                self.enter(folder, &path, meant, FOLDER | OFlags::NOFOLLOW)
            }
            FileType::Directory if meant.by_name => self.troubles.tell(&path, IS_FOLDER),
            FileType::Directory => {}
            FileType::Symlink if leads && meant.by_name => self.enter(folder, &path, meant, FOLDER),
            FileType::Symlink if meant.as_file => self.troubles.tell(&path, IS_LINK),
            FileType::Symlink => {}
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown
                if meant.as_file =>
            {
                self.troubles.tell(&path, IS_SPECIAL)
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
    }

    fn enter(&mut self, folder: Folder<'_>, path: &str, meant: &Meant<'_>, flags: OFlags) {
        match openat(folder.fd, meant.name, flags, Mode::empty()) {
            Ok(fd) => self.folder(Folder {
                here: meant.below,
                fd: &fd,
                path,
                depth: folder.depth + 1,
                ..folder
            }),
            // It went, or became something else, meanwhile.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(error) => self.troubles.refused(path, error),
        }
    }

    fn found(&mut self, path: String, identity: Identity) {
        if self.files.len() < FILES_MAX || self.files.contains_key(&path) {
            self.files.insert(path, identity);
        } else {
            self.crowded = true;
        }
    }
}

const IS_FOLDER: &str = "it is a folder: write \"/*\" behind it for the files in it";
const IS_LINK: &str =
    "it is a symbolic link, which is not followed: name the file that it leads to";
const IS_SPECIAL: &str = "it is no regular file, and only those are read: leave it out";

impl Troubles {
    /// Tells what is wrong with a path, and how to mend it where that is known.
    pub(super) fn tell(&mut self, path: &str, what: impl Display) {
        let path = legible::line(if path.is_empty() { "/" } else { path });
        let text = format!("{path}: {what}");
        if self.told.len() < TROUBLES_MAX {
            self.told.insert(text);
        } else if !self.told.contains(&text) {
            self.untold += 1;
        }
    }

    /// Tells that the system refused something about a path.
    pub(super) fn refused(&mut self, path: &str, error: Errno) {
        match error {
            Errno::ACCESS | Errno::PERM => self.tell(path, format_args!("{error}: {MAY_NOT}")),
            error => self.tell(path, format_args!("it cannot be read: {error}")),
        }
    }

    pub(super) fn texts(self) -> Vec<String> {
        let untold = (self.untold > 0).then(|| format!("{} more are not told", self.untold));
        self.told.into_iter().chain(untold).collect()
    }
}

const MAY_NOT: &str = "add the user of the agent to the group that may read it, such as adm";
