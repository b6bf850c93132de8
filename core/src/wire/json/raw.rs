//! A value kept as the text it came in, so that number spelling, member order and duplicates survive.

use alloc::{borrow::ToOwned, boxed::Box, string::String};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, de::Visitor, ser::Error};
use serde_json::value::RawValue;

use super::lexer::Lexer;

/// The name by which the door knows that the text itself is wanted.
pub(super) const TOKEN: &str = "meshward::Raw";

/// Well-formed JSON text of one value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Raw(Box<str>);

impl Raw {
    /// Takes a text that is one JSON value; `None` where it is not.
    pub fn parse(text: &str) -> Option<Self> {
        one_value(text, 0).map(|value| Self(value.into()))
    }

    /// Whether a text is one JSON value that may stand within so many arrays and objects.
    pub fn may_stand(text: &str, depth: usize) -> bool {
        one_value(text, depth).is_some()
    }

    /// The text, without white space around it.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The value that an absent member stands for.
    pub fn null() -> Self {
        Self("null".into())
    }

    /// The same value without the white space between its tokens; numbers and strings stay as they were spelled.
    #[must_use]
    pub fn compact(&self) -> Self {
        let (mut quoted, mut escaped) = (false, false);
        let kept = |one: &char| {
            let is_space = matches!(one, ' ' | '\t' | '\n' | '\r');
            if *one == '"' && !escaped {
                quoted = !quoted;
            }
            escaped = *one == '\\' && !escaped;
            quoted || !is_space
        };
        Self(self.0.chars().filter(kept).collect::<String>().into())
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }

    /// Whether the value is null.
    pub fn is_null(&self) -> bool {
        &*self.0 == "null"
    }
}

/// The one value that a text is, without white space around it.
fn one_value(text: &str, depth: usize) -> Option<&str> {
    let mut lexer = Lexer::below(text, depth);
    let value = lexer.skip().ok()?;
    lexer.end().ok()?;
    Some(value)
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.0.len())
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.clone().into_string())
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

impl<'t> Deserialize<'t> for Raw {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Raw, E> {
                Ok(Raw(String::into_boxed_str(text.to_owned())))
            }
        }
        deserializer.deserialize_newtype_struct(TOKEN, Text)
    }
}
