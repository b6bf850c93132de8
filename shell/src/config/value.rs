//! One value of the configuration: from TOML or from plain text to its kind, with its rule checked.

use std::time::Duration;

use meshward_core::secret::Secret;
use toml::{
    Spanned,
    de::{DeInteger, DeValue},
};

use super::{duration, error::Fault, forms::Verdict};

/// Entries a list may have.
const LIST_MAX: usize = 256;
/// Entries of a list that are told where they cannot be taken.
const BROKEN_MAX: usize = 8;
/// Bytes a text may have.
const TEXT_MAX: usize = 4096;

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Duration { min: Duration },
    Flag,
    Integer { min: u64, max: u64 },
    List(fn(&str) -> Verdict),
    Secret,
    Text(fn(&str) -> Verdict),
}

/// A checked value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Duration(Duration),
    Flag(bool),
    Integer(u64),
    List(Vec<String>),
    Secret(Secret<String>),
    Text(String),
}

impl Value {
    /// Whether it is a text of length zero, which stands for no value where one may be absent.
    pub(super) fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Secret(secret) => secret.expose().is_empty(),
            Self::Duration(_) | Self::Flag(_) | Self::Integer(_) | Self::List(_) => false,
        }
    }
}

impl Kind {
    /// What it takes, in words.
    const fn name(self) -> &'static str {
        match self {
            Self::Duration { .. } => "a duration in quotes, such as \"5s\"",
            Self::Flag => "true or false",
            Self::Integer { .. } => "a whole number",
            Self::List(_) => "a list of strings",
            Self::Secret | Self::Text(_) => "a string",
        }
    }

    /// Takes the type of a TOML value; its rule is left to [`Kind::check`].
    pub(super) fn take_toml(self, value: &DeValue<'_>) -> Result<Value, Fault> {
        let wrong =
            || Fault::Mistyped(format!("must be {}, not {}", self.name(), described(value)));
        match self {
            Self::Duration { .. } => {
                let text = value.as_str().ok_or_else(wrong)?;
                duration::parse(text)
                    .map(Value::Duration)
                    .map_err(|rule| Fault::Broken(rule.into()))
            }
            Self::Flag => value.as_bool().map(Value::Flag).ok_or_else(wrong),
            Self::Integer { min, max } => {
                let number = value.as_integer().ok_or_else(wrong)?;
                let number = unsigned(number).map(Value::Integer);
                number.ok_or_else(|| Fault::Broken(range(min, max)))
            }
            Self::List(_) => {
                let entries = value.as_array().ok_or_else(wrong)?;
                list(entries.iter().map(Spanned::get_ref)).map(Value::List).map_err(Fault::Mistyped)
            }
            Self::Secret => value.as_str().map(secret).ok_or_else(wrong),
            Self::Text(_) => value.as_str().map(text).ok_or_else(wrong),
        }
    }

    /// Reads what an environment variable or a flag holds; a list is separated by commas.
    pub(super) fn take_text(self, given: &str) -> Result<Value, String> {
        match self {
            Self::Duration { .. } => Ok(Value::Duration(duration::parse(given)?)),
            Self::Flag => {
                given.parse().map(Value::Flag).map_err(|_| "must be true or false".into())
            }
            Self::Integer { min, max } => {
                let digits = given.bytes().all(|byte| byte.is_ascii_digit());
                let number = if digits { given.parse().ok() } else { None };
                number.map(Value::Integer).ok_or_else(|| range(min, max))
            }
            Self::List(_) => Ok(Value::List(pieces(given))),
            Self::Secret => Ok(secret(given)),
            Self::Text(_) => Ok(text(given)),
        }
    }

    /// Checks the rule of the key.
    pub(super) fn check(self, value: &Value) -> Result<(), String> {
        match (self, value) {
            (Self::Duration { min }, Value::Duration(given)) if *given < min => Err(too_short(min)),
            (Self::Integer { min, max }, Value::Integer(given)) if !(min..=max).contains(given) => {
                Err(range(min, max))
            }
            (Self::List(rule), Value::List(entries)) => check_list(rule, entries),
            (Self::Text(rule), Value::Text(text)) => check_text(rule, text),
            (Self::Secret, Value::Secret(secret)) => check_text(|_| Ok(()), secret.expose()),
            (
                Self::Duration { .. }
                | Self::Flag
                | Self::Integer { .. }
                | Self::List(_)
                | Self::Secret
                | Self::Text(_),
                _,
            ) => Ok(()),
        }
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn secret(text: &str) -> Value {
    Value::Secret(Secret::new(text.to_owned()))
}

fn described(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}

fn unsigned(number: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn list<'v>(entries: impl Iterator<Item = &'v DeValue<'v>>) -> Result<Vec<String>, String> {
    each_entry(entries, |entry| {
        let wrong = || format!("must be a string, not {}", described(entry));
        entry.as_str().map(str::to_owned).ok_or_else(wrong)
    })
}

/// Takes the entries of a list one by one, or tells each that cannot be taken.
fn each_entry<E, T>(
    entries: impl Iterator<Item = E>,
    take: impl Fn(E) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let (mut taken, mut broken) = (Vec::new(), Vec::new());
    for (at, entry) in entries.enumerate() {
        match take(entry) {
            Ok(value) => taken.push(value),
            Err(rule) => broken.push(format!("entry {}: {rule}", at + 1)),
        }
    }
    match broken.len() {
        0 => Ok(taken),
        1..=BROKEN_MAX => Err(broken.join("; ")),
        all => {
            broken.truncate(BROKEN_MAX);
            Err(format!("{}; and {} more entries", broken.join("; "), all - BROKEN_MAX))
        }
    }
}

fn pieces(given: &str) -> Vec<String> {
    given.split(',').map(str::trim).filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

fn range(min: u64, max: u64) -> String {
    format!("must be a whole number from {min} to {max}")
}

fn too_short(min: Duration) -> String {
    if min <= Duration::from_millis(1) {
        "must be a duration above 0".to_owned()
    } else {
        format!("must be at least {}", duration::text(min))
    }
}

fn check_text(rule: fn(&str) -> Verdict, text: &str) -> Result<(), String> {
    if text.len() > TEXT_MAX {
        return Err(format!("must have at most {TEXT_MAX} bytes"));
    }
    Ok(rule(text)?)
}

fn check_list(rule: fn(&str) -> Verdict, entries: &[String]) -> Result<(), String> {
    if entries.len() > LIST_MAX {
        return Err(format!("must have at most {LIST_MAX} entries"));
    }
    each_entry(entries.iter(), |entry| check_text(rule, entry)).map(drop)
}
