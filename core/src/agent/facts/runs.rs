//! A run of an action: what is to be run, and how it ended.

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core::{fmt, time::Duration};

use crate::{
    ids::{CallId, ExecutionId},
    wire::grammar::Checksum,
};

/// Who ordered a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunId {
    /// The control plane, by an entry of a pull.
    Execution(ExecutionId),
    /// A co-located program, by this call.
    Local(CallId),
}

/// What is to be run, and within which limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub program: Program,
    /// The run is over after this long, with [`Cause::TimedOut`].
    pub deadline: Duration,
    /// Each stream is kept up to this many bytes.
    pub max_output_bytes: usize,
}

/// What a run executes. It prints without the values of its parameters and variables, which may be secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum Program {
    /// An action of the agent itself. Of its parameters strings are unquoted, every other value is its JSON text.
    Builtin { name: String, parameters: BTreeMap<String, String> },
    /// A file of the hooks directory, run only while its content has this digest.
    Hook {
        name: String,
        digest: Checksum,
        /// The whole of it.
        environment: BTreeMap<String, String>,
    },
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, given) = match self {
            Self::Builtin { parameters, .. } => ("Builtin", parameters),
            Self::Hook { environment, .. } => ("Hook", environment),
        };
        write!(f, "{kind}({:?}, {:?})", self.name(), given.keys().collect::<Vec<_>>())
    }
}

impl Program {
    /// What the operator calls it.
    pub fn name(&self) -> &str {
        match self {
            Self::Builtin { name, .. } | Self::Hook { name, .. } => name,
        }
    }
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
    /// It ended by a signal of this number.
    Signalled(i32),
    TimedOut,
    Cancelled,
    /// It could not be run, or broke down; the text tells why.
    Broken(String),
    /// The hook is another than was discovered, and was not run.
    Changed {
        hook: String,
        observed: Checksum,
    },
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
