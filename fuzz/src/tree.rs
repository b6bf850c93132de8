//! Any JSON value, read by the visitor that each deserializer under comparison drives; equal members are refused.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

/// A JSON value; numbers are compared by the bits of their double.
#[derive(Debug, PartialEq)]
pub(crate) enum Tree {
    Null,
    Truth(bool),
    Number(u64),
    Text(String),
    List(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

impl<'t> Deserialize<'t> for Tree {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'t> Visitor<'t> for AnyValue {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Truth(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Tree, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Tree, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Tree, E> {
        // The door reads `-0` as the integer 0; adding zero makes the negative one equal to it.
        Ok(Tree::Number((value + 0.0).to_bits()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut elements: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<Tree, A::Error> {
        let mut object = BTreeMap::new();
        while let Some((name, value)) = members.next_entry()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("member stands twice"));
            }
        }
        Ok(Tree::Object(object))
    }
}
