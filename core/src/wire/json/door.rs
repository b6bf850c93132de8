//! The deserializer: one pass over the text, an object where a struct or map is due, integers without fraction.

use alloc::borrow::Cow;

use serde::{
    Deserializer,
    de::{IntoDeserializer, Visitor},
};

use super::{
    Fault, Kind,
    access::{Elements, Members},
    lexer::Lexer,
    raw,
};

/// What becomes of members that the type does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Refused,
    Skipped,
}

#[derive(Debug)]
pub(super) struct Door<'t> {
    pub(super) lexer: Lexer<'t>,
    unknown: Unknown,
}

impl<'t> Door<'t> {
    pub(super) const fn new(text: &'t str, unknown: Unknown) -> Self {
        Self { lexer: Lexer::new(text), unknown }
    }

    /// Refuses anything behind the value.
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        self.lexer.end()
    }

    /// What stands here is well-formed but of another kind, unless it is not JSON at all.
    fn expected(&mut self, what: &str) -> Fault {
        match self.lexer.skip() {
            Ok(_) => Fault::new(Kind::from(what)),
            Err(fault) => fault,
        }
    }

    fn visit_text<V: Visitor<'t>>(text: Cow<'t, str>, visitor: V) -> Result<V::Value, Fault> {
        match text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// A number without fraction and exponent; `-0` is zero.
    fn visit_integer<V: Visitor<'t>>(
        &mut self,
        range: &str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if !matches!(self.lexer.peek(), Some(b'-' | b'0'..=b'9')) {
            return Err(self.expected(range));
        }
        let spelling = self.lexer.number()?;
        if let Ok(value) = spelling.parse::<u64>() {
            visitor.visit_u64(value).map_err(|_: Fault| Fault::new(Kind::from(range)))
        } else if let Ok(value) = spelling.parse::<i64>() {
            visitor.visit_i64(value).map_err(|_: Fault| Fault::new(Kind::from(range)))
        } else {
            Err(Fault::new(Kind::from(range)))
        }
    }

    fn visit_number<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, Fault> {
        if !matches!(self.lexer.peek(), Some(b'-' | b'0'..=b'9')) {
            return Err(self.expected("a number"));
        }
        Self::visit_double(self.lexer.number()?, visitor)
    }

    /// A number of either kind, an integer where it is spelled as one and fits.
    fn visit_any_number<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, Fault> {
        let spelling = self.lexer.number()?;
        if let Ok(value) = spelling.parse::<u64>() {
            visitor.visit_u64(value)
        } else if let Ok(value) = spelling.parse::<i64>() {
            visitor.visit_i64(value)
        } else {
            Self::visit_double(spelling, visitor)
        }
    }

    fn visit_double<V: Visitor<'t>>(spelling: &str, visitor: V) -> Result<V::Value, Fault> {
        match spelling.parse::<f64>() {
            Ok(value) if value.is_finite() => visitor.visit_f64(value),
            _ => Err(Fault::new(Kind::from("a number that fits a double"))),
        }
    }
}

macro_rules! integers {
    ($($method:ident $range:literal)*) => {
        $(fn $method<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.visit_integer($range, visitor)
        })*
    };
}

impl<'t> Deserializer<'t> for &mut Door<'t> {
    type Error = Fault;

    integers! {
        deserialize_i8 "an integer from -128 to 127"
        deserialize_i16 "an integer from -32768 to 32767"
        deserialize_i32 "an integer from -2147483648 to 2147483647"
        deserialize_i64 "an integer of 64 bits"
        deserialize_u8 "an integer from 0 to 255"
        deserialize_u16 "an integer from 0 to 65535"
        deserialize_u32 "an integer from 0 to 4294967295"
        deserialize_u64 "an integer of 64 bits, not negative"
    }

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.lexer.peek() {
            Some(b'{') => self.deserialize_map(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b'"') => self.deserialize_str(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            _ => self.visit_any_number(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.lexer.peek() {
            Some(b't') => self.lexer.literal("true").and_then(|()| visitor.visit_bool(true)),
            Some(b'f') => self.lexer.literal("false").and_then(|()| visitor.visit_bool(false)),
            _ => Err(self.expected("true or false")),
        }
    }

    fn deserialize_f32<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.visit_number(visitor)
    }

    fn deserialize_f64<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.visit_number(visitor)
    }

    fn deserialize_str<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.lexer.peek() {
            Some(b'"') => self.lexer.string().and_then(|text| Door::visit_text(text, visitor)),
            _ => Err(self.expected("a string")),
        }
    }

    fn deserialize_string<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.lexer.peek() {
            Some(b'n') => self.lexer.literal("null").and_then(|()| visitor.visit_none()),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.lexer.peek() {
            Some(b'n') => self.lexer.literal("null").and_then(|()| visitor.visit_unit()),
            _ => Err(self.expected("null")),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match name {
            raw::TOKEN => self.lexer.skip().and_then(|text| visitor.visit_borrowed_str(text)),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.lexer.peek() {
            Some(b'[') => Elements::visit(self, visitor),
            _ => Err(self.expected("an array")),
        }
    }

    fn deserialize_map<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.lexer.peek() {
            Some(b'{') => Members::visit(self, &[], visitor),
            _ => Err(self.expected("an object")),
        }
    }

    /// A null member of a struct is passed over: it is the same as an absent one.
    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.lexer.peek() {
            Some(b'{') => Members::visit(self, known, visitor),
            _ => Err(self.expected("an object")),
        }
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.lexer.peek() {
            Some(b'"') => visitor.visit_enum(self.lexer.string()?.into_deserializer()),
            _ => Err(self.expected("a string")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.unknown {
            Unknown::Refused => Err(Fault::new(Kind::Unknown)),
            Unknown::Skipped => self.lexer.skip().and_then(|_| visitor.visit_unit()),
        }
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'t>>
        i128 u128 char bytes byte_buf unit_struct tuple tuple_struct
    }
}
