//! The merged configuration as `config show` prints it: every key, its value and its origin; secrets masked.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use super::{duration, error::Place, layers::Held, value::Value};

/// The origin of what nobody set.
pub(super) const DEFAULT: &str = "default";
/// What stands for a secret that is set.
const MASK: &str = "********";

/// One key with its value and origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub path: &'static str,
    pub value: Json,
    pub origin: String,
}

impl Row {
    pub(super) fn of(path: &'static str, held: &Held) -> Self {
        let value = match &held.value {
            None => Json::Null,
            Some(Value::Duration(given)) => json!(duration::text(*given)),
            Some(Value::Flag(flag)) => json!(flag),
            Some(Value::Integer(number)) => json!(number),
            Some(Value::List(entries)) => json!(entries),
            Some(Value::Secret(_)) => json!(MASK),
            Some(Value::Text(text)) => json!(text),
        };
        let origin = match &held.place {
            Place::Nowhere => DEFAULT.to_owned(),
            place @ (Place::File { .. } | Place::Environment(_) | Place::Flag(_)) => {
                place.to_string()
            }
        };
        Self { path, value, origin }
    }
}

/// Lines of `key = value  # origin`.
pub fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    for Row { path, value, origin } in rows {
        let shown = if value.is_null() { "(not set)".to_owned() } else { value.to_string() };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{path} = {shown}  # {origin}");
    }
    out
}

/// Sections within each other, each key as `{value, origin}`.
pub fn json(rows: &[Row]) -> Json {
    let mut root = Map::new();
    for row in rows {
        let parts: Vec<_> = row.path.split('.').collect();
        nest(&mut root, &parts, row);
    }
    Json::Object(root)
}

fn nest(section: &mut Map<String, Json>, parts: &[&str], row: &Row) {
    match parts {
        [] => {}
        [name] => drop(
            section.insert((*name).to_owned(), json!({"value": row.value, "origin": row.origin})),
        ),
        [part, rest @ ..] => {
            if let Json::Object(inner) =
                section.entry(*part).or_insert_with(|| Json::Object(Map::new()))
            {
                nest(inner, rest, row);
            }
        }
    }
}
