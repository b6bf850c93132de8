//! The data directory: whose it is, whether it can be written, and who uses it.

use alloc::{format, string::String, vec, vec::Vec};

use super::{ASK, Finding};

const DATA: &str = "data directory";
const ROOM: &str = "room";
const AGENT: &str = "agent";

/// Below this a registration or a report may not find room, in bytes.
pub const ROOM_MIN: u64 = 1 << 20;
/// Below this it is said beforehand, in bytes.
pub const ROOM_WARN: u64 = 64 << 20;

const OTHERS: u32 = 0o077;

/// The data directory as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataDir {
    /// It is not there; whether this user could make it.
    Absent {
        path: String,
        creatable: bool,
    },
    /// There is something else.
    NoFolder {
        path: String,
    },
    /// It cannot be looked at; the text tells why.
    Closed {
        path: String,
        cause: String,
    },
    There(Folder),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    pub path: String,
    pub owner: u32,
    /// The user who asks.
    pub ours: u32,
    pub mode: u32,
    pub writable: bool,
    /// Free for this user, in bytes; absent where the disk does not tell.
    pub free: Option<u64>,
    pub holder: Holder,
}

/// Who holds the lock of the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The agent that runs.
    Process(u32),
    Nobody,
    /// This user cannot see it.
    Hidden,
}

impl DataDir {
    /// The agent that uses it.
    pub const fn holder(&self) -> Holder {
        match self {
            Self::There(folder) => folder.holder,
            Self::Absent { .. } | Self::NoFolder { .. } => Holder::Nobody,
            Self::Closed { .. } => Holder::Hidden,
        }
    }

    /// Whether somebody asks who is not the user of the agent, as far as can be told.
    pub const fn is_foreign(&self) -> bool {
        match self {
            Self::Absent { creatable, .. } => !*creatable,
            Self::NoFolder { .. } => false,
            Self::Closed { .. } => true,
            Self::There(folder) => folder.owner != folder.ours,
        }
    }

    pub fn findings(&self) -> Vec<Finding> {
        match self {
            Self::Absent { path, creatable: true } => {
                vec![Finding::good(DATA, format!("{path} is made by the first start"))]
            }
            Self::Absent { path, creatable: false } => vec![Finding::bad(
                DATA,
                format!("{path} is not there, and this user cannot make it"),
                "make it for the user of the agent (install -d -m 0700), or ask as that user",
            )],
            Self::NoFolder { path } => vec![Finding::bad(
                DATA,
                format!("{path} is no folder"),
                "name a folder in node.data_dir; a link is not followed",
            )],
            Self::Closed { path, cause } => {
                vec![Finding::bad(DATA, format!("{path} cannot be looked at: {cause}"), ASK)]
            }
            Self::There(folder) => folder.findings(),
        }
    }
}

impl Folder {
    fn findings(&self) -> Vec<Finding> {
        let used = match self.holder {
            Holder::Process(process) => {
                Finding::good(AGENT, format!("process {process} runs on this data directory"))
            }
            Holder::Nobody => Finding::good(AGENT, "none runs on this data directory"),
            Holder::Hidden => Finding::untold(AGENT, "whether one runs on this data directory"),
        };
        vec![self.rights(), self.room(), used]
    }

    fn rights(&self) -> Finding {
        let Self { path, owner, ours, mode, .. } = self;
        if owner != ours {
            return Finding::bad(
                DATA,
                format!("{path} belongs to user {owner}, and user {ours} asks"),
                "ask as the user of the agent, or give the folder to that user (chown)",
            );
        }
        if mode & OTHERS != 0 {
            return Finding::bad(
                DATA,
                format!("{path} has mode {mode:04o}, by which others reach the identity"),
                format!("chmod 0700 {path}"),
            );
        }
        match self.writable {
            true => Finding::good(DATA, format!("{path} is this user's alone and can be written")),
            false => Finding::bad(
                DATA,
                format!("{path} cannot be written"),
                "mount it for writing, and let the unit write there (ReadWritePaths)",
            ),
        }
    }

    fn room(&self) -> Finding {
        let Some(free) = self.free else {
            return Finding::untold(ROOM, "how much is free");
        };
        let words = format!("{} MiB are free", free >> 20);
        let mend = "make room on the disk of the data directory";
        match free {
            free if free < ROOM_MIN => Finding::bad(ROOM, words, mend),
            free if free < ROOM_WARN => Finding::warn(ROOM, words, mend),
            _ => Finding::good(ROOM, words),
        }
    }
}
