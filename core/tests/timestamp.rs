//! Timestamps: the strict form that is read, the short form that is written, and the comparisons made with them.

#[path = "support/seeds.rs"]
mod seeds;

use core::time::Duration;

use meshward_core::{
    time::Wall,
    wire::{
        json::{decode_strict, encode},
        timestamp::{NotATimestamp, Spelled, Timestamp},
    },
};
use proptest::prelude::*;

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).expect(text)
}

fn wall(nanos: u64) -> Wall {
    Wall::from_origin(Duration::from_nanos(nanos))
}

#[test]
fn each_legal_spelling_is_read_and_written_in_z() {
    for (text, written) in [
        ("2026-01-15T10:30:00Z", "2026-01-15T10:30:00Z"),
        ("2026-01-15T10:30:00.0Z", "2026-01-15T10:30:00Z"),
        ("2026-01-15T10:30:00.000000000Z", "2026-01-15T10:30:00Z"),
        ("2026-01-15T10:30:00.500Z", "2026-01-15T10:30:00.5Z"),
        ("2026-01-15T10:30:00.123456789Z", "2026-01-15T10:30:00.123456789Z"),
        ("2026-01-15T10:30:00.000000001Z", "2026-01-15T10:30:00.000000001Z"),
        ("2026-01-15T10:30:00+00:00", "2026-01-15T10:30:00Z"),
        ("2026-01-15T10:30:00-00:00", "2026-01-15T10:30:00Z"),
        ("2026-01-15T10:30:00+01:30", "2026-01-15T09:00:00Z"),
        ("2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00Z"),
        ("2025-12-31T23:30:00.25-00:45", "2026-01-01T00:15:00.25Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
        ("2000-02-29T23:59:59Z", "2000-02-29T23:59:59Z"),
        ("1969-12-31T23:59:59.75Z", "1969-12-31T23:59:59.75Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
    ] {
        assert_eq!(time(text).to_string(), written, "{text}");
    }
}

#[test]
fn every_other_form_is_refused() {
    for text in [
        "",
        "2026-01-15",
        "2026-01-15T10:30Z",
        "2026-01-15T10:30:00",
        "2026-01-15 10:30:00Z",
        "2026-01-15t10:30:00Z",
        "2026-01-15T10:30:00z",
        "20260115T103000Z",
        "2026-015T10:30:00Z",
        "2026-W03-4T10:30:00Z",
        "26-01-15T10:30:00Z",
        "+2026-01-15T10:30:00Z",
        "-2026-01-15T10:30:00Z",
        "12026-01-15T10:30:00Z",
        "2026-1-15T10:30:00Z",
        "2026-00-15T10:30:00Z",
        "2026-13-15T10:30:00Z",
        "2026-01-00T10:30:00Z",
        "2026-01-32T10:30:00Z",
        "2026-04-31T10:30:00Z",
        "2026-02-29T10:30:00Z",
        "1900-02-29T10:30:00Z",
        "2024-02-30T10:30:00Z",
        "2026-01-15T24:00:00Z",
        "2026-01-15T10:60:00Z",
        "2026-01-15T10:30:60Z",
        "2016-12-31T23:59:60Z",
        "2026-01-15T10:30:00.Z",
        "2026-01-15T10:30:00,5Z",
        "2026-01-15T10:30:00.1234567890Z",
        "2026-01-15T10:30:00.5",
        "2026-01-15T10:30:00.5 Z",
        "2026-01-15T10:30:00+01",
        "2026-01-15T10:30:00+0100",
        "2026-01-15T10:30:00+1:00",
        "2026-01-15T10:30:00+24:00",
        "2026-01-15T10:30:00+01:60",
        "2026-01-15T10:30:00 +01:00",
        "2026-01-15T10:30:00\u{2212}01:00",
        "2026-01-15T10:30:00ZZ",
        "2026-01-15T10:30:00Z\n",
        " 2026-01-15T10:30:00Z",
        "2026-01-15T10:30:0٣Z",
        "1768473000",
    ] {
        assert_eq!(Timestamp::parse(text), Err(NotATimestamp), "{text:?}");
    }
}

#[test]
fn the_zero_timestamp_is_compared_as_an_instant() {
    for text in [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000Z",
        "0001-01-01T01:00:00+01:00",
        "0000-12-31T23:00:00-01:00",
    ] {
        assert!(time(text).is_zero(), "{text}");
    }
    assert!(!time("0001-01-01T00:00:00.000000001Z").is_zero());
    assert!(!time("1970-01-01T00:00:00Z").is_zero());
    assert_eq!(Timestamp::ZERO.to_string(), "0001-01-01T00:00:00Z");
}

#[test]
fn skew_counts_in_both_directions_to_the_nanosecond() {
    let at = Timestamp::from(wall(60_000_000_000));
    assert_eq!(at.skew(wall(0)), Duration::from_secs(60));
    assert_eq!(at.skew(wall(120_000_000_000)), Duration::from_secs(60));
    assert_eq!(at.skew(wall(120_000_000_001)), Duration::from_nanos(60_000_000_001));
    assert_eq!(at.skew(wall(60_000_000_000)), Duration::ZERO);
    let years = Timestamp::ZERO.skew(wall(0)).as_secs();
    assert_eq!(years, 62_135_596_800);
}

#[test]
fn exactly_now_has_lapsed() {
    let at = Timestamp::from(wall(1000));
    assert!(at.is_after(wall(999)));
    assert!(!at.is_after(wall(1000)));
    assert!(!at.is_after(wall(1001)));
    assert_eq!(at.left(wall(400)), Duration::from_nanos(600));
    assert_eq!(at.left(wall(1000)), Duration::ZERO);
    assert_eq!(at.left(wall(2000)), Duration::ZERO);
}

#[test]
fn a_clock_at_the_end_of_its_range_is_no_panic() {
    let end = Wall::from_origin(Duration::MAX);
    let at = Timestamp::from(end);
    assert!(!time("9999-12-31T23:59:59Z").is_after(end));
    assert_eq!(at.skew(end), Duration::ZERO);
    assert!(at.to_string().ends_with('Z'));
}

#[test]
fn a_spelled_timestamp_is_passed_on_as_it_came() {
    for text in
        ["2026-01-15T10:30:00+01:00", "2026-01-15T10:30:00.500Z", "2026-01-15T10:30:00-00:00"]
    {
        let body = format!("\"{text}\"");
        let spelled: Spelled = decode_strict(body.as_bytes()).expect(text);
        assert_eq!(spelled.at, time(text));
        assert_eq!(encode(&spelled), body.into_bytes());
        assert_eq!(Spelled::parse(text), Ok(spelled));
    }
    assert!(Spelled::parse("2026-01-15").is_err());
    let own = Spelled::from(time("2026-01-15T10:30:00.500+01:00"));
    assert_eq!(encode(&own), br#""2026-01-15T09:30:00.5Z""#);
}

#[test]
fn a_member_that_is_no_timestamp_tells_the_form_and_not_the_value() {
    let fault = decode_strict::<Timestamp>(br#""canary""#).expect_err("no timestamp").to_string();
    assert_eq!(fault, "must be an RFC 3339 timestamp such as 2026-01-15T10:30:00Z");
    assert!(decode_strict::<Timestamp>(b"0").is_err());
}

/// The days before each month of a common year.
const DAYS_BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// Seconds since 1970, counted year by year.
fn counted(year: u64, month: u64, day: u64) -> u64 {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    let months = DAYS_BEFORE[usize::try_from(month - 1).expect("a month")];
    (years + months + u64::from(month > 2 && is_leap(year)) + day - 1) * 86_400
}

proptest! {
    #![proptest_config(seeds::seeds_in("timestamp"))]

    #[test]
    fn a_date_is_as_far_from_1970_as_counting_says(year in 1970..3000_u64, month in 1..13_u64, day in 1..29_u64) {
        let at = time(&format!("{year:04}-{month:02}-{day:02}T00:00:00Z"));
        let expected = Wall::from_origin(Duration::from_secs(counted(year, month, day)));
        prop_assert_eq!(at, Timestamp::from(expected));
    }

    #[test]
    fn what_is_written_is_read_again(seconds in 0..253_402_300_800_u64, nanos in 0..1_000_000_000_u32) {
        let at = Timestamp::from(Wall::from_origin(Duration::new(seconds, nanos)));
        prop_assert_eq!(time(&at.to_string()), at);
    }

    #[test]
    fn the_order_of_timestamps_is_the_order_of_clocks(one in any::<u64>(), other in any::<u64>()) {
        prop_assert_eq!(
            Timestamp::from(wall(one)).cmp(&Timestamp::from(wall(other))),
            wall(one).cmp(&wall(other))
        );
    }

    #[test]
    fn no_text_is_a_panic(text in "[0-9TZ:.+é-]{0,40}") {
        let _ = Timestamp::parse(&text);
    }
}
