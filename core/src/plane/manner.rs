//! How an answer is brought: at once and whole, unless a fault says otherwise.
//!
//! Specification: `decisions.md` section 6 (`/test/faults`).

use core::time::Duration;

/// How an answer is brought to its client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// How long the answer is held back.
    pub delay: Duration,
}

impl Manner {
    /// At once and whole.
    pub const PROMPT: Self = Self { delay: Duration::ZERO };
}
