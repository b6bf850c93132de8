//! What a start met in the data directory beside what it holds, and what of it the operator is told.

use alloc::{format, string::String};

use crate::agent::notice::Notice;

/// Something that a start met, and has dealt with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A registration afresh did not come to its end, so the identity that had made room came back from this folder.
    PutBack { folder: String },
    /// The note that names a refused identity's folder names none, and an identity is in place; the note was removed,
    /// or why it was not.
    NeedlessNote { name: &'static str, reason: String, removed: Result<(), String> },
    /// Files that an earlier process did not finish were removed.
    Cleared { folder: String, files: usize },
    /// Such a file cannot be removed.
    Uncleared { file: String, cause: String },
    /// Names that are none of the agent's, as they are not UTF-8.
    ForeignNames { folder: String, names: usize },
    /// A folder of what was pulled holds more files than are read.
    Crowded { folder: String, most: usize },
}

impl Finding {
    /// What the operator is told of it.
    pub fn notice(&self) -> Notice {
        match self {
            Self::PutBack { folder } => Notice::warn(format!(
                "a registration afresh did not come to its end, and the former identity is put back from the folder \
                 {folder}"
            )),
            Self::NeedlessNote { name, reason, removed: Ok(()) } => Notice::warn(format!(
                "{name} is removed: {reason}, and nothing needs it while there is an identity"
            )),
            Self::NeedlessNote { name, reason, removed: Err(cause) } => Notice::warn(format!(
                "{name} is of no use ({reason}) and cannot be removed: {cause}; remove it by hand"
            )),
            Self::Cleared { folder, files: 1 } => Notice::info(format!(
                "a file that an earlier process had not finished is removed from {folder}"
            )),
            Self::Cleared { folder, files } => Notice::info(format!(
                "{files} files that an earlier process had not finished are removed from {folder}"
            )),
            Self::Uncleared { file, cause } => Notice::warn(format!(
                "the file {file}, which an earlier process had not finished, cannot be removed: {cause}; remove it by \
                 hand"
            )),
            Self::ForeignNames { folder, names: 1 } => Notice::warn(format!(
                "{folder} holds a name that is not UTF-8, which is none of the agent's: move it away"
            )),
            Self::ForeignNames { folder, names } => Notice::warn(format!(
                "{folder} holds {names} names that are not UTF-8, which are none of the agent's: move them away"
            )),
            Self::Crowded { folder, most } => Notice::warn(format!(
                "{folder} holds more than {most} files, and no more are read: move away what is not the agent's"
            )),
        }
    }
}
