//! Failures in a row: told at once, then sparsely, so that a control plane that is away for a day fills no log.
//!
//! | Failure | Told |
//! |---|---|
//! | the first of its kind in a row | at its own level |
//! | a later one, within [`TELL_AGAIN`] of one of its kind that was told | for debugging |
//! | a later one | at its own level, with how many there were and for how long |
//!
//! The success behind a row is told once.

use alloc::{format, string::String};
use core::time::Duration;

use super::Notice;
use crate::{duration, time::Mono};

/// How long it takes until a failure that lasts is told again.
pub const TELL_AGAIN: Duration = Duration::from_secs(3600);

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The node is not admitted.
    Unauthorized,
    /// The clock of the node is off.
    ClockSkew,
    Failed,
}

/// The row that is under way, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streak(Option<Row>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    since: Mono,
    failures: u32,
    /// When one of each kind was told last.
    told: [Option<Mono>; 3],
}

impl Streak {
    /// Adds a failure, and tells it as its place in the row demands.
    #[must_use]
    pub fn failed(self, now: Mono, kind: Kind, text: String) -> (Self, Notice) {
        let mut row = self.0.unwrap_or(Row { since: now, failures: 0, told: [None; 3] });
        row.failures = row.failures.saturating_add(1);
        let told = &mut row.told[kind as usize];
        let notice = match *told {
            None => loud(kind, text),
            Some(last) if now.since(last) < TELL_AGAIN => {
                return (Self(Some(row)), Notice::debug(text));
            }
            Some(_) => loud(
                kind,
                format!(
                    "{text} (failure {} in a row, for {})",
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

fn loud(kind: Kind, text: String) -> Notice {
    match kind {
        Kind::Unauthorized | Kind::ClockSkew => Notice::error(text),
        Kind::Failed => Notice::warn(text),
    }
}
