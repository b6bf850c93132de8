//! The way to a file, folder by folder: each is entered by its descriptor and judged by it, and links are read here.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStringExt as _},
    path::{Component, Path},
    time::Duration,
};

use meshward_core::{
    agent::{
        FileKind, Held,
        hooks::trust::{self, Distrust},
    },
    time::Wall,
};
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat},
    io::Errno,
};

use super::watch::Watching;

/// How many links are followed on one way.
const LINKS_MAX: usize = 16;

/// How many folders one way goes through.
const STEPS_MAX: usize = 128;

/// Why a way ended before its end.
#[derive(Debug)]
pub(super) enum Stop {
    Absent,
    Distrusted { path: OsString, why: Distrust },
    Failed { path: OsString, error: io::Error },
}

/// What the kernel tells of a descriptor.
pub(super) fn held(stat: &Stat) -> Held {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Link,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => FileKind::Other,
    };
    let seconds = u64::try_from(stat.st_ctime).unwrap_or_default();
    let nanoseconds = u32::try_from(stat.st_ctime_nsec).unwrap_or_default();
    let changed = Wall::from_origin(Duration::new(seconds, nanoseconds));
    Held { kind, owner: stat.st_uid, mode: stat.st_mode & 0o7777, changed }
}

/// The hooks directory, once it was entered.
#[derive(Debug)]
pub(super) struct Entered {
    pub(super) folder: OwnedFd,
    /// As it is called.
    path: OsString,
}

/// A way under way.
struct Way<'w> {
    /// The folders that were entered; the last is the one that the next name is looked up in.
    folders: Vec<OwnedFd>,
    open: VecDeque<OsString>,
    /// As the operator would call where it has come to.
    called: OsString,
    links: usize,
    steps: usize,
    /// Whether it may not leave the folder that it began in.
    bound: bool,
    watching: &'w mut Watching,
}

/// Enters the hooks directory from the root on.
pub(super) fn enter(directory: &Path, watching: &mut Watching) -> Result<Entered, Stop> {
    let root = openat(CWD, "/", FOLDER, Mode::empty()).map_err(|error| failed("/", error))?;
    judge(&root, "/".as_ref(), trust::on_the_way)?;
    let mut way = Way::new(root, watching, false);
    way.go(directory.as_os_str());
    while let Some(name) = way.next() {
        way.watch_for(&name);
        let found = way.look(&name)?;
        match found.kind {
            FileKind::Link => way.follow(&name, &found)?,
            FileKind::Folder | FileKind::Regular | FileKind::Other => {
                way.enter(&name, trust::on_the_way)?;
            }
        }
    }
    let called = directory.as_os_str();
    judge(way.here(), called, trust::folder)?;
    way.watch_all();
    let folder = way.folders.pop().ok_or(Stop::Absent)?;
    Ok(Entered { folder, path: called.to_owned() })
}

/// Opens a file of the hooks directory, to which a link may lead that does not leave it. One that is not `wanted` by
/// its looks is as good as none; what is opened is judged by nobody yet.
pub(super) fn open(
    directory: &Entered,
    name: &OsStr,
    wanted: impl Fn(&Held) -> bool,
    watching: &mut Watching,
) -> Result<(File, Held), Stop> {
    let folder = directory.folder.try_clone().map_err(|error| broken(name, error))?;
    let mut way = Way::new(folder, watching, true);
    way.called.clone_from(&directory.path);
    way.go(name);
    while let Some(name) = way.next() {
        let found = way.look(&name)?;
        match found.kind {
            FileKind::Link => way.follow(&name, &found)?,
            FileKind::Folder if !way.open.is_empty() => {
                way.enter(&name, trust::folder)?;
                way.watch_all();
            }
            FileKind::Regular if way.open.is_empty() && !wanted(&found) => break,
            FileKind::Regular if way.open.is_empty() => return way.open_file(&name),
            FileKind::Folder | FileKind::Regular | FileKind::Other => {
                return Err(way.distrusted(Distrust::NotRegular));
            }
        }
    }
    Err(Stop::Absent)
}

