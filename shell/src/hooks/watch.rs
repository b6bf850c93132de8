//! Changes in the hooks directory and on the way to it, as the kernel tells them (inotify).
//!
//! Each look makes a watch of its own, before it reads anything, of exactly the folders that it goes through; so what
//! was replaced, or is not there yet, is watched as it is found.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    io::{self, PipeReader, PipeWriter},
    mem::MaybeUninit,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    thread,
    time::Duration,
};

use meshward_core::agent::Input;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::inotify::{self, CreateFlags, Reader, WatchFlags},
    io::Errno,
};
use tokio::sync::mpsc;

use super::STIRRED;

/// How many folders one look watches.
const FOLDERS_MAX: usize = 64;

/// How long what stirs is gathered before it is told, so that a storm of changes is a few facts.
const GATHER: Duration = Duration::from_millis(50);

/// How many changes are read at a time.
const EVENTS_MAX: usize = 1024;

const EVENTS_LEN: usize = 4096;

/// What changes the way to the directory.
const AROUND: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::MASK_ADD);

/// What changes its files as well.
const WITHIN: WatchFlags = AROUND.union(WatchFlags::MODIFY).union(WatchFlags::CLOSE_WRITE);

/// The names in a folder that matter.
#[derive(Debug)]
enum Names {
    All,
    These(BTreeSet<OsString>),
}

/// A watch, while a look makes it.
#[derive(Debug)]
pub(super) struct Watching {
    inotify: Option<OwnedFd>,
    folders: BTreeMap<i32, Names>,
    failure: Option<String>,
}

impl Watching {
    pub(super) fn new() -> Self {
        match inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC) {
            Ok(inotify) => Self { inotify: Some(inotify), folders: BTreeMap::new(), failure: None },
            Err(error) => Self { failure: Some(told(error)), ..Self::nothing() },
        }
    }

    /// Watches nothing, for who only goes the way.
    pub(super) const fn nothing() -> Self {
        Self { inotify: None, folders: BTreeMap::new(), failure: None }
    }

    /// Watches one name in a folder that lies on the way.
    pub(super) fn look_for(&mut self, folder: &OwnedFd, name: &OsStr) {
        if let Some(watch) = self.add(folder, AROUND) {
            let names = self.folders.entry(watch).or_insert_with(|| Names::These(BTreeSet::new()));
            if let Names::These(names) = names {
                names.insert(name.to_owned());
            }
        }
    }

    /// Watches everything in a folder.
    pub(super) fn look_at(&mut self, folder: &OwnedFd) {
        if let Some(watch) = self.add(folder, WITHIN) {
            self.folders.insert(watch, Names::All);
        }
    }

    fn add(&mut self, folder: &OwnedFd, events: WatchFlags) -> Option<i32> {
        let inotify = self.inotify.as_ref()?;
        // The folder that is open, whatever bears its name by now.
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        let added = match self.folders.len() < FOLDERS_MAX {
            true => inotify::add_watch(inotify, path.as_str(), events),
            false => Err(Errno::NOSPC),
        };
        added.inspect_err(|error| self.failure = Some(told(*error))).ok()
    }

    /// Tells each change from now on, and those since the look began.
    pub(super) fn begin(self, facts: mpsc::Sender<Input>) -> Result<Watch, String> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let inotify = self.inotify.ok_or_else(|| told(Errno::NOSYS))?;
        let (end, ending) = io::pipe().map_err(|error| error.to_string())?;
        let follower = Follower { inotify, folders: self.folders, end };
        let begun = thread::Builder::new().name("hooks-watch".to_owned());
        begun.spawn(move || follower.follow(&facts)).map_err(|error| error.to_string())?;
        Ok(Watch { _ending: ending })
    }
}

fn told(error: Errno) -> String {
    match error {
        Errno::NOSPC | Errno::MFILE => {
            "there are too many watches (raise fs.inotify.max_user_watches and \
             fs.inotify.max_user_instances)"
                .to_owned()
        }
        error => format!("the kernel does not watch it: {}", io::Error::from(error)),
    }
}

/// A watch that goes on until it is dropped.
#[derive(Debug)]
pub struct Watch {
    _ending: PipeWriter,
}

struct Follower {
    inotify: OwnedFd,
    folders: BTreeMap<i32, Names>,
    /// At its end when the watch is dropped.
    end: PipeReader,
}

impl Follower {
    /// Ends when nobody wants to hear of it, or the kernel tells no more.
    fn follow(self, facts: &mpsc::Sender<Input>) {
        let Self { inotify, folders, end } = self;
        loop {
            let mut waited =
                [PollFd::new(&inotify, PollFlags::IN), PollFd::new(&end, PollFlags::IN)];
            match poll(&mut waited, None) {
                Ok(_) if waited[1].revents().is_empty() => {}
                Err(Errno::INTR) => continue,
                Ok(_) | Err(_) => return,
            }
            if read(&inotify, &folders) && facts.blocking_send(Input::Acted(STIRRED)).is_err() {
                return;
            }
            let gathering = Timespec::try_from(GATHER).ok();
            match poll(&mut [PollFd::new(&end, PollFlags::IN)], gathering.as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return,
            }
        }
    }
}

/// Whether something that matters has changed; what is not read now is the next time.
fn read(inotify: &OwnedFd, folders: &BTreeMap<i32, Names>) -> bool {
    let mut buffer = [MaybeUninit::uninit(); EVENTS_LEN];
    let mut reader = Reader::new(inotify, &mut buffer);
    let mut stirred = false;
    for _ in 0..EVENTS_MAX {
        match reader.next() {
            Ok(event) => {
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                stirred |= matters(folders.get(&event.wd()), name);
            }
            Err(Errno::AGAIN) => return stirred,
            // What cannot be read may be anything.
            Err(_) => return true,
        }
    }
    // What the reader has still in hand is lost with it.
    true
}

/// An event of no folder tells that events were lost, one without a name that a folder itself has changed.
fn matters(names: Option<&Names>, name: Option<&OsStr>) -> bool {
    match (names, name) {
        (Some(Names::These(names)), Some(name)) => names.contains(name),
        (Some(Names::These(_)), None) | (Some(Names::All) | None, _) => true,
    }
}
