//! Which files and folders only root can change, so that what a hook runs is what root put there.
//!
//! The scan and the check right before a run call the same rules, each with what the kernel tells of the descriptor
//! that it has open.
//!
//! Specification: "Hook files must be owned by root and not group- or other-writable"; `decisions.md` section 8 (Hook
//! process).

use thiserror::Error;

use crate::agent::facts::{FileKind, Held};

const ROOT: u32 = 0;
const EXECUTABLE: u32 = 0o111;
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Why a file or folder is not trusted, with its mend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Distrust {
    #[error("it belongs to user {0}: give it to root (chown root)")]
    Owner(u32),
    #[error("its group or everybody can change it: take that right from them (chmod go-w)")]
    Writable,
    #[error("it is no regular file")]
    NotRegular,
    #[error("it is no folder")]
    NotAFolder,
    #[error("it cannot be executed: give it that right (chmod +x)")]
    NotExecutable,
    #[error("it is a link that leaves the hooks directory: put the file there instead")]
    Leaves,
}

/// A folder on the way to the hooks directory. In a sticky one of root nobody can replace what is root's.
pub fn on_the_way(held: &Held) -> Result<(), Distrust> {
    match held.kind {
        FileKind::Folder if held.mode & STICKY != 0 => owned(held),
        FileKind::Folder => unchangeable(held),
        FileKind::Regular | FileKind::Link | FileKind::Other => Err(Distrust::NotAFolder),
    }
}

/// The hooks directory, or one below it: who may add a file to it may add a hook.
pub fn folder(held: &Held) -> Result<(), Distrust> {
    match held.kind {
        FileKind::Folder => unchangeable(held),
        FileKind::Regular | FileKind::Link | FileKind::Other => Err(Distrust::NotAFolder),
    }
}

/// A link on the way or in the directory; a mode it has none.
pub fn link(held: &Held) -> Result<(), Distrust> {
    owned(held)
}

/// A hook.
pub fn program(held: &Held) -> Result<(), Distrust> {
    sidecar(held)?;
    if is_executable(held) { Ok(()) } else { Err(Distrust::NotExecutable) }
}

/// What tells of a hook, and how long it may run.
pub fn sidecar(held: &Held) -> Result<(), Distrust> {
    match held.kind {
        FileKind::Regular => unchangeable(held),
        FileKind::Folder | FileKind::Link | FileKind::Other => Err(Distrust::NotRegular),
    }
}

/// Whether a file may be a hook at all; a file of another kind beside the hooks is nobody's fault.
pub const fn is_executable(held: &Held) -> bool {
    matches!(held.kind, FileKind::Regular) && held.mode & EXECUTABLE != 0
}

fn unchangeable(held: &Held) -> Result<(), Distrust> {
    owned(held)?;
    if held.mode & OTHERS_WRITE == 0 { Ok(()) } else { Err(Distrust::Writable) }
}

const fn owned(held: &Held) -> Result<(), Distrust> {
    if held.owner == ROOT { Ok(()) } else { Err(Distrust::Owner(held.owner)) }
}
