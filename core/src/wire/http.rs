//! Requests and responses as plain data, so that routing, caps and the order of checks are decided here.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::fmt;

use crate::secret::Secret;

/// A request method; every method the contract does not name is kept as [`Method::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Other,
}

impl Method {
    /// Reads a method name, which is case-sensitive.
    pub fn parse(name: &str) -> Self {
        match name {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "DELETE" => Self::Delete,
            _ => Self::Other,
        }
    }

    /// The name as it stands in a request line; any method that the contract does not name is `OTHER`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Other => "OTHER",
        }
    }
}

/// Header fields in the order they came, names in lower case.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    /// Each name with its value behind it, without anything between them.
    text: String,
    /// The lengths of each name and its value.
    lengths: Vec<(usize, usize)>,
}

/// Header fields whose value is a credential.
const CREDENTIALS: [&str; 2] = ["authorization", "proxy-authorization"];

/// A longer value is not printed: it may be a credential that a peer has sent back.
const SHOWN_MAX: usize = 48;

/// Header fields that are printed with their values: a peer may put a credential that it was sent into any other.
const SHOWN: [&str; 10] = [
    "accept",
    "allow",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "if-match",
    "last-event-id",
    "retry-after",
    "user-agent",
];

impl Headers {
    /// No fields.
    pub const fn new() -> Self {
        Self { text: String::new(), lengths: Vec::new() }
    }

    /// No fields yet, and room for so many of so many bytes in all.
    pub fn with_room(fields: usize, bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), lengths: Vec::with_capacity(fields) }
    }

    /// Adds a field; the name is put into lower case.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.push(name, value);
        self
    }

    /// Adds a field in place; the name is put into lower case.
    pub fn push(&mut self, name: &str, value: &str) {
        let front = self.text.len();
        self.text.push_str(name);
        self.text[front..].make_ascii_lowercase();
        self.text.push_str(value);
        self.lengths.push((name.len(), value.len()));
    }

    /// Adds a field as it came; of a credential that is not text nothing is kept, since replacing its odd bytes could
    /// turn it into one that is admitted.
    pub fn push_bytes(&mut self, name: &str, value: &[u8]) {
        let is_credential =
            CREDENTIALS.iter().any(|credential| name.eq_ignore_ascii_case(credential));
        match str::from_utf8(value) {
            Ok(text) => self.push(name, text),
            Err(_) if is_credential => self.push(name, "\u{fffd}"),
            Err(_) => self.push(name, &String::from_utf8_lossy(value)),
        }
    }

    /// The first value of a field.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Every value of a field, in order.
    pub fn all<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h str> + use<'h> {
        self.iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Whether a field stands more than once.
    pub fn is_repeated(&self, name: &str) -> bool {
        self.all(name).nth(1).is_some()
    }

    /// Every field, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest = self.text.as_str();
        self.lengths.iter().map(move |&(name, value)| {
            let (name, behind) = rest.split_at(name);
            let (value, behind) = behind.split_at(value);
            rest = behind;
            (name, value)
        })
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|(name, value)| {
                let is_shown = SHOWN.contains(&name) && value.len() <= SHOWN_MAX;
                (name, if is_shown { value } else { "<hidden>" })
            }))
            .finish()
    }
}

/// What is told of a body that is [`Body::Unreadable`].
pub const UNREADABLE: &str = "the body could not be read to its end, or its length was told twice";

/// A body as its reader found it: read to the route's cap plus one byte, never further.
#[derive(Clone, PartialEq, Eq)]
pub enum Body {
    Whole(Vec<u8>),
    /// Longer than the route's cap.
    Oversized,
    /// Cut off by the peer, or announced in an encoding that it is not in.
    Unreadable,
}

impl Body {
    /// A body of no bytes.
    pub const EMPTY: Self = Self::Whole(Vec::new());

    /// The bytes of a body that was read in full, else the refusal that its route has for the other case.
    pub fn whole<Refusal>(
        &self,
        oversized: Refusal,
        unreadable: Refusal,
    ) -> Result<&[u8], Refusal> {
        match self {
            Self::Whole(bytes) => Ok(bytes),
            Self::Oversized => Err(oversized),
            Self::Unreadable => Err(unreadable),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Oversized => f.write_str("oversized"),
            Self::Unreadable => f.write_str("unreadable"),
        }
    }
}

/// A request. Neither its credentials, its body nor the values in its query are printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    /// As received or sent, percent-encoded, without the query.
    pub path: String,
    /// What follows the question mark, as received.
    pub query: Option<String>,
    pub headers: Headers,
    pub body: Body,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({} {}", self.method.name(), self.path)?;
        if let Some(query) = &self.query {
            write!(f, "?{}", masked_query(query))?;
        }
        write!(f, ", {:?}, {:?})", self.headers, self.body)
    }
}

/// A query with its names and without its values: the token of an upload URL is one of them.
fn masked_query(query: &str) -> String {
    let masked: Vec<String> = query
        .split('&')
        .map(|member| match member.split_once('=') {
            Some((name, _)) => format!("{name}=***"),
            None => "***".to_owned(),
        })
        .collect();
    masked.join("&")
}

/// A response. Its body is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: Headers,
    pub body: Vec<u8>,
    /// The body in the place of `body` where it holds a secret: zeroed when it is dropped.
    pub hidden: Option<Secret<Vec<u8>>>,
}

impl Response {
    /// An answer without a body.
    pub const fn empty(status: u16) -> Self {
        Self { status, headers: Headers::new(), body: Vec::new(), hidden: None }
    }

    /// An answer in JSON; `text` is followed by one newline.
    pub fn json(status: u16, mut text: Vec<u8>) -> Self {
        text.push(b'\n');
        Self::json_line(status, text)
    }

    /// An answer in JSON that nobody may keep: its body is zeroed when it is dropped.
    pub fn hidden_json(status: u16, text: Secret<Vec<u8>>) -> Self {
        Self { hidden: Some(text), ..Self::empty(status) }
            .with("content-type", "application/json")
            .with("cache-control", "no-store")
    }

    /// As [`Response::json`], for a text that ends with its newline.
    pub fn json_line(status: u16, line: Vec<u8>) -> Self {
        Self { body: line, ..Self::empty(status) }.with("content-type", "application/json")
    }

    /// Adds a field to the headers.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push(name, value);
        self
    }

    /// Whether the status is 2xx.
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Response({}, {:?}, ", self.status, self.headers)?;
        match &self.hidden {
            Some(hidden) => write!(f, "{hidden:?})"),
            None => write!(f, "{} bytes)", self.body.len()),
        }
    }
}

/// Replaces each `%XX` by its byte; `None` where an escape is broken or the result is not UTF-8.
pub fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => hex_digit(bytes.next()?)? << 4 | hex_digit(bytes.next()?)?,
            _ => byte,
        });
    }
    String::from_utf8(out).ok()
}

/// Escapes all but the unreserved characters of RFC 3986, so that the text is one path segment.
pub fn percent_encode(text: &str) -> String {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte))
            }
            _ => {
                out.push('%');
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
    out
}

const fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}
