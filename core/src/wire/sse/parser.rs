//! A stream of events, taken apart as its bytes come.
//!
//! The text that is followed is the WHATWG's, "Server-sent events", sections "Parsing an event stream" and
//! "Interpreting an event stream". Where its reader and this one differ:
//!
//! | What | There | Here |
//! |---|---|---|
//! | The data of a frame | any length, decoded as UTF-8 | the bytes as they came, at most [`FRAME_MAX`] of them; of a longer frame only its id is kept |
//! | A value of `event` or `id` | any length | over [`KIND_MAX`] or [`ID_MAX`] bytes it is ignored, as one of `id` with a NUL is |
//! | `retry` | any number; whether an empty one counts is open | at least [`RETRY_MIN`] and at most [`RETRY_MAX`]; an empty one, or one of more than [`ID_MAX`] digits, is ignored |
//! | The last id | stays for the events that follow | each frame tells its own, an empty one too, which takes the id away |
//!
//! A line is never held as a whole: once its name is known, its value goes to where it belongs, or nowhere. No byte is
//! looked at twice, whatever pieces the stream comes in, and no more than [`HELD_MAX`] bytes are held.

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};
use core::{mem, time::Duration};

/// The longest data of a frame: "frames to 1 MiB, a longer one is skipped and the stream kept".
pub const FRAME_MAX: usize = 1 << 20;

/// The longest id, in bytes.
pub const ID_MAX: usize = 256;

/// The longest kind, in bytes.
pub const KIND_MAX: usize = 256;

/// What a parser holds at the most: the data of a frame, its kind and its id, of which a replaced byte can make three,
/// and the value of the line that is being read.
pub const HELD_MAX: usize = FRAME_MAX + 3 * KIND_MAX + 3 * ID_MAX + VALUE_MAX;

/// The waits that a stream may ask for: "`retry:` clamped to 1..60 s".
pub const RETRY_MIN: Duration = Duration::from_secs(1);
pub const RETRY_MAX: Duration = Duration::from_secs(60);

/// The longest value that is read before its line has ended.
const VALUE_MAX: usize = if ID_MAX > KIND_MAX { ID_MAX } else { KIND_MAX };

/// What may stand in front of a stream once.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The kind of a frame that names none.
const MESSAGE: &str = "message";

/// What a stream tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A blank line ended a frame that has data: its lines, joined by a newline, as they came, and the id of this very
    /// frame if it had one.
    Event { kind: String, data: Vec<u8>, id: Option<String> },
    /// How long to wait before a stream is asked for again.
    Retry(Duration),
    /// A frame whose data is too long was passed over.
    Skipped { id: Option<String> },
    /// A frame without data had an id.
    Moved { id: String },
}

/// A stream that is being read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parser {
    place: Place,
    /// The last byte was a carriage return: with a line feed behind it, it is one end of a line.
    returned: bool,
    value: Value,
    open: Open,
}

/// Where the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In front of everything, behind so many bytes of a mark.
    Mark(usize),
    Name(Name),
    /// Right behind the colon, where one space does not count.
    Colon(Field),
    Value(Field),
}

/// The name of a field, as far as it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Name {
    bytes: [u8; NAME_MAX],
    length: usize,
}

/// The longest name that means something.
const NAME_MAX: usize = "event".len();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
    /// A comment, or a name that means nothing.
    Other,
}

/// The value of a line that has not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Value {
    bytes: Vec<u8>,
    /// It is longer than any that counts.
    long: bool,
}

/// The frame that is being read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Open {
    kind: String,
    data: Data,
    id: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Data {
    #[default]
    None,
    Lines(Vec<u8>),
    Long,
}

impl Default for Place {
    fn default() -> Self {
        Self::Mark(0)
    }
}

