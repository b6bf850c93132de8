//! Why a hook does not run, found when its run begins.
//!
//! Specification: `gaps-agent.md` section 2.8 (Errors at run).

use alloc::string::String;

use thiserror::Error;

use crate::wire::grammar::Checksum;

/// Why a hook does not run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("invalid hook name: {0}")]
    Name(String),
    #[error("hook not found: {0}")]
    Missing(String),
    /// Whether it is what was discovered cannot be told; the text tells why.
    #[error("integrity verification error: {0}")]
    Unverified(String),
    #[error("integrity check failed for hook: {0}")]
    Changed(String),
}

impl Refused {
    /// Holds what a hook consists of against the digest of its first discovery.
    pub fn judge(name: &str, found: Checksum, pin: Checksum) -> Result<(), Self> {
        if found == pin { Ok(()) } else { Err(Self::Changed(name.into())) }
    }
}
