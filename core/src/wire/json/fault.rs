//! What was wrong with a text, and in which member; never the value itself.

use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
};
use core::fmt;

use super::DEPTH_MAX;
use crate::legible;

/// Why a text was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    NotUtf8,
    /// Not JSON, from this byte on.
    Syntax(usize),
    /// Something follows the value, at this byte.
    Trailing(usize),
    TooDeep,
    /// It holds more values than are read.
    TooMany,
    Duplicate,
    Unknown,
    Missing,
    /// Another kind of value was due.
    Expected(String),
    /// The value breaks a rule of its type.
    Rule(String),
}

/// Why a text was refused, and the path of the member, outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: Kind,
    path: String,
}

/// A longer member name is cut in messages.
const NAME_SHOWN_MAX: usize = 64;

impl Fault {
    /// Of the whole text.
    pub(in crate::wire) const fn new(kind: Kind) -> Self {
        Self { kind, path: String::new() }
    }

    /// Puts `member` in front of the path while the fault travels outwards.
    pub(super) fn within(mut self, member: &str) -> Self {
        let shown: String =
            member.chars().filter(|one| !legible::steers(*one)).take(NAME_SHOWN_MAX).collect();
        if !self.path.is_empty() && !self.path.starts_with('[') {
            self.path.insert(0, '.');
        }
        self.path.insert_str(0, &shown);
        self
    }

    /// Puts an array position in front of the path.
    pub(super) fn at(mut self, index: usize) -> Self {
        if !self.path.is_empty() && !self.path.starts_with('[') {
            self.path.insert(0, '.');
        }
        self.path.insert_str(0, &alloc::format!("[{index}]"));
        self
    }

    /// The member the fault is in, such as `output.inline`; empty for the whole text.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        match &self.kind {
            Kind::NotUtf8 => f.write_str("not UTF-8"),
            Kind::Syntax(byte) => write!(f, "not valid JSON at byte {byte}"),
            Kind::Trailing(byte) => write!(f, "data after the JSON value at byte {byte}"),
            Kind::TooDeep => write!(f, "nested deeper than {DEPTH_MAX}"),
            Kind::TooMany => f.write_str("too many values"),
            Kind::Duplicate => f.write_str("member stands twice"),
            Kind::Unknown => f.write_str("unknown member"),
            Kind::Missing => f.write_str("required member is missing"),
            Kind::Expected(what) => write!(f, "must be {what}"),
            Kind::Rule(rule) => f.write_str(rule),
        }
    }
}

impl core::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Kind::Rule(message.to_string()))
    }

    fn invalid_type(_: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::new(Kind::Expected(expected.to_string()))
    }

    fn invalid_value(_: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::new(Kind::Expected(expected.to_string()))
    }

    fn invalid_length(_: usize, expected: &dyn serde::de::Expected) -> Self {
        Self::new(Kind::Expected(expected.to_string()))
    }

    fn unknown_variant(_: &str, known: &'static [&'static str]) -> Self {
        Self::new(Kind::Expected(alloc::format!("one of {}", known.join(", "))))
    }

    fn unknown_field(name: &str, _: &'static [&'static str]) -> Self {
        Self::new(Kind::Unknown).within(name)
    }

    fn missing_field(name: &'static str) -> Self {
        Self::new(Kind::Missing).within(name)
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::new(Kind::Duplicate).within(name)
    }
}

impl From<&str> for Kind {
    fn from(what: &str) -> Self {
        Self::Expected(what.to_owned())
    }
}
