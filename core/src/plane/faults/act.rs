//! What a rule does: to a request, to the beginning of a stream, or to one frame of it.
//!
//! Specification: `decisions.md` sections 6 and 7 (`/test/faults`).

use alloc::{format, string::String};
use core::time::Duration;

use crate::{
    plane::{
        manner::{Cut, Manner},
        refusal::Denial,
    },
    time::{Now, Wall},
    wire::{
        http::{Headers, Response},
        problem::Code,
        retry_after,
    },
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Request(Deed),
    Begin(Begin),
    Frame(Bend),
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It is lost, and no route hears of it.
    Lose(Loss),
    Answer(Answer),
}

/// How a request is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    Close {
        delay: Duration,
    },
    Reset {
        delay: Duration,
    },
    /// The connection stays open, and no answer comes.
    Never,
}

impl Loss {
    /// How the connection ends, if it does.
    pub const fn cut(self) -> Option<Cut> {
        match self {
            Self::Close { delay } => Some(Cut { delay, reset: false }),
            Self::Reset { delay } => Some(Cut { delay, reset: true }),
            Self::Never => None,
        }
    }
}

/// How a request is answered: by its route unless the answer is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub substitute: Option<Substitute>,
    pub content_type: Option<String>,
    /// How far the clock that the route sees is from the true one.
    pub clock_offset_ms: i64,
    pub manner: Manner,
}

impl Answer {
    /// The clocks as the route is to see them.
    pub fn clock(&self, now: Now) -> Now {
        let offset = Duration::from_millis(self.clock_offset_ms.unsigned_abs());
        let wall = match self.clock_offset_ms {
            0.. => now.wall.after(offset),
            _ => Wall::from_origin(now.wall.since_origin().saturating_sub(offset)),
        };
        Now { wall, ..now }
    }

    /// The answer with the headers that the rule gives it: also the date of a clock that is set apart, as a server writes
    /// it by the clock that it goes by.
    pub fn dress(&self, now: Now, mut response: Response) -> Response {
        if self.clock_offset_ms != 0
            && let Some(date) = retry_after::http_date_of(self.clock(now).wall.second().into())
        {
            response = response.with("date", &date);
        }
        if let Some(content_type) = &self.content_type {
            let others = response.headers.iter().filter(|(name, _)| *name != "content-type");
            let others = others.fold(Headers::new(), |all, (name, value)| all.with(name, value));
            response.headers = others.with("content-type", content_type);
        }
        let retry_after = self.substitute.as_ref().and_then(|other| other.retry_after.as_deref());
        match retry_after {
            Some(retry_after) => response.with("retry-after", retry_after),
            None => response,
        }
    }
}

/// The answer that takes the place of the route's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitute {
    pub status: u16,
    pub code: Option<Code>,
    pub retry_after: Option<String>,
}

impl Substitute {
    /// A problem from 400 on, an empty answer below.
    pub fn answer(&self, rule: u64) -> Result<Response, Denial> {
        match self.status {
            0..400 => Ok(Response::empty(self.status)),
            _ => Err(Denial {
                code: self.code.clone(),
                rule: name(rule),
                ..Denial::plain(self.status, "a fault rule answers in the place of the route")
            }),
        }
    }
}

/// What the journal calls a rule.
pub fn name(rule: u64) -> String {
    format!("fault.{rule}")
}

/// How a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With a byte-order mark.
    Bom,
    /// And goes no further.
    Stall,
}

/// What becomes of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bend {
    Cr,
    Crlf,
    Split,
    StaleIssuedAt,
    BadSignature,
    Duplicate,
    Missing,
}
