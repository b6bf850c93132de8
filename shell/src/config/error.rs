//! What is wrong with a configuration, and where; no message repeats a value, since it may be a secret.

use std::{fmt, path::PathBuf};

use thiserror::Error;

/// One fault: the place, the key, and the rule that is broken or the way to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigError {
    pub place: Place,
    /// The full name, such as `control_plane.url`; absent when the file as a whole is at fault.
    pub key: Option<String>,
    pub fault: Fault,
}

/// What kind of fault it is, with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file cannot be read or is no TOML.
    File(String),
    /// A needed setting has no value anywhere.
    Unset(String),
    /// A name that no setting has.
    Unknown(String),
    /// A value of the wrong kind.
    Mistyped(String),
    /// A value against a rule.
    Broken(String),
}

/// Where a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    File {
        path: PathBuf,
        line: Option<usize>,
    },
    Environment(String),
    Flag(&'static str),
    /// In no source.
    Nowhere,
}

impl Place {
    /// The line of the file, if it stands in one.
    pub const fn line(&self) -> Option<usize> {
        match self {
            Self::File { line, .. } => *line,
            Self::Environment(_) | Self::Flag(_) | Self::Nowhere => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Nowhere => f.write_str("configuration"),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        match &self.fault {
            Fault::File(text)
            | Fault::Unset(text)
            | Fault::Unknown(text)
            | Fault::Mistyped(text)
            | Fault::Broken(text) => f.write_str(text),
        }
    }
}
