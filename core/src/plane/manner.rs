//! How an answer is brought: at once and whole, unless a fault says otherwise.
//!
//! Specification: `decisions.md` section 6 (`/test/faults`).

use core::time::Duration;

/// How an answer is brought to its client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// How long the answer is held back.
    pub delay: Duration,
    /// The pause before each byte of the body; zero sends it in one.
    pub dribble: Duration,
    pub ending: Ending,
}

impl Manner {
    /// At once and whole.
    pub const PROMPT: Self =
        Self { delay: Duration::ZERO, dribble: Duration::ZERO, ending: Ending::Whole };
}

/// How far an answer gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// To its end; the connection is kept.
    #[default]
    Whole,
    /// The connection is closed after this many bytes of the body.
    Truncated { after: u64 },
    /// The connection is reset behind the head.
    Reset,
    /// The head announces chunks, and what follows is none; then the connection is closed.
    MalformedChunk,
}

/// How a connection ends without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// How long it is still held open.
    pub delay: Duration,
    /// Whether it is reset rather than closed.
    pub reset: bool,
}
