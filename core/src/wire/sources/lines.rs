//! Lines taken out of bytes that come in pieces cut anywhere.
//!
//! A line that is too long is given as far as it may be, as soon as that is known, and the rest of it is passed over as it
//! comes: no more than the limit is ever held, however long the line is.
//!
//! | Of a file | What is made of it |
//! |---|---|
//! | a line | its text, without one carriage return at its end |
//! | an empty line | nothing |
//! | a line over [`TEXT_MAX`] bytes | its start, and [`CUT`] behind it |
//! | bytes that are not UTF-8 | a replacement character each |
//!
//! Specification: "Limits" (File log source).

use alloc::{string::String, vec::Vec};

use crate::wire::record::{CUT, TEXT_MAX};

/// The longest line of a file that is held, in bytes: a text with the carriage return behind it.
pub const LINE_MAX: usize = TEXT_MAX + 1;

/// How much of the room for a line is kept for the next one.
const KEPT_MAX: usize = 64 << 10;

/// Bytes taken apart into lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    max: usize,
    held: Vec<u8>,
    /// What is held was given, and goes with the next byte.
    given: bool,
    /// The line that is being read was given as far as it may be.
    passing: bool,
}

/// One line, without what ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'b> {
    Whole(&'b [u8]),
    /// The start of a line that is longer than it may be.
    Start(&'b [u8]),
}

impl Lines {
    /// At the start of a line; `max` is the longest one in bytes.
    pub const fn new(max: usize) -> Self {
        Self { max, held: Vec::new(), given: false, passing: false }
    }

    /// Within a line whose start was given before.
    pub const fn within(max: usize) -> Self {
        Self { max, held: Vec::new(), given: false, passing: true }
    }

    /// Takes bytes from the front up to the end of the next line, or all of them where it does not end there.
    pub fn next<'l, 'b: 'l>(&'l mut self, bytes: &mut &'b [u8]) -> Option<Line<'l>> {
        self.forget();
        if self.passing {
            let end = end_of_line(bytes);
            let is_over = end < bytes.len();
            *bytes = &bytes[(end + usize::from(is_over))..];
            if !is_over {
                return None;
            }
            self.passing = false;
        }
        let end = end_of_line(bytes);
        let length = self.held.len() + end;
        if length > self.max {
            return Some(Line::Start(self.cut(bytes)));
        }
        let (line, behind) = bytes.split_at(end);
        let Some(behind) = behind.get(1..) else {
            self.hold(line);
            *bytes = &[];
            return None;
        };
        *bytes = behind;
        if self.held.is_empty() {
            return Some(Line::Whole(line));
        }
        self.hold(line);
        self.given = true;
        Some(Line::Whole(&self.held))
    }

    /// The line that was begun and has not ended, where it is known that nothing follows.
    pub fn last(&mut self) -> Option<Line<'_>> {
        self.forget();
        self.passing = false;
        self.given = true;
        (!self.held.is_empty()).then_some(Line::Whole(&self.held))
    }

    /// How many bytes behind the last line that was given were taken and wait for the rest of theirs.
    pub const fn waiting(&self) -> usize {
        if self.given { 0 } else { self.held.len() }
    }

    /// Whether what comes is passed over, up to the next end of a line.
    pub const fn is_passing(&self) -> bool {
        self.passing
    }

    /// How many bytes are held, at most the longest line.
    pub const fn held(&self) -> usize {
        self.held.capacity()
    }

    /// Gives the start of a line that goes on; exactly as many bytes as may be, whatever pieces they came in.
    fn cut<'l, 'b: 'l>(&'l mut self, bytes: &mut &'b [u8]) -> &'l [u8] {
        let (missing, behind) = bytes.split_at(self.max - self.held.len());
        *bytes = behind;
        self.passing = true;
        if self.held.is_empty() {
            return missing;
        }
        self.hold(missing);
        self.given = true;
        &self.held
    }

    fn hold(&mut self, bytes: &[u8]) {
        let length = self.held.len() + bytes.len();
        if length > self.held.capacity() {
            let room = length.max(self.held.capacity() * 2).min(self.max);
            self.held.reserve_exact(room - self.held.len());
        }
        self.held.extend_from_slice(bytes);
    }

    fn forget(&mut self) {
        if core::mem::take(&mut self.given) {
            self.held.clear();
            self.held.shrink_to(KEPT_MAX);
        }
    }
}

impl Line<'_> {
    /// The text of a record, or `None` of an empty line.
    pub fn text(self) -> Option<String> {
        match self {
            Self::Whole(line) => {
                let text = text(line.strip_suffix(b"\r").unwrap_or(line));
                (!text.is_empty()).then_some(text)
            }
            Self::Start(line) => Some(with_cut(start(line))),
        }
    }
}

/// A text of at most [`TEXT_MAX`] bytes, and [`CUT`] behind it where it was longer.
pub fn text(bytes: &[u8]) -> String {
    if bytes.len() > TEXT_MAX {
        return with_cut(start(bytes));
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    if text.len() > TEXT_MAX { with_cut(text) } else { text }
}

/// The start of what is too long, without a half of a character at its end.
fn start(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(TEXT_MAX)];
    let whole = match bytes.utf8_chunks().last() {
        Some(last) if bytes.ends_with(last.invalid()) && is_begun(last.invalid()) => {
            bytes.len() - last.invalid().len()
        }
        Some(_) | None => bytes.len(),
    };
    String::from_utf8_lossy(&bytes[..whole]).into_owned()
}

/// Whether more bytes could make a character of these.
fn is_begun(bytes: &[u8]) -> bool {
    core::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

fn with_cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_MAX));
    text.push_str(CUT);
    text
}

/// So many bytes are looked at together.
const BLOCK: usize = 32;

/// The number of bytes in front of the first line feed.
fn end_of_line(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let plain = blocks
        .iter()
        .take_while(|block| !block.iter().fold(false, |any, byte| any | (*byte == b'\n')));
    let plain = plain.count() * BLOCK;
    plain + bytes[plain..].iter().take_while(|byte| **byte != b'\n').count()
}
