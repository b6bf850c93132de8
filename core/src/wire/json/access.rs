//! Walking through arrays and objects; duplicates end the walk, and a fault learns where it happened.

use alloc::borrow::Cow;

use serde::{
    Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor, value::CowStrDeserializer},
};

use super::{Fault, Kind, door::Door, names::Names};

#[derive(Debug)]
pub(super) struct Elements<'d, 't> {
    door: &'d mut Door<'t>,
    index: usize,
    done: bool,
}

impl<'d, 't> Elements<'d, 't> {
    /// Walks an array whole; one that goes on where the visitor stopped is refused.
    pub(super) fn visit<V: Visitor<'t>>(
        door: &'d mut Door<'t>,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        door.lexer.open(b'[')?;
        let mut elements = Self { door, index: 0, done: false };
        let value = visitor.visit_seq(&mut elements)?;
        if !elements.at_end() {
            return Err(Fault::new(Kind::from("an array of its length")));
        }
        Ok(value)
    }

    fn at_end(&mut self) -> bool {
        if !self.done && self.door.lexer.take_if(b']') {
            self.door.lexer.close();
            self.done = true;
        }
        self.done
    }
}

impl<'t> SeqAccess<'t> for Elements<'_, 't> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'t>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        if self.at_end() {
            return Ok(None);
        }
        if self.index > 0 {
            self.door.lexer.take(b',')?;
        }
        let value = seed.deserialize(&mut *self.door).map_err(|fault| fault.at(self.index))?;
        self.index += 1;
        Ok(Some(value))
    }
}

#[derive(Debug)]
pub(super) struct Members<'d, 't> {
    door: &'d mut Door<'t>,
    names: Names<'t>,
    current: Cow<'t, str>,
    begun: bool,
    done: bool,
}

impl<'d, 't> Members<'d, 't> {
    /// Walks an object whole; one that goes on where the visitor stopped is refused. Null is absence for the members
    /// that are `known`.
    pub(super) fn visit<V: Visitor<'t>>(
        door: &'d mut Door<'t>,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        door.lexer.open(b'{')?;
        let (names, current) = (Names::new(known), Cow::Borrowed(""));
        let mut members = Self { door, names, current, begun: false, done: false };
        let value = visitor.visit_map(&mut members)?;
        if !members.at_end() {
            return Err(Fault::new(Kind::from("an object of its members")));
        }
        Ok(value)
    }

    fn at_end(&mut self) -> bool {
        if !self.done && self.door.lexer.take_if(b'}') {
            self.door.lexer.close();
            self.done = true;
        }
        self.done
    }

    /// Takes the next name, and whether its null is absence.
    fn name(&mut self) -> Result<Option<(Cow<'t, str>, bool)>, Fault> {
        if self.at_end() {
            return Ok(None);
        }
        if self.begun {
            self.door.lexer.take(b',')?;
        }
        self.begun = true;
        let (place, name) = self.placed()?;
        self.door.lexer.take(b':')?;
        if !self.names.note(place, name.clone()) {
            return Err(Fault::new(Kind::Duplicate).within(&name));
        }
        Ok(Some((name, place.is_some())))
    }

    /// Takes a name with its place among the known ones; the one that most likely comes is only compared.
    fn placed(&mut self) -> Result<(Option<usize>, Cow<'t, str>), Fault> {
        self.door.lexer.peek();
        match self.names.expected() {
            Some((place, name)) if self.door.lexer.string_if(name) => {
                Ok((Some(place), Cow::Borrowed(name)))
            }
            Some(_) | None => {
                let name = self.door.lexer.string()?;
                Ok((self.names.place(&name), name))
            }
        }
    }
}

impl<'t> MapAccess<'t> for Members<'_, 't> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'t>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        while let Some((name, known)) = self.name()? {
            if known && self.door.lexer.peek() == Some(b'n') {
                self.door.lexer.literal("null")?;
                continue;
            }
            self.current = name.clone();
            return seed.deserialize(Name(name)).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(&mut *self.door).map_err(|fault| fault.within(&self.current))
    }
}

/// A member name, already taken from the text.
struct Name<'t>(Cow<'t, str>);

impl<'t> Deserializer<'t> for Name<'t> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0 {
            Cow::Borrowed(name) => visitor.visit_borrowed_str(name),
            Cow::Owned(name) => visitor.visit_string(name),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        CowStrDeserializer::new(self.0).deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'t>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}
