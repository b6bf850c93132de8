//! The wait before the next attempt: base, factor and cap are constants of the specification, chance is given.

use core::time::Duration;

/// A drawn number that moves a wait earlier or later, from -1 to 1 in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter(i16);

impl Jitter {
    /// Neither earlier nor later.
    pub const NONE: Self = Self(0);

    /// Maps any drawn number into the range, about evenly.
    pub const fn drawn(chance: u16) -> Self {
        Self((chance % 2001) as i16 - 1000)
    }

    /// A wait that somebody asks for, made longer by up to so many percent of it: never shorter.
    #[must_use]
    pub fn stretched(self, wait: Duration, percent: u32) -> Duration {
        let span = wait.saturating_mul(percent) / 100;
        let drawn = u32::from((self.0 + 1000).unsigned_abs());
        wait.saturating_add(span.saturating_mul(drawn) / 2000)
    }
}

/// How the waits between attempts grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub base: Duration,
    pub factor: u32,
    pub cap: Duration,
    /// How far a wait may be moved either way, in percent of itself.
    pub jitter_percent: u32,
}

impl Backoff {
    /// The wait after `failures` failures in a row; the first failure is number 1. The cap holds before the jitter.
    #[must_use]
    pub fn wait(&self, failures: u32, jitter: Jitter) -> Duration {
        let mut wait = self.base.min(self.cap);
        for _ in 1..failures {
            let grown = wait.saturating_mul(self.factor).min(self.cap);
            if grown == wait {
                break;
            }
            wait = grown;
        }
        let span = wait.saturating_mul(self.jitter_percent) / 100;
        let shift = span.saturating_mul(u32::from(jitter.0.unsigned_abs())) / 1000;
        if jitter.0 < 0 { wait.saturating_sub(shift) } else { wait.saturating_add(shift) }
    }
}
