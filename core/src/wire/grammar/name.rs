//! Names: the keys of reports and secrets, and identifiers of any other kind.

use alloc::string::{String, ToString};
use core::borrow::Borrow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Malformed;

macro_rules! names {
    ($(#[$doc:meta])* $name:ident, $fault:ident, $max:literal, $others:pat) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The longest name, in characters.
            pub const LEN_MAX: usize = $max;

            /// Reads a name.
            pub fn parse(text: &str) -> Result<Self, Malformed> {
                let legal = text.starts_with(|first: char| first.is_ascii_lowercase())
                    && text.len() <= Self::LEN_MAX
                    && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | $others));
                if legal { Ok(Self(text.to_string())) } else { Err(Malformed::$fault) }
            }

            /// The name as it was read.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    };
}

names! {
    /// The key of a report entry: `^[a-z][a-z0-9._-]{0,127}$`.
    ReportKey, ReportKey, 128, b'.' | b'_' | b'-'
}

names! {
    /// The name of a secret: `^[a-z][a-z0-9_-]{0,62}$`.
    SecretKey, SecretKey, 63, b'_' | b'-'
}

/// An identifier as a peer wrote it; any text but one that holds NUL.
///
/// One is whatever names something: ids, keys, handles, tags and labels, and the names of machines, units, users,
/// groups, interfaces, hooks, actions and verbs. None are values, messages, errors, commands, outcomes, versions,
/// digests, addresses and the words of a set, which hold NUL wherever no grammar of their own refuses it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub String);

impl Name {
    /// The identifier as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it names nothing.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&ReportKey> for Name {
    fn from(key: &ReportKey) -> Self {
        Self(key.0.clone())
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(text.to_string())
    }
}

impl<'t> Deserialize<'t> for Name {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.contains('\0') {
            Err(de::Error::custom("must not hold NUL"))
        } else {
            Ok(Self(text))
        }
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
