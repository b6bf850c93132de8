//! The hooks directory: looked at, watched, and the one place from which a hook is taken to be run.
//!
//! What is seen is told to the core, which decides what of it is a hook; its rules of trust are asked about every open
//! folder and file here, and nothing that breaks one is read. No name is opened twice: a folder is entered by the
//! descriptor of the one above it, no link is followed by the kernel, and what was judged and read by one descriptor is
//! what runs.

mod place;
mod scan;
mod take;
mod watch;

use std::path::{Path, PathBuf};

use meshward_core::agent::Acted;

pub use scan::{Seen, scan};
pub use take::take;
pub use watch::Watch;

/// The hooks directory of an agent.
#[derive(Clone, Debug)]
pub struct HooksDir(PathBuf);

impl HooksDir {
    /// A relative path is one from the working directory of this moment.
    pub fn new(path: &Path) -> Self {
        Self(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// What is told of the directory between two looks.
pub(crate) const STIRRED: Acted = Acted::Stirred;
