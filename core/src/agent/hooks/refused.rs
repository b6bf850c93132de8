//! Why a hook does not run, found when its run begins.
//!
//! Specification: `gaps-agent.md` section 2.8 (Errors at run).

use alloc::string::{String, ToString as _};

use thiserror::Error;

use crate::{agent::facts::Cause, wire::grammar::Checksum};

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
    #[error("integrity check failed for hook: {hook}")]
    Changed { hook: String, observed: Checksum },
}

impl Refused {
    /// Holds what a hook consists of against the digest of its first discovery.
    pub fn judge(name: &str, found: Checksum, pin: Checksum) -> Result<(), Self> {
        let refused = || Self::Changed { hook: name.into(), observed: found };
        if found == pin { Ok(()) } else { Err(refused()) }
    }

    /// How the run ends that this is refused to.
    pub fn cause(self) -> Cause {
        match self {
            Self::Changed { hook, observed } => Cause::Changed { hook, observed },
            Self::Name(_) | Self::Missing(_) | Self::Unverified(_) => {
                Cause::Broken(self.to_string())
            }
        }
    }
}
