//! The two clocks of this host.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use meshward_core::time::{Mono, Now, Wall};
use rustix::time::ClockId;

/// Reads both clocks; the monotonic one counts the time that the host was suspended.
pub fn now() -> Now {
    let boot = rustix::time::clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(boot.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(boot.tv_nsec).unwrap_or_default();
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now { mono: Mono::from_origin(Duration::new(seconds, nanos)), wall: Wall::from_origin(wall) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_monotonic_clock_is_the_uptime_and_never_goes_back() {
        let earlier = super::now();
        let later = super::now();
        assert!(later.mono >= earlier.mono);
        let text = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = text.split(' ').next().unwrap().parse().unwrap();
        let mono = earlier.mono.since_origin().as_secs_f64();
        assert!((uptime - mono).abs() < 60.0, "{uptime} and {mono}");
        assert!(earlier.wall.since_origin().as_secs() > 1_700_000_000);
    }
}
