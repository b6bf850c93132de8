//! Names of things, each its own type so that one is never taken for another.

use alloc::string::String;
use core::fmt;

/// Names one call to the other end or one order to the shell; its answer brings the name back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

impl CallId {
    /// The name after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// An execution of an action, as the control plane names it; any text, percent-encoded in paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutionId(pub String);

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A session of a user, as the control plane names it; any text, percent-encoded in paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub String);

/// Thirty-two lower-case hexadecimal digits that tie an error answer to the log of its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CorrelationId(pub u128);

impl fmt::Display for CorrelationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
