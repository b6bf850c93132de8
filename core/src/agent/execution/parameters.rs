//! What an action is given to work on: the parameters of its entry, by name.
//!
//! Specification: "Dispatch of pulled executions" of the node agent, and the environment of hooks.

use alloc::{collections::BTreeMap, string::String};

use crate::wire::{
    grammar::Name,
    json::{self, Raw},
};

/// What the report says when the parameters cannot be given to an action.
pub const BAD_PARAMETERS: &str =
    "parameters must be an object whose member names differ and hold no NUL";

/// Strings unquoted, every other value as its JSON text; `None` where two members share a name.
pub(super) fn of(raw: Option<&Raw>) -> Option<BTreeMap<String, String>> {
    let Some(raw) = raw else { return Some(BTreeMap::new()) };
    let members: BTreeMap<Name, Raw> = json::decode_tolerant(raw.text().as_bytes()).ok()?;
    Some(members.into_iter().map(|(name, value)| (name.0, unquoted(&value))).collect())
}

fn unquoted(value: &Raw) -> String {
    json::decode_tolerant(value.text().as_bytes()).unwrap_or_else(|_| String::from(value.text()))
}
