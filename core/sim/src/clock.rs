//! The pair of clocks; the wall of a node may be set apart from the true one.

use std::time::Duration;

use meshward_core::time::{Mono, Now, Wall};

/// Where the wall clock starts: 2026-01-01.
const EPOCH: Duration = Duration::from_secs(1_767_225_600);

/// The true time; the control plane's machine shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    mono: Duration,
}

impl Clock {
    /// The readings of a machine whose wall clock is so many seconds ahead.
    pub fn ahead(&self, seconds: i64) -> Now {
        let wall = EPOCH + self.mono;
        let apart = Duration::from_secs(seconds.unsigned_abs());
        let wall = if seconds < 0 { wall.saturating_sub(apart) } else { wall + apart };
        Now { mono: self.mono(), wall: Wall::from_origin(wall) }
    }

    /// The readings of the control plane's machine.
    pub fn now(&self) -> Now {
        self.ahead(0)
    }

    pub const fn mono(&self) -> Mono {
        Mono::from_origin(self.mono)
    }

    pub fn jump_to(&mut self, due: Mono) {
        self.mono = self.mono.max(due.since_origin());
    }
}
