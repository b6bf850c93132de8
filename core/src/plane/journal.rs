//! The journal: what was requested last and how it was answered, in a ring of bounded memory.
//!
//! The routes under `/test/` are left out. Neither headers nor answers are kept, and credentials are masked before
//! anything is.
//!
//! Specification: `decisions.md` sections 6 and 7 (`GET /test/requests`).

use alloc::{
    borrow::{Cow, ToOwned as _},
    collections::VecDeque,
    string::String,
};
use core::{fmt, time::Duration};

use thiserror::Error;

use super::mask;
use crate::{
    time::Wall,
    wire::{
        http::{Body, Method},
        journal::{self, Requests},
        timestamp::Timestamp,
    },
};

/// "journal of the last 1,000 requests".
pub const ENTRIES_MAX: usize = 1000;

/// "body up to 64 KiB".
pub const BODY_MAX: usize = 64 << 10;

/// The most that all kept bodies take together; over it the oldest ones are forgotten, their entries stay.
pub const BODIES_MAX: usize = 8 << 20;

/// The longest path and the longest query that are kept, in bytes; longer ones are cut.
pub const TARGET_MAX: usize = 2048;

/// Why a question about the journal is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the query may be unmatched=true or unmatched=false, and nothing else")]
    Query,
}

/// Reads the query of `GET /test/requests`: whether the unmatched requests alone are asked for.
///
/// Unspecified: a query of any other form is refused, so that a slip in it does not look like an empty journal.
pub fn filter(query: Option<&str>) -> Result<bool, Refusal> {
    let mut unmatched = None;
    for member in query.unwrap_or_default().split('&').filter(|member| !member.is_empty()) {
        let asked = match member {
            "unmatched=true" => true,
            "unmatched=false" => false,
            _ => return Err(Refusal::Query),
        };
        unmatched.get_or_insert(asked);
    }
    Ok(unmatched.unwrap_or_default())
}

/// What the rules of routing are called, whose refusals are the unmatched requests.
const MISSES: &str = "route.";

/// What is kept of a body; not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Kept(String);

impl Kept {
    /// The front of a body, masked; nothing of one that was not read in full.
    pub fn of(body: &Body) -> Option<Self> {
        let Body::Whole(bytes) = body else { return None };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(BODY_MAX)]);
        Some(Self(cut(mask::body(&text), BODY_MAX)))
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// One answered request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub at: Wall,
    pub method: Method,
    /// As it was received.
    pub path: String,
    /// As it was received, with its credentials masked.
    pub query: Option<String>,
    pub outcome: Outcome,
    /// From the end of its head to the decision on its answer.
    pub duration: Duration,
    /// As the head announced it, else as it was read.
    pub request_bytes: u64,
    pub body: Option<Kept>,
}

/// How a request was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// None where a fault let no answer out.
    pub status: Option<u16>,
    pub code: Option<String>,
    /// Which rule of which machine refused it, empty where none did.
    pub rule: String,
    pub response_bytes: u64,
}

/// The last answered requests, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// The sequence number of the oldest entry, or of the next where there is none; counted from zero.
    first: u64,
    entries: VecDeque<Entry>,
    /// How many of the oldest entries have lost their bodies.
    forgotten: usize,
    /// What the kept bodies take.
    bodies: usize,
}

impl Journal {
    /// Keeps one more entry, and forgets what is too old for it.
    pub fn keep(&mut self, mut entry: Entry) {
        entry.path = cut(Cow::Owned(entry.path), TARGET_MAX);
        entry.query = entry.query.map(|query| cut(Cow::Owned(query), TARGET_MAX));
        if self.entries.len() >= ENTRIES_MAX {
            self.drop_oldest();
        }
        self.bodies += length(&entry);
        self.entries.push_back(entry);
        while self.bodies > BODIES_MAX {
            let Some(oldest) = self.entries.get_mut(self.forgotten) else { break };
            self.bodies -= length(oldest);
            oldest.body = None;
            self.forgotten += 1;
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.entries.pop_front() {
            self.bodies -= length(&oldest);
            self.forgotten = self.forgotten.saturating_sub(1);
            self.first = self.first.saturating_add(1);
        }
    }

    /// Forgets every entry. Unspecified: the sequence goes on.
    pub fn clear(&mut self) {
        let entries = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
        *self = Self { first: self.first.saturating_add(entries), ..Self::default() };
    }

    /// Every entry with its sequence number, oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (u64, &Entry)> + ExactSizeIterator {
        let numbered = self.entries.iter().enumerate();
        numbered.map(|(at, entry)| {
            let after = u64::try_from(at).unwrap_or(u64::MAX);
            (self.first.saturating_add(after).saturating_add(1), entry)
        })
    }

    /// The body of `GET /test/requests`, of all entries or of the unmatched ones alone.
    pub fn served(&self, unmatched: bool) -> Requests<'_> {
        let wanted = |entry: &Entry| !unmatched || entry.outcome.rule.starts_with(MISSES);
        let entries = self.entries().filter(|(_, entry)| wanted(entry));
        Requests { requests: entries.map(|(seq, entry)| served(seq, entry)).collect() }
    }
}

fn served(seq: u64, entry: &Entry) -> journal::Entry<'_> {
    let Outcome { status, code, rule, response_bytes } = &entry.outcome;
    journal::Entry {
        seq,
        time: Timestamp::from(entry.at),
        method: entry.method.name(),
        path: &entry.path,
        query: entry.query.as_deref(),
        status: *status,
        code: code.as_deref(),
        rule: Some(rule.as_str()).filter(|rule| !rule.is_empty()),
        duration_ms: u64::try_from(entry.duration.as_millis()).unwrap_or(u64::MAX),
        request_bytes: entry.request_bytes,
        response_bytes: *response_bytes,
        body: entry.body.as_ref().map(|Kept(text)| text.as_str()),
    }
}

fn length(entry: &Entry) -> usize {
    entry.body.as_ref().map_or(0, |Kept(text)| text.len())
}

/// The front of a text, with no room kept for the rest.
fn cut(text: Cow<'_, str>, max: usize) -> String {
    match text {
        Cow::Owned(text) if text.len() <= max => text,
        Cow::Owned(_) | Cow::Borrowed(_) => text[..text.floor_char_boundary(max)].to_owned(),
    }
}
