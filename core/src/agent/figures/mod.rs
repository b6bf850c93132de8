//! What the agent tells of its own health in figures, as `GET /metrics` answers them.
//!
//! Everything is read off the machines, but for [`Counts`], which the turn keeps at the place of each fact, and
//! [`Process`], which only the shell can know. An age that is absent means that it never was.

pub mod counts;
mod expose;
pub mod labels;
mod voice;

use core::time::Duration;

pub use counts::{Counts, Tally};

/// What this process takes, as the kernel tells it; absent where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// In bytes.
    pub resident_memory: Option<u64>,
    /// Of all its threads, in user mode and in the kernel.
    pub cpu: Option<Duration>,
    pub open_files: Option<u64>,
    /// How many it may have open.
    pub open_files_max: Option<u64>,
    pub threads: Option<u64>,
    /// Since 1970 in UTC.
    pub started: Option<Duration>,
}
