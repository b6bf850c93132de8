//! The pair of clocks; the wall may be set apart from the monotonic one.

use std::time::Duration;

use meshward_core::time::{Mono, Now, Wall};

/// Where the wall clock starts: 2026-01-01.
const EPOCH: Duration = Duration::from_secs(1_767_225_600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    mono: Duration,
    /// How far the agent's wall clock is ahead of the true one, in seconds.
    ahead: i64,
}

impl Clock {
    pub const fn new() -> Self {
        Self { mono: Duration::ZERO, ahead: 0 }
    }

    /// The readings of the agent's machine.
    pub fn agent(&self) -> Now {
        let wall = EPOCH + self.mono;
        let apart = Duration::from_secs(self.ahead.unsigned_abs());
        let wall = if self.ahead < 0 { wall.saturating_sub(apart) } else { wall + apart };
        Now { mono: Mono::from_origin(self.mono), wall: Wall::from_origin(wall) }
    }

    /// The readings of the control plane's machine, whose wall clock is true.
    pub fn plane(&self) -> Now {
        Now { mono: Mono::from_origin(self.mono), wall: Wall::from_origin(EPOCH + self.mono) }
    }

    pub const fn mono(&self) -> Mono {
        Mono::from_origin(self.mono)
    }

    pub fn jump_to(&mut self, due: Mono) {
        self.mono = self.mono.max(due.since_origin());
    }

    /// Sets the agent's wall clock this far ahead of the true time.
    pub const fn set_ahead(&mut self, seconds: i64) {
        self.ahead = seconds;
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