impl Parser {
    /// Reads the next bytes of the stream, and tells what they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Item> {
        let mut items = Vec::new();
        let mut rest = bytes;
        while let [first, behind @ ..] = rest {
            if mem::take(&mut self.returned) && *first == b'\n' {
                rest = behind;
                continue;
            }
            let taken = match self.place {
                Place::Mark(seen) => self.mark(seen, *first),
                Place::Name(name) => self.name(name, rest, &mut items),
                Place::Colon(field) => {
                    self.place = Place::Value(field);
                    usize::from(*first == b' ')
                }
                Place::Value(field) => self.value(field, rest, &mut items),
            };
            rest = &rest[taken..];
        }
        items
    }

    /// How many bytes are held, at most [`HELD_MAX`].
    pub fn held(&self) -> usize {
        let data = match &self.open.data {
            Data::Lines(data) => data.capacity(),
            Data::None | Data::Long => 0,
        };
        let id = self.open.id.as_ref().map_or(0, String::capacity);
        data + self.open.kind.capacity() + id + self.value.bytes.capacity()
    }

    /// What only begins like a mark is the name of a field.
    fn mark(&mut self, seen: usize, byte: u8) -> usize {
        let is_mark = byte == MARK[seen];
        self.place = if !is_mark {
            Place::Name(MARK[..seen].iter().fold(Name::default(), |name, byte| name.with(*byte)))
        } else if seen + 1 < MARK.len() {
            Place::Mark(seen + 1)
        } else {
            Place::Name(Name::default())
        };
        usize::from(is_mark)
    }

    fn name(&mut self, mut name: Name, bytes: &[u8], items: &mut Vec<Item>) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b':' => {
                    let field = name.field();
                    self.begin(field);
                    self.place = Place::Colon(field);
                    return at + 1;
                }
                b'\r' | b'\n' => {
                    if name.length == 0 {
                        items.extend(mem::take(&mut self.open).ended());
                    } else {
                        self.begin(name.field());
                        items.extend(self.finish(name.field()));
                    }
                    self.ended(*byte);
                    return at + 1;
                }
                _ => name = name.with(*byte),
            }
        }
        self.place = Place::Name(name);
        bytes.len()
    }

    fn value(&mut self, field: Field, bytes: &[u8], items: &mut Vec<Item>) -> usize {
        let length = line(bytes);
        let (value, behind) = bytes.split_at(length);
        match field {
            Field::Data => self.open.data.extend(value),
            Field::Event | Field::Id | Field::Retry => self.value.extend(value),
            Field::Other => {}
        }
        let [end, ..] = behind else { return length };
        items.extend(self.finish(field));
        self.ended(*end);
        length + 1
    }

    const fn ended(&mut self, byte: u8) {
        self.returned = byte == b'\r';
        self.place = Place::Name(Name { bytes: [0; NAME_MAX], length: 0 });
    }

    /// A line of this field has a value, empty so far.
    fn begin(&mut self, field: Field) {
        match field {
            Field::Data => self.open.data.begin(),
            Field::Event | Field::Id | Field::Retry => self.value.begin(),
            Field::Other => {}
        }
    }

    /// A line of this field has ended.
    fn finish(&mut self, field: Field) -> Option<Item> {
        match field {
            Field::Event => {
                if let Some(kind) = self.value.within(KIND_MAX) {
                    self.open.kind = text(kind);
                }
                None
            }
            Field::Id => {
                if let Some(id) = self.value.within(ID_MAX).filter(|id| !id.contains(&0)) {
                    self.open.id = Some(text(id));
                }
                None
            }
            Field::Retry => self.value.within(VALUE_MAX).and_then(retry).map(Item::Retry),
            Field::Data | Field::Other => None,
        }
    }
}

impl Name {
    /// What follows on a name that is too long to mean anything is only counted.
    const fn with(mut self, byte: u8) -> Self {
        if self.length < NAME_MAX {
            self.bytes[self.length] = byte;
        }
        self.length = self.length.saturating_add(1);
        self
    }

    fn field(self) -> Field {
        match self.bytes.get(..self.length) {
            Some(b"data") => Field::Data,
            Some(b"event") => Field::Event,
            Some(b"id") => Field::Id,
            Some(b"retry") => Field::Retry,
            Some(_) | None => Field::Other,
        }
    }
}

impl Value {
    fn begin(&mut self) {
        self.bytes.clear();
        self.bytes.reserve_exact(VALUE_MAX);
        self.long = false;
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = VALUE_MAX - self.bytes.len();
        self.long |= bytes.len() > room;
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The whole value, unless it is longer.
    fn within(&self, max: usize) -> Option<&[u8]> {
        (!self.long && self.bytes.len() <= max).then_some(&self.bytes)
    }
}

impl Open {
    /// What the frame was, at the blank line behind it.
    fn ended(self) -> Option<Item> {
        let Self { kind, data, id } = self;
        match data {
            Data::None => id.map(|id| Item::Moved { id }),
            Data::Lines(data) => {
                let kind = if kind.is_empty() { MESSAGE.to_owned() } else { kind };
                Some(Item::Event { kind, data, id })
            }
            Data::Long => Some(Item::Skipped { id }),
        }
    }
}

impl Data {
    fn begin(&mut self) {
        match self {
            Self::None => *self = Self::Lines(Vec::new()),
            Self::Lines(_) => self.extend(b"\n"),
            Self::Long => {}
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        let Self::Lines(data) = self else { return };
        let length = data.len().saturating_add(bytes.len());
        if length > FRAME_MAX {
            *self = Self::Long;
            return;
        }
        if length > data.capacity() {
            // Doubled, so that each byte is copied a few times at the most, and never to more than may be held.
            let room = length.max(data.capacity().saturating_mul(2)).min(FRAME_MAX);
            data.reserve_exact(room - data.len());
        }
        data.extend_from_slice(bytes);
    }
}

/// The number of bytes in front of the first end of a line.
fn line(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let plain =
        blocks.iter().take_while(|block| !block.iter().fold(false, |any, byte| any | ends(*byte)));
    let plain = plain.count() * BLOCK;
    plain + bytes[plain..].iter().take_while(|byte| !ends(**byte)).count()
}

/// So many bytes are looked at together.
const BLOCK: usize = 32;

const fn ends(byte: u8) -> bool {
    byte == b'\r' || byte == b'\n'
}

fn text(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    text.shrink_to_fit();
    text
}

/// Milliseconds in digits and nothing else.
fn retry(digits: &[u8]) -> Option<Duration> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let millis = digits
        .iter()
        .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(Duration::from_millis(millis).clamp(RETRY_MIN, RETRY_MAX))
}
