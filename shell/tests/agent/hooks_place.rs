//! A hooks directory of its own for each test, as root puts it there.

use std::{
    ffi::OsStr,
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{OpenOptionsExt as _, PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use meshward_core::{
    agent::{FoundHook, FoundProgram, FoundSidecar, Input, Scan, Sight, hooks::trust::Distrust},
    wire::grammar::Checksum,
};
use meshward_shell::hooks::{self, HooksDir, Watch};
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::node::PATIENCE;

pub(crate) const GOOD: &str = "#!/bin/sh\necho good\n";

/// Hooks are root's; without root there is nothing to be seen here.
pub(crate) fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        let told = "passed over: only root can make a hook\n";
        io::stderr().write_all(told.as_bytes()).unwrap();
    }
    root
}

pub(crate) struct Place {
    home: TempDir,
    pub(crate) hooks: HooksDir,
}

impl Place {
    /// `None` where nobody is root.
    pub(crate) fn new() -> Option<Self> {
        is_root().then(|| {
            let home = tempfile::tempdir().unwrap();
            let hooks = HooksDir::new(&home.path().join("hooks"));
            fs::create_dir(hooks.path()).unwrap();
            chmod(hooks.path(), 0o755);
            let place = Self { home, hooks };
            fs::write(place.path("outside"), "#!/bin/sh\necho outside\n").unwrap();
            chmod(&place.path("outside"), 0o755);
            place
        })
    }

    /// A path beside the hooks directory, where there is a program `outside`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// A path in the hooks directory.
    pub(crate) fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.hooks.path().join(name)
    }

    /// Writes a file of the directory itself: a link is never written through, as root's tests would change the system.
    pub(crate) fn put(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>, mode: u32) {
        let no_link = OFlags::NOFOLLOW.bits().try_into().unwrap();
        let mut options = File::options();
        options.write(true).create(true).truncate(true).custom_flags(no_link);
        let mut file = options.open(self.file(name)).unwrap();
        file.write_all(content.as_ref()).unwrap();
        file.set_permissions(Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn hook(&self, name: &str, content: &str) {
        self.put(name, content, 0o755);
    }

    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.file(name)).unwrap();
    }

    /// One look, and the watch that it made.
    pub(crate) fn look(&self) -> (Scan, Option<Watch>, mpsc::Receiver<Input>) {
        let (facts, told) = mpsc::channel(16);
        let (scan, watch) = hooks::scan(&self.hooks).watched(facts);
        (scan, watch, told)
    }

    /// What a look sees once no file was changed a moment ago.
    pub(crate) fn settled(&self) -> Sight {
        let until = Instant::now() + PATIENCE;
        loop {
            let sight = self.look().0.sight;
            let unsettled = |file: &FoundHook| file.found == FoundProgram::Unsettled;
            match &sight {
                Sight::Found { files, .. } if files.iter().any(unsettled) => {}
                Sight::Found { .. }
                | Sight::Absent
                | Sight::Distrusted { .. }
                | Sight::Failed(_) => {
                    return sight;
                }
            }
            assert!(Instant::now() < until, "{sight:?}");
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// The files of a directory that can be looked at, by their names.
    pub(crate) fn files(&self) -> Vec<(String, FoundProgram)> {
        let sight = self.settled();
        let Sight::Found { mut files, crowded: false } = sight else { panic!("{sight:?}") };
        files.sort_by(|one, other| one.name.cmp(&other.name));
        files.into_iter().map(|file| (file.name, file.found)).collect()
    }

    /// The names of the hooks that are whole, and of the others why they are not trusted.
    pub(crate) fn judged(&self) -> Vec<(String, Result<(), Distrust>)> {
        let judged = |(name, found)| {
            let why = match found {
                FoundProgram::Distrusted(why) => Some(why),
                FoundProgram::Whole { .. } => None,
                FoundProgram::Unsettled
                | FoundProgram::Misnamed
                | FoundProgram::TooLarge
                | FoundProgram::Unreadable(_) => panic!("{name}: {found:?}"),
            };
            (name, why.map_or(Ok(()), Err))
        };
        self.files().into_iter().map(judged).collect()
    }

    pub(crate) fn take(&self, name: &str) -> Result<Vec<u8>, String> {
        hooks::take(&self.hooks, name, digest(GOOD)).map_err(|refused| refused.to_string())
    }
}

pub(crate) fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn chown(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), None).unwrap();
}

pub(crate) fn digest(content: &str) -> Checksum {
    Checksum::from_bytes(Sha256::digest(content).into())
}

pub(crate) fn whole(name: &str, content: &str) -> (String, FoundProgram) {
    let sidecar = FoundSidecar::Absent;
    (name.to_owned(), FoundProgram::Whole { digest: digest(content), sidecar })
}

pub(crate) fn raw(name: &[u8]) -> &OsStr {
    OsStr::from_bytes(name)
}
