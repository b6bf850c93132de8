//! Where one request on a connection ends and the next begins, and which heads are no request at all.
//!
//! A head is read whole before anything behind it is looked at. Its lines are taken apart by the parser that the HTTP
//! library behind it uses too, so that the two do not read the same bytes in two ways.
//!
//! Specification: "Limits"; `decisions.md` section 7 (repeated `Content-Length`).

use alloc::{borrow::ToOwned as _, boxed::Box, string::String};

use httparse::{EMPTY_HEADER, Error, Header, Status, parse_chunk_size, parse_headers};
use thiserror::Error;

use super::{
    host,
    http::{Body, Headers, Method, Request},
};

/// The longest head at the control plane, in bytes; the agent's listeners take shorter ones.
pub const HEAD_MAX: usize = 64 << 10;

/// How many header fields a head may have.
pub const FIELDS_MAX: usize = 128;

/// The longest line that announces a chunk, in bytes.
pub const CHUNK_LINE_MAX: usize = 4 << 10;

/// The longest body, in bytes: the lengths above are not counted by the HTTP library.
const LENGTH_MAX: u64 = u64::MAX - 3;

/// Why a head is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    #[error(
        "the request line cannot be read: send a method, a target without spaces and HTTP/1.1, and end each line by CR LF"
    )]
    Broken,
    #[error(
        "a header line cannot be read: send a name, a colon right behind it and a value, all on one line that CR LF ends"
    )]
    BrokenField,
    #[error("the target of the request makes its head longer than {0} bytes")]
    TargetTooLong(usize),
    #[error("the head of the request is longer than {0} bytes")]
    HeadTooLong(usize),
    #[error("the request has more than {FIELDS_MAX} header fields")]
    TooManyFields,
    #[error("Content-Length must be a decimal number of bytes, without a sign")]
    BadLength,
    #[error("Content-Length is repeated: send it once")]
    RepeatedLength,
    #[error("Transfer-Encoding must end in chunked, and HTTP/1.0 does not have it")]
    BadEncoding,
}

impl Flaw {
    /// The status that says the most of it.
    pub const fn status(self) -> u16 {
        match self {
            Self::Broken
            | Self::BrokenField
            | Self::BadLength
            | Self::RepeatedLength
            | Self::BadEncoding => 400,
            Self::TargetTooLong(_) => 414,
            Self::HeadTooLong(_) | Self::TooManyFields => 431,
        }
    }
}

/// A head that is refused, with what could be read of it; nothing behind it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub flaw: Flaw,
    /// Its body counts as unreadable.
    pub request: Request,
    /// Whether it was sent by a client of HTTP/1.0.
    pub is_old: bool,
}

/// What stands at the front of the bytes that were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'b> {
    /// More has to come before it can be told.
    Partial,
    /// A whole head of this length, and the target in it.
    Head {
        length: usize,
        target: &'b str,
    },
    /// So many bytes that belong to a body.
    Body {
        length: usize,
    },
    Refused(Box<Refused>),
    /// The body breaks its own framing: nothing that comes can be told apart any more, and none of it may pass.
    Lost,
}

/// The place that a connection has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Framing {
    /// The longest head, in bytes.
    head_max: usize,
    at: At,
    /// How many bytes of a partial head were looked at without finding its end.
    seen: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Head,
    /// So many bytes of a body are left.
    Body(u64),
    ChunkLine,
    /// So many bytes of a chunk are left, with the line end behind it.
    Chunk(u64),
    Trailers,
    /// Behind a body that breaks its own framing.
    Lost,
}

impl Framing {
    /// A connection on which nothing has come yet, with the longest head that it may bring.
    pub const fn new(head_max: usize) -> Self {
        Self { head_max, at: At::Head, seen: 0 }
    }

    /// How many bytes of one piece have to be held at most before it can be told.
    pub const fn held_max(&self) -> usize {
        if self.head_max > CHUNK_LINE_MAX { self.head_max } else { CHUNK_LINE_MAX }
    }

