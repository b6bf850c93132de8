//! The wait between attempts.

use std::time::Duration;

use meshward_core::backoff::{Backoff, Jitter};
use proptest::prelude::*;

use crate::support::seeds_in;

/// The row "Registration retry backoff" of the limits.
const REGISTRATION: Backoff = Backoff {
    base: Duration::from_secs(1),
    factor: 2,
    cap: Duration::from_secs(60),
    jitter_percent: 25,
};

/// The earliest, the neutral and the latest.
const DRAWN: [u16; 3] = [0, 1000, 2000];

#[test]
fn the_wait_doubles_up_to_its_cap() {
    let waits: Vec<u64> =
        (1..=9).map(|failures| REGISTRATION.wait(failures, Jitter::NONE).as_secs()).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(REGISTRATION.wait(u32::MAX, Jitter::NONE), Duration::from_secs(60));
    assert_eq!(REGISTRATION.wait(0, Jitter::NONE), Duration::from_secs(1));
}

#[test]
fn the_jitter_is_a_quarter_either_way() {
    let waits =
        |failures| DRAWN.map(|drawn| REGISTRATION.wait(failures, Jitter::drawn(drawn)).as_millis());
    assert_eq!(waits(1), [750, 1000, 1250]);
    assert_eq!(waits(3), [3000, 4000, 5000]);
    assert_eq!(waits(20), [45_000, 60_000, 75_000]);
    assert_eq!(Jitter::drawn(1000), Jitter::NONE);
    let rotation = Backoff {
        base: Duration::from_secs(5),
        cap: Duration::from_secs(120),
        jitter_percent: 0,
        ..REGISTRATION
    };
    let waits: Vec<u64> =
        (1..=7).map(|failures| rotation.wait(failures, Jitter::drawn(0)).as_secs()).collect();
    assert_eq!(waits, [5, 10, 20, 40, 80, 120, 120]);
}

#[test]
fn a_wait_that_does_not_grow_is_found_at_once() {
    for factor in [0, 1] {
        let constant = Backoff { factor, ..REGISTRATION };
        let wait = constant.wait(u32::MAX, Jitter::NONE);
        assert_eq!(wait, constant.base * factor);
    }
    assert_eq!(
        Backoff { base: Duration::from_secs(90), ..REGISTRATION }.wait(1, Jitter::NONE),
        REGISTRATION.cap
    );
}

proptest! {
    #![proptest_config(seeds_in("backoff"))]

    #[test]
    fn no_numbers_make_it_panic_or_leave_its_bounds(
        base in any::<Duration>(),
        cap in any::<Duration>(),
        factor in any::<u32>(),
        jitter_percent in 0_u32..=100,
        failures in any::<u32>(),
        drawn in any::<u16>(),
    ) {
        let backoff = Backoff { base, factor, cap, jitter_percent };
        let plain = backoff.wait(failures, Jitter::NONE);
        let moved = backoff.wait(failures, Jitter::drawn(drawn));
        prop_assert!(plain <= cap);
        let span = plain.saturating_mul(jitter_percent) / 100;
        prop_assert!(moved >= plain.saturating_sub(span) && moved <= plain.saturating_add(span));
    }

    #[test]
    fn a_later_wait_is_never_shorter(failures in 1_u32..100, drawn in any::<u16>()) {
        let wait = |failures| REGISTRATION.wait(failures, Jitter::drawn(drawn));
        prop_assert!(wait(failures) <= wait(failures + 1));
    }
}
