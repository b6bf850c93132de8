//! What the operator is told; the shell writes each as one log line.

pub mod rate;
pub mod streak;

use alloc::{format, string::String};
use core::fmt;

use crate::legible;

/// How grave a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

/// One line for the log, without any secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub level: Level,
    pub text: String,
}

/// The longest notice, in characters; what a peer sent may stand in one.
pub const TEXT_MAX: usize = 2048;

impl Notice {
    pub fn error(text: impl Into<String>) -> Self {
        Self::of(Level::Error, text)
    }

    pub fn warn(text: impl Into<String>) -> Self {
        Self::of(Level::Warn, text)
    }

    pub fn info(text: impl Into<String>) -> Self {
        Self::of(Level::Info, text)
    }

    pub fn debug(text: impl Into<String>) -> Self {
        Self::of(Level::Debug, text)
    }

    /// The control plane refuses the credential of this node.
    pub fn unadmitted(reason: &str) -> Self {
        Self::error(format!("the control plane does not admit this node: {reason}"))
    }

    /// One line, whatever the text holds.
    pub(super) fn of(level: Level, text: impl Into<String>) -> Self {
        Self { level, text: one_line(text.into()) }
    }
}

/// Characters that steer would let a peer write lines of its own, and a long text would drown the others.
pub fn one_line(text: String) -> String {
    let sound = text.len() <= TEXT_MAX && !text.contains(legible::steers);
    if sound {
        return text;
    }
    legible::line(&text).chars().take(TEXT_MAX).collect()
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned as _;

    use super::*;

    #[test]
    fn a_text_becomes_one_line_of_bounded_length_whichever_it_lacks() {
        assert_eq!(one_line("sound".to_owned()), "sound");
        assert_eq!(one_line("a\nb\u{1b}c".to_owned()), "a\u{fffd}b\u{fffd}c");
        assert_eq!(one_line("x".repeat(TEXT_MAX)).len(), TEXT_MAX);
        assert_eq!(one_line("x".repeat(TEXT_MAX + 1)).len(), TEXT_MAX);
    }
}