    /// Takes the front of the bytes; those of a partial piece are to be given again, with more behind them.
    pub fn next<'b>(&mut self, bytes: &'b [u8]) -> Piece<'b> {
        if bytes.is_empty() {
            return Piece::Partial;
        }
        match self.at {
            At::Head => self.head(bytes),
            At::ChunkLine => self.chunk_line(bytes),
            At::Trailers => self.trailers(bytes),
            At::Lost => Piece::Lost,
            At::Body(_) | At::Chunk(_) => {
                let length = bytes.len().min(self.known());
                self.pass(length);
                Piece::Body { length }
            }
        }
    }

    /// How many bytes are surely those of a body, whatever they are.
    pub fn known(&self) -> usize {
        match self.at {
            At::Head | At::ChunkLine | At::Trailers | At::Lost => 0,
            At::Body(left) | At::Chunk(left) => usize::try_from(left).unwrap_or(usize::MAX),
        }
    }

    /// Counts bytes that were not given because they were known to be those of a body.
    pub fn pass(&mut self, length: usize) {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        self.at = match self.at {
            At::Body(left) if left <= length => At::Head,
            At::Body(left) => At::Body(left - length),
            At::Chunk(left) if left <= length => At::ChunkLine,
            At::Chunk(left) => At::Chunk(left - length),
            at @ (At::Head | At::ChunkLine | At::Trailers | At::Lost) => at,
        };
    }

    fn head<'b>(&mut self, bytes: &'b [u8]) -> Piece<'b> {
        let bytes = bytes.get(..self.head_max).unwrap_or(bytes);
        let is_full = bytes.len() == self.head_max;
        if self.seen > 0 && !is_full && !has_blank_line(bytes, self.seen) {
            self.seen = bytes.len();
            return Piece::Partial;
        }
        let mut fields = [EMPTY_HEADER; FIELDS_MAX];
        let mut parsed = httparse::Request::new(&mut fields);
        let flaw = match parsed.parse(bytes) {
            Ok(Status::Complete(length)) => match body(&parsed) {
                Ok(at) => {
                    *self = Self { at, ..Self::new(self.head_max) };
                    return Piece::Head { length, target: parsed.path.unwrap_or_default() };
                }
                Err(flaw) => flaw,
            },
            Ok(Status::Partial) if !is_full => {
                self.seen = bytes.len();
                return Piece::Partial;
            }
            Ok(Status::Partial) if parsed.path.is_none() => Flaw::TargetTooLong(self.head_max),
            Ok(Status::Partial) => Flaw::HeadTooLong(self.head_max),
            Err(Error::TooManyHeaders) => Flaw::TooManyFields,
            Err(Error::HeaderName | Error::HeaderValue) => Flaw::BrokenField,
            Err(_) => Flaw::Broken,
        };
        Piece::Refused(Box::new(refused(flaw, &parsed)))
    }

    fn chunk_line(&mut self, bytes: &[u8]) -> Piece<'static> {
        let line = bytes.get(..CHUNK_LINE_MAX).unwrap_or(bytes);
        match parse_chunk_size(line) {
            Ok(Status::Complete((length, 0))) => self.body(length, At::Trailers),
            Ok(Status::Complete((length, size))) => {
                self.body(length, At::Chunk(size.saturating_add(LINE_END)))
            }
            Ok(Status::Partial) if line.len() < CHUNK_LINE_MAX => Piece::Partial,
            Ok(Status::Partial) | Err(_) => self.lose(),
        }
    }

    /// The HTTP library ends trailers at CR LF alone, so that a bare line feed would end them for one of the two.
    fn trailers(&mut self, bytes: &[u8]) -> Piece<'static> {
        let lines = bytes.get(..self.head_max).unwrap_or(bytes);
        match parse_headers(lines, &mut [EMPTY_HEADER; FIELDS_MAX]) {
            Ok(Status::Complete((length, _))) if !has_bare_line_feed(&lines[..length]) => {
                self.body(length, At::Head)
            }
            Ok(Status::Partial) if lines.len() < self.head_max => Piece::Partial,
            Ok(Status::Complete(_) | Status::Partial) | Err(_) => self.lose(),
        }
    }

    const fn lose(&mut self) -> Piece<'static> {
        self.at = At::Lost;
        Piece::Lost
    }

    const fn body(&mut self, length: usize, at: At) -> Piece<'static> {
        self.at = at;
        Piece::Body { length }
    }
}

