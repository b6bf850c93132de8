//! What a look at the hooks directory found: as much of it as is decided by.

use alloc::{string::String, vec::Vec};

use super::kept::Content;
use crate::{agent::hooks::trust::Distrust, time::Wall, wire::grammar::Checksum};

/// What the kernel tells of an open file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub kind: FileKind,
    /// The user that it belongs to.
    pub owner: u32,
    /// The bits of its mode, with the sticky bit.
    pub mode: u32,
    /// When its content or one of these was changed last.
    pub changed: Wall,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Regular,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// A look at the hooks directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    pub sight: Sight,
    /// Whether changes from now on are told by [`Acted::Stirred`](super::Acted::Stirred), or why they cannot be.
    pub watched: Result<(), String>,
}

/// What was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    Absent,
    /// Nobody can tell who changes it, by this folder on the way to it or the directory itself.
    Distrusted {
        path: String,
        why: Distrust,
    },
    /// The text tells the path and the cause.
    Failed(String),
    Found {
        /// The files that are hooks, or would be but for one thing, by their names.
        files: Vec<FoundHook>,
        /// There is more in it than is looked at.
        crowded: bool,
    },
}

/// A file that is executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundHook {
    /// What of it is no text is replaced.
    pub name: String,
    pub found: FoundProgram,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundProgram {
    Whole {
        digest: Checksum,
        sidecar: FoundSidecar,
    },
    /// It was changed a moment ago, or while it was read.
    Unsettled,
    /// No hook can have its name.
    Misnamed,
    Distrusted(Distrust),
    /// It is longer than a hook may be.
    TooLarge,
    /// The text tells the cause.
    Unreadable(String),
}

/// What stands beside a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundSidecar {
    Absent,
    Bytes(Content),
    Distrusted(Distrust),
    TooLarge,
    Unreadable(String),
}
