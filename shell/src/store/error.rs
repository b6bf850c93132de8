//! Why there is no data directory to work with, each with its mend.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Why the data directory cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("node.data_dir is empty: set it to a directory of the agent's own")]
    Unset,
    #[error("cannot create the data directory {}", .path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot open the data directory {}", .path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("the data directory {} is a symbolic link: set node.data_dir to what it points to", .0.display())]
    Symlink(PathBuf),
    #[error("the data directory {} is not a directory: move it away or set node.data_dir", .0.display())]
    NotADirectory(PathBuf),
    #[error("the directory {0} belongs to user id {owner}, the agent runs as {ours}: chown -R {ours} {0}", .path.display())]
    Owner { path: PathBuf, owner: u32, ours: u32 },
    #[error("the directory {0} is open to others (mode {mode:04o}): chmod 700 {0}", .path.display())]
    Permissions { path: PathBuf, mode: u32 },
    #[error("{} is not a folder of the agent's own: move it away", .0.display())]
    NoFolder(PathBuf),
    #[error("{} holds more than {most} files: move away what is not the agent's", .path.display())]
    Crowded { path: PathBuf, most: usize },
    #[error("cannot lock {}", .path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error("another agent ({process}) uses {}: stop it or set another node.data_dir", .path.display())]
    InUse { path: PathBuf, process: String },
    #[error("cannot {doing} {}", .path.display())]
    Disk { doing: &'static str, path: PathBuf, source: io::Error },
}
