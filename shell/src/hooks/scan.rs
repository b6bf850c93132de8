//! One look at the hooks directory.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read as _},
    os::unix::ffi::OsStrExt as _,
};

use meshward_core::{
    agent::{
        Content, FoundHook, FoundProgram, FoundSidecar, Held, Scan, Sight,
        hooks::{
            ENTRIES_MAX, HOOK_MAX, Named, SIDECAR_SUFFIX, is_settled, named,
            trust::{self, Distrust},
        },
    },
    wire::{grammar::Checksum, hook::SIDECAR_MAX},
};
use rustix::fs::{Dir, Mode, OFlags, fstat, openat};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::{
    HooksDir,
    place::{self, Entered, Stop, held},
    watch::{Watch, Watching},
};
use crate::clock;

/// How much of a file is read at a time.
const CHUNK: usize = 64 * 1024;

/// What a look has seen, and the watch that it made on its way.
#[derive(Debug)]
pub struct Seen {
    sight: Sight,
    watching: Watching,
}

impl Seen {
    /// What was seen alone; nothing is watched on.
    pub(crate) fn sight(self) -> Sight {
        self.sight
    }

    /// Watches on, within the runtime, and tells whether that goes well beside what was seen.
    pub fn watched(
        self,
        facts: mpsc::Sender<meshward_core::agent::Input>,
    ) -> (Scan, Option<Watch>) {
        let (watched, watch) = match self.watching.begin(facts) {
            Ok(watch) => (Ok(()), Some(watch)),
            Err(reason) => (Err(reason), None),
        };
        (Scan { sight: self.sight, watched }, watch)
    }
}

/// Looks at the directory as it is now.
pub fn scan(directory: &HooksDir) -> Seen {
    let mut watching = Watching::new();
    let sight = match place::enter(directory.path(), &mut watching) {
        Ok(folder) => list(&folder, &mut watching).unwrap_or_else(|error| {
            Sight::Failed(format!("{}: {error}", directory.path().display()))
        }),
        Err(Stop::Absent) => Sight::Absent,
        Err(Stop::Distrusted { path, why }) => {
            Sight::Distrusted { path: path.to_string_lossy().into_owned(), why }
        }
        Err(Stop::Failed { path, error }) => {
            Sight::Failed(format!("{}: {error}", path.to_string_lossy()))
        }
    };
    Seen { sight, watching }
}

fn list(directory: &Entered, watching: &mut Watching) -> io::Result<Sight> {
    let mut names = Vec::new();
    let mut crowded = false;
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(&directory.folder, ".", folder, Mode::empty())?;
    for entry in Dir::new(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name == "." || name == ".." {
            continue;
        }
        if names.len() == ENTRIES_MAX {
            crowded = true;
            break;
        }
        names.push(name);
    }
    let found = |name: &OsString| {
        let found = file(directory, name, watching)?;
        Some(FoundHook { name: name.to_string_lossy().into_owned(), found })
    };
    Ok(Sight::Found { files: names.iter().filter_map(found).collect(), crowded })
}

/// `None` for what is no hook and not meant as one.
fn file(folder: &Entered, name: &OsStr, watching: &mut Watching) -> Option<FoundProgram> {
    let named = named(name.as_bytes());
    if named == Named::Other {
        return None;
    }
    let (mut file, held) = match place::open(folder, name, trust::is_executable, watching) {
        Ok(opened) => opened,
        Err(Stop::Absent | Stop::Distrusted { why: Distrust::NotRegular, .. }) => return None,
        Err(Stop::Distrusted { why, .. }) => return Some(FoundProgram::Distrusted(why)),
        Err(Stop::Failed { error, .. }) => {
            return Some(FoundProgram::Unreadable(error.to_string()));
        }
    };
    let Named::Hook(_) = named else { return Some(FoundProgram::Misnamed) };
    if let Err(why) = trust::program(&held) {
        return Some(FoundProgram::Distrusted(why));
    }
    if !is_settled(&held, clock::now().wall) {
        return Some(FoundProgram::Unsettled);
    }
    Some(match digest(&mut file, &held) {
        Ok(Digested::Whole(digest)) => match sidecar(folder, name, watching) {
            Some(sidecar) => FoundProgram::Whole { digest, sidecar },
            None => FoundProgram::Unsettled,
        },
        Ok(Digested::Changed) => FoundProgram::Unsettled,
        Ok(Digested::TooLarge) => FoundProgram::TooLarge,
        Err(error) => FoundProgram::Unreadable(error.to_string()),
    })
}

enum Digested {
    Whole(Checksum),
    TooLarge,
    /// Somebody wrote meanwhile.
    Changed,
}

fn digest(file: &mut File, before: &Held) -> io::Result<Digested> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut length = 0;
    loop {
        let read = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        length += read;
        if length > HOOK_MAX {
            return Ok(Digested::TooLarge);
        }
        hasher.update(&chunk[..read]);
    }
    match held(&fstat(&*file)?) == *before {
        true => Ok(Digested::Whole(Checksum::from_bytes(hasher.finalize().into()))),
        false => Ok(Digested::Changed),
    }
}

/// What stands beside a hook; `None` while somebody writes it.
fn sidecar(folder: &Entered, hook: &OsStr, watching: &mut Watching) -> Option<FoundSidecar> {
    let mut name = hook.to_owned();
    name.push(SIDECAR_SUFFIX);
    let (file, held) = match place::open(folder, &name, |_| true, watching) {
        Ok(opened) => opened,
        Err(Stop::Absent) => return Some(FoundSidecar::Absent),
        Err(Stop::Distrusted { why, .. }) => return Some(FoundSidecar::Distrusted(why)),
        Err(Stop::Failed { error, .. }) => {
            return Some(FoundSidecar::Unreadable(error.to_string()));
        }
    };
    if let Err(why) = trust::sidecar(&held) {
        return Some(FoundSidecar::Distrusted(why));
    }
    is_settled(&held, clock::now().wall).then(|| text(file))
}

fn text(file: File) -> FoundSidecar {
    let mut bytes = Vec::new();
    let most = u64::try_from(SIDECAR_MAX).unwrap_or(u64::MAX);
    match file.take(most + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() > SIDECAR_MAX => FoundSidecar::TooLarge,
        Ok(_) => FoundSidecar::Bytes(Content(bytes)),
        Err(error) => FoundSidecar::Unreadable(error.to_string()),
    }
}