const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What is no file after all is not waited for.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl<'w> Way<'w> {
    fn new(from: OwnedFd, watching: &'w mut Watching, bound: bool) -> Self {
        let (open, called) = (VecDeque::new(), OsString::new());
        Self { folders: vec![from], open, called, links: 0, steps: 0, bound, watching }
    }

    fn here(&self) -> &OwnedFd {
        self.folders.last().expect("the folder that it began in is never left")
    }

    fn watch_for(&mut self, name: &OsStr) {
        if let Some(folder) = self.folders.last() {
            self.watching.look_for(folder, name);
        }
    }

    fn watch_all(&mut self) {
        if let Some(folder) = self.folders.last() {
            self.watching.look_at(folder);
        }
    }

    /// Puts a path in front of what is still to be gone.
    fn go(&mut self, path: &OsStr) {
        for component in Path::new(path).components().rev() {
            match component {
                Component::RootDir | Component::Prefix(_) => {
                    self.folders.truncate(1);
                    self.called.clear();
                }
                Component::CurDir => {}
                Component::ParentDir | Component::Normal(_) => {
                    self.open.push_front(component.as_os_str().to_owned());
                }
            }
        }
    }

    /// The next name that is no way back.
    fn next(&mut self) -> Option<OsString> {
        loop {
            let name = self.open.pop_front()?;
            if name != ".." {
                self.called.push("/");
                self.called.push(&name);
                return Some(name);
            }
            if self.folders.len() > 1 {
                self.folders.pop();
            }
            let parent = Path::new(&self.called).parent().map(Path::as_os_str);
            self.called = parent.filter(|parent| *parent != "/").unwrap_or_default().to_owned();
        }
    }

    fn look(&mut self, name: &OsStr) -> Result<Held, Stop> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(self.failed(Errno::NAMETOOLONG));
        }
        let stat = statat(self.here(), name, AtFlags::SYMLINK_NOFOLLOW);
        stat.map(|stat| held(&stat)).map_err(|error| self.failed(error))
    }

    /// Reads a link and goes on where it leads.
    fn follow(&mut self, name: &OsStr, link: &Held) -> Result<(), Stop> {
        trust::link(link).map_err(|why| self.distrusted(why))?;
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(self.failed(Errno::LOOP));
        }
        let target = readlinkat(self.here(), name, Vec::new());
        let target = OsString::from_vec(target.map_err(|error| self.failed(error))?.into_bytes());
        if self.bound && self.leaves(&target) {
            return Err(self.distrusted(Distrust::Leaves));
        }
        let parent = Path::new(&self.called).parent().map(Path::as_os_str);
        self.called = parent.filter(|parent| *parent != "/").unwrap_or_default().to_owned();
        self.go(&target);
        Ok(())
    }

    /// Whether a link leads out of the folder that the way began in, by its text.
    fn leaves(&self, target: &OsStr) -> bool {
        let mut depth = self.folders.len();
        Path::new(target).components().any(|component| {
            match component {
                Component::RootDir | Component::Prefix(_) => depth = 0,
                Component::ParentDir => depth = depth.saturating_sub(1),
                Component::CurDir => {}
                Component::Normal(_) => depth += 1,
            }
            depth == 0
        })
    }

    fn enter(
        &mut self,
        name: &OsStr,
        rule: impl Fn(&Held) -> Result<(), Distrust>,
    ) -> Result<(), Stop> {
        let folder = openat(self.here(), name, FOLDER, Mode::empty());
        let folder = folder.map_err(|error| self.failed(error))?;
        judge(&folder, &self.called, rule)?;
        self.folders.push(folder);
        Ok(())
    }

    fn open_file(&self, name: &OsStr) -> Result<(File, Held), Stop> {
        let file = openat(self.here(), name, FILE, Mode::empty());
        let file = file.map_err(|error| self.failed(error))?;
        let stat = fstat(&file).map_err(|error| self.failed(error))?;
        Ok((File::from(file), held(&stat)))
    }

    fn distrusted(&self, why: Distrust) -> Stop {
        Stop::Distrusted { path: self.called.clone(), why }
    }

    fn failed(&self, error: Errno) -> Stop {
        failed(&self.called, error)
    }
}

fn judge(
    folder: &OwnedFd,
    path: &OsStr,
    rule: impl Fn(&Held) -> Result<(), Distrust>,
) -> Result<(), Stop> {
    let stat = fstat(folder).map_err(|error| failed(path, error))?;
    rule(&held(&stat)).map_err(|why| Stop::Distrusted { path: path.to_owned(), why })
}

fn failed(path: impl AsRef<OsStr>, error: Errno) -> Stop {
    match error {
        Errno::NOENT => Stop::Absent,
        error => broken(path.as_ref(), error.into()),
    }
}

fn broken(path: &OsStr, error: io::Error) -> Stop {
    Stop::Failed { path: path.to_owned(), error }
}
