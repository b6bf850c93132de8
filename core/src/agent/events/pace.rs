//! How long it takes until a stream is asked for again.
//!
//! | After | Wait |
//! |---|---|
//! | a failure | the base, doubled with each failure in a row up to a minute, a quarter either way |
//! | a connection that broke or was not answered, behind another one that ended or was not answered | evenly up to half a minute, where that is longer |
//! | a clean end | as much, but up to a quarter later, never earlier: a second at least |
//! | 429 | what it asks, the base at least, up to a quarter later and an hour at most; else as after a failure |
//! | a refusal, and where there is no stream | the interval of a probe, a tenth either way |
//!
//! The base is a second, or what the stream asked for by `retry`. Failures and ends are forgotten only when a stream was
//! good for something, so that one which is opened and closed again and again is asked for ever more seldom.
//!
//! A second connection that comes to nothing says that the control plane is away, and not for this node alone: all nodes
//! lost it together, and must not come back together. For the same reason the pull that a stream brings is put off by up to a minute
//! then.

use core::time::Duration;

use crate::{
    backoff::{Backoff, Jitter},
    wire::{
        retry_after::WAIT_MAX,
        sse::{RETRY_MAX, RETRY_MIN},
    },
};

/// The first wait.
pub const BASE: Duration = Duration::from_secs(1);
/// The longest wait, before the jitter.
pub const CAP: Duration = Duration::from_secs(60);

/// Over how long nodes spread that have lost the control plane together.
pub const SPREAD: Duration = Duration::from_secs(32);
/// And over how long they pull when it is back.
pub const PULL_SPREAD: Duration = Duration::from_secs(60);

/// So many connections in a row that come to nothing are not this node's alone.
const AWAY_AFTER: u32 = 2;

/// So many ends in a row are no chance any more.
const SLOW_AFTER: u32 = 4;

const FACTOR: u32 = 2;
const JITTER_PERCENT: u32 = 25;
const PROBE_JITTER_PERCENT: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    base: Duration,
    /// Failures and ends since a stream was good for something.
    failures: u32,
    /// Connections that ended or were never answered, since the last answer.
    unanswered: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { base: BASE, failures: 0, unanswered: 0 }
    }
}

impl Pace {
    /// A stream was good for something.
    pub(super) const fn proven(&mut self) {
        self.failures = 0;
        self.unanswered = 0;
    }

    /// The control plane has answered, whatever it said: it is there.
    pub(super) const fn answered(&mut self) {
        self.unanswered = 0;
    }

    /// Streams are opened and end again and again.
    pub(super) const fn is_slow(&self) -> bool {
        self.failures >= SLOW_AFTER
    }

    /// The stream asks for this base.
    pub(super) fn asked(&mut self, base: Duration) {
        self.base = base.clamp(RETRY_MIN, RETRY_MAX);
    }

    /// The answer was no stream.
    pub(super) fn failed(&mut self, jitter: Jitter) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.grown(JITTER_PERCENT).wait(self.failures, jitter)
    }

    /// The connection broke, or there was no answer.
    pub(super) fn lost(&mut self, jitter: Jitter) -> Duration {
        self.unanswered = self.unanswered.saturating_add(1);
        let wait = self.failed(jitter);
        if !self.is_away() {
            return wait;
        }
        let middle = self.grown(0).wait(self.failures, Jitter::NONE);
        let quarter = middle / (100 / JITTER_PERCENT);
        let (least, most) = (middle - quarter, (middle + quarter).max(SPREAD));
        least.saturating_add(evenly(most - least, jitter))
    }

    /// Whether it is the control plane that is away.
    pub(super) const fn is_away(&self) -> bool {
        self.unanswered >= AWAY_AFTER
    }

    /// The stream was closed in order, as by a control plane that stops.
    pub(super) fn ended(&mut self, jitter: Jitter) -> Duration {
        self.unanswered = self.unanswered.saturating_add(1);
        self.failures = self.failures.saturating_add(1);
        later(self.grown(0).wait(self.failures, jitter), jitter)
    }

    pub(super) fn throttled(&mut self, asked: Option<Duration>, jitter: Jitter) -> Duration {
        let Some(asked) = asked else { return self.failed(jitter) };
        self.failures = self.failures.saturating_add(1);
        later(asked.max(self.base), jitter).min(WAIT_MAX)
    }

    const fn grown(self, jitter_percent: u32) -> Backoff {
        Backoff { base: self.base, factor: FACTOR, cap: CAP, jitter_percent }
    }
}

/// The wait until the next probe.
pub(super) fn probe(interval: Duration, jitter: Jitter) -> Duration {
    let steady =
        Backoff { base: interval, factor: 1, cap: interval, jitter_percent: PROBE_JITTER_PERCENT };
    steady.wait(1, jitter)
}

/// How long the pull is put off that a stream brings.
pub(super) fn put_off(jitter: Jitter) -> Duration {
    within(PULL_SPREAD, jitter)
}

/// Somewhere within so long, but not at once.
pub(super) fn within(whole: Duration, jitter: Jitter) -> Duration {
    BASE.saturating_add(evenly(whole.saturating_sub(BASE), jitter))
}

/// Up to a quarter more.
fn later(wait: Duration, jitter: Jitter) -> Duration {
    wait.saturating_add(evenly(wait / 4, jitter))
}

/// Somewhere between nothing and the whole.
fn evenly(whole: Duration, jitter: Jitter) -> Duration {
    let middle = whole / 2;
    Backoff { base: middle, factor: 1, cap: middle, jitter_percent: 100 }.wait(1, jitter)
}
