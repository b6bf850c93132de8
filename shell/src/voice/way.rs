//! The way to a folder, name by name, so that nobody else says where it leads.
//!
//! | What stands on the way | Then |
//! |---|---|
//! | a folder | gone into |
//! | a symbolic link of root, or of the user of the agent | followed, and what it names is gone through in the same way |
//! | a symbolic link of anybody else | nothing behind it is read: it could lead to the keys of this agent |
//!
//! A program that may write to a folder of logs may put a link in its place, and the agent may read more than it may.
//!
//! Specification: `reliability.md` section 3 (Log files by glob; Data dir symlinks).

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStringExt as _,
    },
    path::{Component, Path},
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat},
    io::{Errno, retry_on_intr},
    process::geteuid,
};

/// The most links of one way, as the kernel has it.
const LINKS_MAX: usize = 40;

const STEP: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FOLDER: OFlags = STEP.union(OFlags::DIRECTORY);

/// Why a way is not gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Astray {
    #[error(transparent)]
    System(#[from] Errno),
    #[error(
        "a symbolic link of another user is on the way, which is not followed: name the folder that it leads to, or let \
         root own the link (chown -h root)"
    )]
    Foreign,
}

impl From<Astray> for io::Error {
    fn from(astray: Astray) -> Self {
        match astray {
            Astray::System(errno) => errno.into(),
            Astray::Foreign => Self::other(astray),
        }
    }
}

/// The folder in which a path has its last name, and that name; `None` of a path that has none.
pub(super) fn folder_of(path: &Path) -> Result<Option<(OwnedFd, &OsStr)>, Astray> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    let start = retry_on_intr(|| openat(CWD, ".", FOLDER, Mode::empty()))?;
    Ok(Some((go(start, folder, is_trusted)?, name)))
}

/// The folder of this name, or the one that a link of this name leads to.
pub(super) fn below(folder: impl AsFd, name: &str) -> Result<OwnedFd, Astray> {
    let start = retry_on_intr(|| openat(&folder, ".", FOLDER, Mode::empty()))?;
    go(start, Path::new(name), is_trusted)
}

/// Whether the links of a user lead where this process wants to go.
pub(super) fn is_trusted(user: u32) -> bool {
    user == 0 || user == geteuid().as_raw()
}

fn go(start: OwnedFd, path: &Path, is_trusted: fn(u32) -> bool) -> Result<OwnedFd, Astray> {
    let (mut at, mut links) = (start, 0);
    let mut ahead = Vec::new();
    put_ahead(&mut ahead, path);
    while let Some(name) = ahead.pop() {
        let next = retry_on_intr(|| openat(&at, &name, STEP, Mode::empty()))?;
        let stat = fstat(&next)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => at = next,
            FileType::Symlink if !is_trusted(stat.st_uid) => return Err(Astray::Foreign),
            FileType::Symlink if links >= LINKS_MAX => return Err(Errno::LOOP.into()),
            FileType::Symlink => {
                links += 1;
                let target = readlinkat(&next, "", Vec::new())?.into_bytes();
                put_ahead(&mut ahead, Path::new(&OsString::from_vec(target)));
            }
            FileType::RegularFile
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => return Err(Errno::NOTDIR.into()),
        }
    }
    Ok(at)
}

/// The names of a path, the first one last, so that it is taken next.
fn put_ahead(ahead: &mut Vec<OsString>, path: &Path) {
    let names = path.components().rev().filter_map(|component| match component {
        Component::RootDir => Some("/".into()),
        Component::ParentDir => Some("..".into()),
        Component::Normal(name) => Some(name.to_owned()),
        Component::CurDir | Component::Prefix(_) => None,
    });
    ahead.extend(names);
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::fs::{CWD, Mode, fstat, openat};

    use super::{Astray, Errno, FOLDER, folder_of, go};

    fn inode(of: &std::path::Path) -> u64 {
        std::os::unix::fs::MetadataExt::ino(&fs::metadata(of).unwrap())
    }

    #[test]
    fn a_way_leads_through_folders_and_trusted_links_to_where_the_kernel_would_go() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::create_dir_all(path("real/deep")).unwrap();
        symlink(path("real"), path("whole")).unwrap();
        symlink("../whole/./deep", path("real/part")).unwrap();
        symlink(path("loop"), path("loop")).unwrap();
        fs::write(path("file"), "x").unwrap();
        for way in ["real/deep/x", "whole/deep/x", "whole/part/x", "real/part/../deep/x"] {
            let way = path(way);
            let (folder, name) = folder_of(&way).unwrap().unwrap();
            assert_eq!(fstat(folder).unwrap().st_ino, inode(&path("real/deep")), "{way:?}");
            assert_eq!(name, "x");
        }
        let failed = |way: &str| folder_of(&path(way)).unwrap_err();
        assert_eq!(failed("gone/x"), Astray::System(Errno::NOENT));
        assert_eq!(failed("file/x"), Astray::System(Errno::NOTDIR));
        assert_eq!(failed("loop/x"), Astray::System(Errno::LOOP));
        assert!(folder_of("/".as_ref()).unwrap().is_none());
    }

    #[test]
    fn a_link_of_another_user_is_not_followed_wherever_it_stands() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::create_dir_all(path("real/deep")).unwrap();
        symlink(path("real"), path("link")).unwrap();
        let start = || openat(CWD, "/", FOLDER, Mode::empty()).unwrap();
        let nobody = |_| false;
        let home = home.path().canonicalize().unwrap();
        assert!(go(start(), &home.join("real/deep"), nobody).is_ok());
        for way in ["link", "link/deep", "real/../link"] {
            let astray = go(start(), &home.join(way), nobody).unwrap_err();
            assert_eq!(astray, Astray::Foreign, "{way}");
            assert!(astray.to_string().contains("chown -h root"));
        }
    }
}