/// The length of CR LF.
const LINE_END: u64 = 2;

/// Whether a head that had no end in its first `seen` bytes has one now.
fn has_blank_line(bytes: &[u8], seen: usize) -> bool {
    let late = bytes.get(seen.saturating_sub(3)..).unwrap_or_default();
    late.windows(2).any(|two| two == b"\n\n") || late.windows(3).any(|three| three == b"\n\r\n")
}

fn has_bare_line_feed(lines: &[u8]) -> bool {
    let ends = lines.iter().filter(|byte| **byte == b'\n').count();
    ends != lines.windows(2).filter(|two| *two == b"\r\n").count()
}

/// What comes behind a head, or why nobody can tell.
fn body(head: &httparse::Request<'_, '_>) -> Result<At, Flaw> {
    let all = |name: &'static str| {
        let named = move |field: &&Header<'_>| field.name.eq_ignore_ascii_case(name);
        head.headers.iter().filter(named).map(|field| field.value)
    };
    let mut lengths = all("content-length");
    let first = lengths.next();
    if lengths.next().is_some() {
        return Err(Flaw::RepeatedLength);
    }
    if let Some(last) = all("transfer-encoding").next_back() {
        return match head.version != Some(0) && is_chunked(last) {
            true => Ok(At::ChunkLine),
            false => Err(Flaw::BadEncoding),
        };
    }
    match first.map_or(Some(0), length).ok_or(Flaw::BadLength)? {
        0 => Ok(At::Head),
        length => Ok(At::Body(length)),
    }
}

/// The HTTP library reads an encoding only where all of the value is text.
fn is_chunked(encodings: &[u8]) -> bool {
    let is_text = encodings.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let last = encodings.rsplit(|byte| *byte == b',').next().unwrap_or_default();
    is_text && last.trim_ascii().eq_ignore_ascii_case(b"chunked")
}

fn length(value: &[u8]) -> Option<u64> {
    let digits = value.iter().all(u8::is_ascii_digit).then_some(value)?;
    str::from_utf8(digits).ok()?.parse().ok().filter(|length| *length < LENGTH_MAX)
}

fn refused(flaw: Flaw, head: &httparse::Request<'_, '_>) -> Refused {
    // The fields of a head that was not read to its end are not told apart from those that never came.
    let is_whole = matches!(flaw, Flaw::BadLength | Flaw::RepeatedLength | Flaw::BadEncoding);
    let mut headers = Headers::new();
    for field in head.headers.iter().filter(|_| is_whole) {
        headers.push_bytes(field.name, field.value);
    }
    let (authority, path, query) = parts(head.path.unwrap_or_default());
    if let Some(authority) = authority {
        host::hold(&mut headers, authority);
    }
    let method = head.method.map_or(Method::Other, Method::parse);
    let request = Request { method, path, query, headers, body: Body::Unreadable };
    Refused { flaw, request, is_old: head.version == Some(0) }
}

/// Authority, path and query of a target, which may be a whole address.
fn parts(target: &str) -> (Option<&str>, String, Option<String>) {
    let (authority, target) = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (authority, target) = rest.split_at(end);
            (Some(authority), target)
        }
        Some(_) | None => (None, target),
    };
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target, None),
    };
    let path = if authority.is_some() && path.is_empty() { "/" } else { path };
    (authority, path.to_owned(), query)
}

impl Refused {
    /// A head that is none for the HTTP library although its lines are.
    pub fn broken(head: &[u8]) -> Self {
        let mut fields = [EMPTY_HEADER; FIELDS_MAX];
        let mut parsed = httparse::Request::new(&mut fields);
        let _length = parsed.parse(head);
        refused(Flaw::Broken, &parsed)
    }
}
