//! What the operator is told; the shell writes each as one log line.

use alloc::string::String;
use core::fmt;

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

impl Notice {
    pub fn error(text: impl Into<String>) -> Self {
        Self { level: Level::Error, text: text.into() }
    }

    pub fn warn(text: impl Into<String>) -> Self {
        Self { level: Level::Warn, text: text.into() }
    }

    pub fn info(text: impl Into<String>) -> Self {
        Self { level: Level::Info, text: text.into() }
    }

    pub fn debug(text: impl Into<String>) -> Self {
        Self { level: Level::Debug, text: text.into() }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
