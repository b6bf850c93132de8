//! Texts that are borrowed from what they were read from wherever they hold no escape, each with a rule of its own.
//!
//! A batch of records is read without one allocation a member, and an agent builds the same types from its own texts.

use alloc::{
    borrow::{Cow, ToOwned as _},
    string::String,
};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

/// The rule that a text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Broken {
    #[error("must not be empty")]
    Empty,
    #[error("must not hold NUL")]
    Nul,
}

const fn any(_: &str) -> Option<Broken> {
    None
}

/// A text of blanks alone is not empty.
fn filled(text: &str) -> Option<Broken> {
    text.is_empty().then_some(Broken::Empty)
}

fn without_nul(text: &str) -> Option<Broken> {
    text.contains('\0').then_some(Broken::Nul)
}

fn identifier(text: &str) -> Option<Broken> {
    filled(text).or_else(|| without_nul(text))
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident $rule:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name<'t>(Cow<'t, str>);

        impl<'t> $name<'t> {
            /// Takes a text that keeps the rule.
            pub fn parse(text: impl Into<Cow<'t, str>>) -> Result<Self, Broken> {
                let text = text.into();
                match $rule(&text) {
                    None => Ok(Self(text)),
                    Some(broken) => Err(broken),
                }
            }

            /// The text as it was read.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de: 't, 't> Deserialize<'de> for $name<'t> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(deserializer.deserialize_str(Borrowing)?).map_err(de::Error::custom)
            }
        }
    )*};
}

texts! {
    /// Any text.
    Text any
    /// A text that is not empty.
    Filled filled
    /// A name that may be empty but holds no NUL.
    Label without_nul
    /// A name that is not empty and holds no NUL.
    Identifier identifier
}

/// Takes a string as it comes: a part of the text that is read, or one that had to be put together.
struct Borrowing;

impl<'t> de::Visitor<'t> for Borrowing {
    type Value = Cow<'t, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'t str) -> Result<Cow<'t, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Cow<'t, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Cow<'t, str>, E> {
        Ok(Cow::Owned(text))
    }
}
