//! The wait before the next attempt: its growth, its cap and the room that chance has.

#[path = "support/seeds.rs"]
mod seeds;

use core::time::Duration;

use meshward_core::backoff::{Backoff, Jitter};
use proptest::prelude::*;

const BACKOFF: Backoff = Backoff {
    base: Duration::from_secs(1),
    factor: 2,
    cap: Duration::from_secs(60),
    jitter_percent: 25,
};

fn seconds(failures: u32) -> u64 {
    BACKOFF.wait(failures, Jitter::NONE).as_secs()
}

#[test]
fn the_wait_grows_by_its_factor_up_to_its_cap() {
    let waits: Vec<u64> = (1..=9).map(seconds).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn no_failure_waits_as_long_as_the_first() {
    assert_eq!(seconds(0), 1);
}

#[test]
fn any_number_of_failures_ends_at_the_cap() {
    assert_eq!(seconds(u32::MAX), 60);
    let flat = Backoff { factor: 1, ..BACKOFF };
    assert_eq!(flat.wait(1000, Jitter::NONE), BACKOFF.base);
}

#[test]
fn a_base_beyond_the_cap_waits_the_cap() {
    let high = Backoff { base: Duration::from_secs(90), ..BACKOFF };
    assert_eq!(high.wait(1, Jitter::NONE), BACKOFF.cap);
}

#[test]
fn chance_moves_a_wait_by_its_percentage_at_most() {
    let earliest = Jitter::drawn(0);
    let latest = Jitter::drawn(2000);
    assert_eq!(BACKOFF.wait(1, earliest), Duration::from_millis(750));
    assert_eq!(BACKOFF.wait(1, latest), Duration::from_millis(1250));
    assert_eq!(BACKOFF.wait(9, latest), Duration::from_secs(75));
    assert_eq!(Jitter::drawn(1000), Jitter::NONE);
    assert_eq!(Jitter::drawn(2001), earliest);
}

#[test]
fn durations_at_the_end_of_their_range_are_no_panic() {
    let endless =
        Backoff { base: Duration::MAX, factor: u32::MAX, cap: Duration::MAX, jitter_percent: 100 };
    assert_eq!(endless.wait(5, Jitter::NONE), Duration::MAX);
    assert_eq!(endless.wait(5, Jitter::drawn(2000)), Duration::MAX);
}

proptest! {
    #![proptest_config(seeds::seeds_in("backoff"))]

    #[test]
    fn a_wait_stays_within_its_jitter(failures in any::<u32>(), chance in any::<u16>()) {
        let plain = BACKOFF.wait(failures, Jitter::NONE);
        let moved = BACKOFF.wait(failures, Jitter::drawn(chance));
        prop_assert!(plain >= BACKOFF.base && plain <= BACKOFF.cap);
        prop_assert!(moved >= plain * 3 / 4 && moved <= plain * 5 / 4);
    }

    #[test]
    fn a_later_failure_never_waits_less(failures in 0..100_u32, chance in any::<u16>()) {
        let jitter = Jitter::drawn(chance);
        prop_assert!(BACKOFF.wait(failures, jitter) <= BACKOFF.wait(failures + 1, jitter));
    }
}
