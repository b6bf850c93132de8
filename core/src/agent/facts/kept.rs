//! Files below `state/`: what was found there at the start, and the changes that are ordered.

use alloc::{string::String, vec::Vec};
use core::fmt;

/// A folder below `state/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Folder {
    /// `state/` itself.
    Root,
    Data,
    Report,
}

impl Folder {
    /// Its name within `state/`; empty for that itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "",
            Self::Data => "data",
            Self::Report => "report",
        }
    }
}

/// Names a file below `state/`, and with it the one change of that file which is under way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateFile {
    pub folder: Folder,
    pub name: String,
}

impl fmt::Display for StateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.folder {
            Folder::Root => write!(f, "state/{}", self.name),
            folder @ (Folder::Data | Folder::Report) => {
                write!(f, "state/{}/{}", folder.name(), self.name)
            }
        }
    }
}

/// A file as it was found at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    pub file: StateFile,
    pub content: FoundContent,
}

/// What stands under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundContent {
    Bytes(Content),
    /// No regular file, or one that is too large; the text tells what it is.
    Foreign(String),
}

/// A change of one file. It happened whole, or the next start sees it undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Write(Content),
    /// A file that is gone already is as good.
    Remove,
    /// Give the file this name, under which nobody looks for it.
    Rename(String),
}

/// The content of a file, which is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Content(pub Vec<u8>);

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}
