//! The merged configuration as `config show` prints it: every key, its value and its origin; secrets masked.

use std::{collections::BTreeMap, fmt::Write as _};

use meshward_core::legible;
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

/// What is set as a configuration file, without the origins.
pub fn toml(rows: &[Row]) -> String {
    let mut sections: BTreeMap<&str, String> = BTreeMap::new();
    for Row { path, value, .. } in rows.iter().filter(|row| !row.value.is_null()) {
        let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
        // Writing to a string cannot fail.
        let _ = writeln!(sections.entry(section).or_default(), "{name} = {}", in_toml(value));
    }
    let section = |(name, lines): (&str, String)| format!("[{name}]\n{lines}");
    sections.into_iter().map(section).collect::<Vec<_>>().join("\n")
}

/// A value of a row: numbers, texts and lists are spelled in TOML as in JSON, except for some characters.
fn in_toml(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Array(entries) => {
            format!("[{}]", entries.iter().map(in_toml).collect::<Vec<_>>().join(", "))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => value.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for one in text.chars() {
        // Writing to a string cannot fail.
        let _ = match one {
            '"' | '\\' => write!(quoted, "\\{one}"),
            one if legible::steers(one) => write!(quoted, "\\U{:08X}", u32::from(one)),
            one => write!(quoted, "{one}"),
        };
    }
    quoted + "\""
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &'static str, value: Json) -> Row {
        Row { path, value, origin: DEFAULT.to_owned() }
    }

    #[test]
    fn what_is_set_is_a_file_with_each_section_once_and_every_text_read_back_as_it_was() {
        let odd = "a \"b\" \\ \n\t\u{1b}\u{7f}\u{202e}\u{e0001} é";
        let rows = [
            row("logs.batch_size", json!(200)),
            row("logs.filter.include_units", json!(["a", odd])),
            row("logs.filter.min_severity", Json::Null),
            row("logs.journald", json!(true)),
            row("node.data_dir", json!(odd)),
        ];
        let text = toml(&rows);
        let expected =
            "[logs]\nbatch_size = 200\njournald = true\n\n[logs.filter]\ninclude_units = [\"a\", ";
        assert!(text.starts_with(expected), "{text}");
        assert!(!text.contains("min_severity") && !text.contains(DEFAULT), "{text}");
        assert!(text.chars().all(|one| one == '\n' || !legible::steers(one)), "{text}");
        let read = toml::de::DeTable::parse(&text).unwrap();
        let at = |section: &str| read.get_ref().get(section).unwrap().get_ref();
        assert_eq!(at("node").get("data_dir").unwrap().get_ref().as_str(), Some(odd));
        let filter = at("logs").get("filter").unwrap().get_ref();
        let units = filter.get("include_units").unwrap().get_ref();
        assert_eq!(units.get(1).unwrap().get_ref().as_str(), Some(odd));
    }
}
