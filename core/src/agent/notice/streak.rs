//! Failures in a row: told at once, then sparsely, so that a control plane that is away for a day fills no log.
//!
//! | Failure | Told |
//! |---|---|
//! | the first of its kind in a row | at its own level |
//! | a later one, within [`TELL_AGAIN`] of one of its kind that was told | for debugging |
//! | a later one | at its own level, with how many there were and for how long |
//!
//! The success behind a row is told once.

use alloc::format;
use core::time::Duration;

use super::{Level, Notice};
use crate::{duration, time::Mono};

/// How long it takes until a failure that lasts is told again.
pub const TELL_AGAIN: Duration = Duration::from_secs(3600);

/// What kind of failure it is; each is told for itself, however they alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The clock of the node is off.
    ClockSkew,
    Failed,
    /// There are too many requests.
    Limited,
    /// It takes what it is given more slowly than that comes.
    Slow,
    /// The node is not known.
    Stranger,
    /// The node has not been known for a while.
    StrangerForLong,
    /// There is no token to send under.
    Tokenless,
    /// What was sent is not taken.
    Unacceptable,
    /// The node is not admitted.
    Unauthorized,
}

const KINDS: usize = Kind::Unauthorized as usize + 1;

/// The row that is under way, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streak(Option<Row>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    since: Mono,
    failures: u32,
    /// When one of each kind was told last.
    told: [Option<Mono>; KINDS],
}

impl Streak {
    /// Adds a failure, and tells it as its place in the row demands.
    #[must_use]
    pub fn failed(self, now: Mono, kind: Kind, notice: Notice) -> (Self, Notice) {
        let mut row = self.0.unwrap_or(Row { since: now, failures: 0, told: [None; KINDS] });
        row.failures = row.failures.saturating_add(1);
        let told = &mut row.told[kind as usize];
        let notice = match *told {
            None => notice,
            Some(last) if now.since(last) < TELL_AGAIN => {
                return (Self(Some(row)), Notice { level: Level::Debug, ..notice });
            }
            Some(_) => Notice::of(
                notice.level,
                format!(
                    "{} (failure {} in a row, for {})",
                    notice.text,
                    row.failures,
                    duration::words(now.since(row.since))
                ),
            ),
        };
        *told = Some(now);
        (Self(Some(row)), notice)
    }

    /// Ends the row; what is good again is told with what is behind it.
    #[must_use]
    pub fn ended(self, now: Mono, good: &str) -> Option<Notice> {
        let row = self.0?;
        let times = if row.failures == 1 { "failure" } else { "failures in a row" };
        Some(Notice::info(format!(
            "{good} again, after {} {times} within {}",
            row.failures,
            duration::words(now.since(row.since))
        )))
    }

    /// How many failures there were in a row.
    pub const fn failures(&self) -> u32 {
        match self.0 {
            Some(row) => row.failures,
            None => 0,
        }
    }
}
