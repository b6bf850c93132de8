//! How the desired state reaches this node, as the answers about the stream tell.
//!
//! | Way | Mode | Event | Next | Also |
//! |---|---|---|---|---|
//! | any | | a stream opens | streaming | |
//! | any | | the control plane has no stream | pull only | |
//! | not known yet, streaming | `pull_only`, `streaming` | no stream for five minutes | degraded | |
//! | degraded | `degraded_polling` | within a minute, then each minute | degraded | a poll |
//! | pull only | `pull_only` | a probe fails | pull only | |
//!
//! A refusal is no way of its own: it is told beside the way until a stream opens, or there is none to be had.
//!
//! Specification: `decisions.md` section 5 (SSE refusals).

use core::time::Duration;

use super::pace;
use crate::{backoff::Jitter, time::Mono};

/// Without a stream for so long its failures count as more than passing.
pub const DEGRADED_AFTER: Duration = Duration::from_secs(300);

/// How often the state is pulled then.
pub const POLL_INTERVAL: Duration = Duration::from_secs(60);

/// How the desired state reaches this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Streaming,
    /// The control plane has no stream of events, or has not told yet.
    PullOnly,
    DegradedPolling,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Streaming, Self::PullOnly, Self::DegradedPolling];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::PullOnly => "pull_only",
            Self::DegradedPolling => "degraded_polling",
        }
    }
}

/// Why events do not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The control plane does not let this node have them.
    Refused,
    Degraded,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Delivery {
    way: Way,
    /// Since when no stream is open.
    lacking: Option<Mono>,
    /// How long behind the change of the mode the first poll is, as nodes that lost the control plane together would
    /// else poll together for ever.
    first_poll: Duration,
    is_refused: bool,
    /// The operator was told of a failure, and not yet that it is over.
    pub(super) is_told: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    /// Nothing has answered yet; until then there are only pulls.
    #[default]
    Unknown,
    Streaming,
    NotProvisioned,
    Degraded {
        /// When the next poll is due.
        poll: Mono,
    },
}

impl Delivery {
    pub(super) const fn mode(&self) -> Mode {
        match self.way {
            Way::Streaming => Mode::Streaming,
            Way::Unknown | Way::NotProvisioned => Mode::PullOnly,
            Way::Degraded { .. } => Mode::DegradedPolling,
        }
    }

    pub(super) const fn trouble(&self) -> Option<Trouble> {
        match (self.is_refused, self.way) {
            (true, _) => Some(Trouble::Refused),
            (false, Way::Degraded { .. }) => Some(Trouble::Degraded),
            (false, Way::Unknown | Way::Streaming | Way::NotProvisioned) => None,
        }
    }

    /// Whether the control plane said that it has no stream; a probe that fails changes nothing of that.
    pub(super) const fn is_descoped(&self) -> bool {
        matches!(self.way, Way::NotProvisioned)
    }

    /// A stream is open; tells whether that is more than a reconnection.
    pub(super) fn opened(&mut self) -> bool {
        let is_news = self.way != Way::Streaming || self.is_refused;
        let is_told = self.is_told && !is_news;
        *self = Self { way: Way::Streaming, is_told, ..Self::default() };
        is_news
    }

    /// There is no stream to be had; tells whether that is news.
    pub(super) fn descoped(&mut self) -> bool {
        let is_news = self.way != Way::NotProvisioned || self.is_refused;
        *self = Self { way: Way::NotProvisioned, ..Self::default() };
        is_news
    }

    /// No stream is open.
    pub(super) fn lacks(&mut self, now: Mono, jitter: Jitter) {
        if self.lacking.is_none() {
            self.lacking = Some(now);
            self.first_poll = pace::within(POLL_INTERVAL, jitter);
        }
    }

    /// Tells whether that is news.
    pub(super) const fn refused(&mut self) -> bool {
        let is_news = !self.is_refused;
        self.is_refused = true;
        is_news
    }

    /// Whether a failure is the first since the last one was over.
    pub(super) const fn tells_first(&mut self) -> bool {
        let is_first = !self.is_told;
        self.is_told = true;
        is_first
    }

    /// Lets the time pass.
    pub(super) fn passed(&mut self, now: Mono) -> Passed {
        if self.wakeup().is_none_or(|due| due > now) {
            return Passed::Nothing;
        }
        let (passed, wait) = match self.way {
            Way::Degraded { .. } => (Passed::Poll, POLL_INTERVAL),
            Way::Unknown | Way::Streaming | Way::NotProvisioned => {
                (Passed::Degraded, self.first_poll)
            }
        };
        self.way = Way::Degraded { poll: now.after(wait) };
        passed
    }

    pub(super) fn wakeup(&self) -> Option<Mono> {
        match self.way {
            Way::Unknown | Way::Streaming => self.lacking.map(|since| since.after(DEGRADED_AFTER)),
            Way::NotProvisioned => None,
            Way::Degraded { poll } => Some(poll),
        }
    }
}

/// What the time has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    Nothing,
    Degraded,
    Poll,
}
