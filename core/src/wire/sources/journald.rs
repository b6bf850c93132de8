//! Entries of the journal, as `journalctl --output=json` writes them, one a line.
//!
//! | Field | Becomes |
//! |---|---|
//! | `MESSAGE` | the message: a text, or its bytes as numbers; without one there is no record |
//! | `PRIORITY` | the severity, `info` where it is none of 0 to 7 |
//! | `_SYSTEMD_UNIT`, else `SYSLOG_IDENTIFIER` | the unit, at most [`UNIT_MAX`] bytes of it |
//! | `__REALTIME_TIMESTAMP` | the time, in microseconds since 1970 |
//! | `__CURSOR` | where the journal goes on |
//! | `_PID` | who wrote it |
//!
//! A field that an entry has more than once is an array, of which the first one with a value counts. What the fields hold
//! is data, whatever it looks like.
//!
//! Specification: "Internal record shapes (local endpoint delivery)"; `gaps-agent.md` section 4.1 (journald).

pub mod reading;

use alloc::{
    borrow::{Cow, ToOwned as _},
    string::String,
    sync::Arc,
    vec::Vec,
};
use core::{fmt, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use thiserror::Error;

use super::lines;
use crate::{
    time::Wall,
    wire::{
        ingest::Severity,
        json,
        positions::PLACE_MAX,
        record::{LogEntry, LogSource, TEXT_MAX},
        timestamp::Timestamp,
    },
};

/// The longest line that is read, in bytes.
pub const ENTRY_MAX: usize = 1 << 20;

/// The longest name of a unit, in bytes; what is longer is cut.
pub const UNIT_MAX: usize = 256;

/// The fields that are read of an entry, besides those that every one is written with.
pub const FIELDS: &str = "MESSAGE,PRIORITY,_SYSTEMD_UNIT,SYSLOG_IDENTIFIER,_PID";

/// A line that is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no entry of a journal: JSON with __CURSOR and __REALTIME_TIMESTAMP is needed")]
pub struct NotAnEntry;

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub cursor: String,
    pub pid: Option<u32>,
    /// Absent where there is no message, or an empty one.
    pub log: Option<LogEntry>,
}

#[derive(Deserialize)]
struct Line<'t> {
    #[serde(rename = "__CURSOR", borrow)]
    cursor: Field<'t>,
    #[serde(rename = "__REALTIME_TIMESTAMP", borrow)]
    realtime: Field<'t>,
    #[serde(rename = "MESSAGE", borrow, default)]
    message: Field<'t>,
    #[serde(rename = "PRIORITY", borrow, default)]
    priority: Field<'t>,
    #[serde(rename = "_SYSTEMD_UNIT", borrow, default)]
    unit: Field<'t>,
    #[serde(rename = "SYSLOG_IDENTIFIER", borrow, default)]
    identifier: Field<'t>,
    #[serde(rename = "_PID", borrow, default)]
    pid: Field<'t>,
}

/// The first value of a field.
#[derive(Default)]
enum Field<'t> {
    #[default]
    None,
    Text(Cow<'t, str>),
    /// The first of them, one more than a message may have.
    Bytes(Vec<u8>),
}

impl Entry {
    /// Reads one line, without its end.
    pub fn decode(line: &[u8], hostname: &Arc<str>) -> Result<Self, NotAnEntry> {
        let line: Line<'_> = json::decode_tolerant(line).map_err(|_| NotAnEntry)?;
        let cursor = line.cursor.text().filter(|cursor| is_cursor(cursor)).ok_or(NotAnEntry)?;
        let micros = line.realtime.number().ok_or(NotAnEntry)?;
        let message = line.message.message();
        let log = (!message.is_empty()).then(|| LogEntry {
            timestamp: Timestamp::from(Wall::from_origin(Duration::from_micros(micros))),
            source: LogSource::Journald,
            unit: line.unit.unit().or_else(|| line.identifier.unit()).unwrap_or_default(),
            message,
            severity: severity(line.priority.number()),
            hostname: Arc::clone(hostname),
        });
        let pid = line.pid.number().and_then(|pid| u32::try_from(pid).ok());
        Ok(Self { cursor: cursor.to_owned(), pid, log })
    }
}

/// Whether a text can be handed on as a cursor.
pub fn is_cursor(text: &str) -> bool {
    (1..=PLACE_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn severity(priority: Option<u64>) -> Severity {
    let at = priority.and_then(|priority| usize::try_from(priority).ok());
    at.and_then(|at| Severity::ALL.get(at)).copied().unwrap_or(Severity::Info)
}

impl Field<'_> {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) | Self::None => None,
        }
    }

    /// Decimal digits and nothing else.
    fn number(&self) -> Option<u64> {
        self.text().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
    }

    fn message(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Text(text) if text.len() <= TEXT_MAX => text.into_owned(),
            Self::Text(text) => lines::text(text.as_bytes()),
            Self::Bytes(bytes) => lines::text(&bytes),
        }
    }

    /// A name, in which no NUL may stand.
    fn unit(&self) -> Option<Arc<str>> {
        let text = self.text().filter(|text| !text.is_empty())?;
        let text = &text[..text.floor_char_boundary(UNIT_MAX)];
        Some(if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() })
    }

    const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

impl<'de: 't, 't> Deserialize<'de> for Field<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(Values)? {
            Value::Field(field) => Ok(field),
            Value::Byte(_) => Ok(Self::None),
        }
    }
}

/// A value, or one byte of one.
enum Value<'t> {
    Byte(u64),
    Field(Field<'t>),
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field of a journal")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Field(Field::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Field(Field::Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_u64<E: de::Error>(self, byte: u64) -> Result<Value<'de>, E> {
        Ok(Value::Byte(byte))
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Value<'de>, E> {
        Ok(Value::Field(Field::None))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Value<'de>, E> {
        Ok(Value::Field(Field::None))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Value<'de>, E> {
        Ok(Value::Field(Field::None))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value<'de>, E> {
        Ok(Value::Field(Field::None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value<'de>, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Field(Field::None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value<'de>, A::Error> {
        let mut bytes = Vec::new();
        let mut first = Field::None;
        while let Some(value) = elements.next_element()? {
            match value {
                Value::Byte(byte) if bytes.len() <= TEXT_MAX => {
                    bytes.push(u8::try_from(byte).map_err(|_| de::Error::custom(BYTE))?);
                }
                Value::Field(field) if first.is_none() => first = field,
                Value::Byte(_) | Value::Field(_) => {}
            }
        }
        let is_of_bytes = first.is_none() && !bytes.is_empty();
        Ok(Value::Field(if is_of_bytes { Field::Bytes(bytes) } else { first }))
    }
}

const BYTE: &str = "must be a byte, 0 to 255";
