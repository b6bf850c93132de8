//! The two clocks, as values: the monotonic one for durations, the wall clock for deadlines that peers name.

use core::{fmt, time::Duration};

/// Both clocks, read once for one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    pub mono: Mono,
    pub wall: Wall,
}

impl Now {
    /// Both clocks, a while later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self { mono: self.mono.after(duration), wall: self.wall.after(duration) }
    }
}

/// A reading of the monotonic clock, which counts suspended time: timers, debounce, backoff and budgets.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(Duration);

/// A reading of the wall clock, as the time since 1970 in UTC: what `expires_at` and `client_now` are compared to.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(Duration);

macro_rules! clock {
    ($clock:ident) => {
        impl $clock {
            /// A reading, as the time since the origin of the clock.
            pub const fn from_origin(since: Duration) -> Self {
                Self(since)
            }

            /// The time since the origin of the clock.
            pub const fn since_origin(self) -> Duration {
                self.0
            }

            /// The reading after `duration` has passed; stays at the end of the range instead of overflowing.
            #[must_use]
            pub const fn after(self, duration: Duration) -> Self {
                Self(self.0.saturating_add(duration))
            }

            /// The time from `earlier` to here, zero when `earlier` is not earlier.
            #[must_use]
            pub const fn since(self, earlier: Self) -> Duration {
                self.0.saturating_sub(earlier.0)
            }
        }

        impl fmt::Debug for $clock {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "{}({}.{:09})",
                    stringify!($clock),
                    self.0.as_secs(),
                    self.0.subsec_nanos()
                )
            }
        }
    };
}

clock!(Mono);
clock!(Wall);

impl Wall {
    /// The whole second of this reading, for the names of files and folders.
    #[must_use]
    pub const fn second(self) -> Self {
        Self(Duration::from_secs(self.0.as_secs()))
    }
}
