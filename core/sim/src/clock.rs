//! The true clock, and those of each machine: both of one drift alike, and the wall clock is set apart from the other.

use std::time::Duration;

use meshward_core::time::{Mono, Now, Wall};

/// Where the wall clock starts: 2026-01-01.
const EPOCH: Duration = Duration::from_secs(1_767_225_600);

/// What a rate is counted in.
const MILLION: i64 = 1_000_000;

/// The true time; the control plane's machine shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    mono: Duration,
}

impl Clock {
    /// The readings of the control plane's machine.
    pub fn now(&self) -> Now {
        Now { mono: self.mono(), wall: Wall::from_origin(EPOCH + self.mono) }
    }

    pub const fn mono(&self) -> Mono {
        Mono::from_origin(self.mono)
    }

    pub fn jump_to(&mut self, due: Mono) {
        self.mono = self.mono.max(due.since_origin());
    }
}

/// The clocks of a machine. The monotonic one counts on while the machine is suspended, as the agent's does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeClock {
    /// How much faster than the true one both go, in millionths.
    rate: i64,
    /// The true time at which the rate was set, and what the monotonic clock showed then.
    since: Duration,
    shown: Duration,
    /// How far the wall clock was set ahead of the true one, in seconds, and what the drift had come to by then, in
    /// nanoseconds.
    ahead: i64,
    drifted: i128,
}

impl NodeClock {
    /// What the monotonic clock shows at a true time.
    pub fn mono(&self, at: Mono) -> Mono {
        let gone = at.since_origin().saturating_sub(self.since).as_nanos();
        let gone = gone * u128::from((MILLION + self.rate).unsigned_abs());
        let gone = Duration::from_nanos_u128(gone / u128::from(MILLION.unsigned_abs()));
        Mono::from_origin(self.shown + gone)
    }

    /// The true time at which the monotonic clock shows this.
    pub fn when(&self, shows: Mono) -> Mono {
        let left = shows.since_origin().saturating_sub(self.shown).as_nanos();
        let left = (left * u128::from(MILLION.unsigned_abs()))
            .div_ceil(u128::from((MILLION + self.rate).unsigned_abs()));
        Mono::from_origin(self.since + Duration::from_nanos_u128(left))
    }

    /// Both readings at a true time.
    pub fn now(&self, at: Mono) -> Now {
        let mono = self.mono(at);
        let apart =
            self.drift(at) - self.drifted + i128::from(self.ahead) * i128::from(1_000_000_000_u32);
        let by = Duration::from_nanos_u128(apart.unsigned_abs());
        let wall = EPOCH + at.since_origin();
        let wall = if apart < 0 { wall.saturating_sub(by) } else { wall + by };
        Now { mono, wall: Wall::from_origin(wall) }
    }

    /// Sets the wall clock so many seconds ahead of the true one.
    pub fn set_ahead(&mut self, at: Mono, seconds: i64) {
        (self.ahead, self.drifted) = (seconds, self.drift(at));
    }

    /// Lets both go faster from now on, in millionths.
    pub fn set_rate(&mut self, at: Mono, rate: i64) {
        (self.shown, self.since, self.rate) =
            (self.mono(at).since_origin(), at.since_origin(), rate);
    }

    /// Whether the wall clock goes apart from the true one by itself.
    pub const fn drifts(&self) -> bool {
        self.rate != 0
    }

    /// How far the monotonic clock has gone ahead of the true one, in nanoseconds.
    fn drift(&self, at: Mono) -> i128 {
        nanos(self.mono(at).since_origin()) - nanos(at.since_origin())
    }
}

fn nanos(duration: Duration) -> i128 {
    i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64) -> Mono {
        Mono::from_origin(Duration::from_secs(second))
    }

    #[test]
    fn what_a_clock_shows_and_when_it_shows_it_are_inverse_at_every_rate() {
        for rate in [-10_000, -200, -1, 0, 1, 200, 10_000] {
            let mut clock = NodeClock::default();
            clock.set_rate(second(7), rate);
            for at in [7, 8, 1_000, 40_000_000] {
                let shown = clock.mono(second(at));
                let when = clock.when(shown);
                assert!(when <= second(at) && clock.mono(when) >= shown, "{rate} at {at}");
            }
        }
    }

    #[test]
    fn a_wall_clock_that_is_set_is_right_until_it_drifts_apart_again() {
        let mut clock = NodeClock::default();
        clock.set_rate(second(0), 10_000);
        let wall = |clock: &NodeClock, at| clock.now(second(at)).wall.since_origin() - EPOCH;
        assert_eq!(wall(&clock, 1_000), Duration::from_secs(1_010));
        clock.set_ahead(second(1_000), 0);
        assert_eq!(wall(&clock, 1_000), Duration::from_secs(1_000));
        assert_eq!(wall(&clock, 2_000), Duration::from_secs(2_010));
        assert_eq!(clock.mono(second(2_000)), second(2_020));
        clock.set_ahead(second(2_000), -60);
        clock.set_rate(second(2_000), 0);
        assert_eq!(wall(&clock, 5_000), Duration::from_secs(4_940));
    }
}
