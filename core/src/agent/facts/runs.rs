//! A run of an action: what is to be run, and how it ended.

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core::{fmt, time::Duration};

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub action: String,
    /// Strings unquoted, every other value as its JSON text.
    pub parameters: BTreeMap<String, String>,
    /// The run is over after this long, with [`Cause::TimedOut`].
    pub deadline: Duration,
    /// Each stream is kept up to this many bytes.
    pub max_output_bytes: usize,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub cause: Cause,
    pub stdout: Captured,
    pub stderr: Captured,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Exited(i32),
    TimedOut,
    Cancelled,
    /// It could not be run, or broke down; the text tells why.
    Broken(String),
}

/// A stream of a run, up to the limit.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Captured {
    pub bytes: Vec<u8>,
    /// More came and was thrown away.
    pub cut: bool,
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes{}", self.bytes.len(), if self.cut { ", cut" } else { "" })
    }
}
