//! Timestamps: strict RFC 3339, beside an oracle that counts days.

use std::time::Duration;

use meshward_core::{
    time::Wall,
    wire::timestamp::{Spelled, Timestamp},
};
use proptest::{prelude::*, sample::select};

use crate::support::seeds_in;

const EPOCH: Wall = Wall::from_origin(Duration::ZERO);

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap_or_else(|_| panic!("{text} is a timestamp"))
}

/// Nanoseconds since 1970.
fn nanos(timestamp: Timestamp) -> i128 {
    let apart = i128::try_from(timestamp.skew(EPOCH).as_nanos()).expect("it fits");
    if timestamp < Timestamp::from(EPOCH) { -apart } else { apart }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && year % 100 != 0 || year % 400 == 0
}

fn days_of_month(year: i64, month: i64) -> i64 {
    [31, 28 + i64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        [usize::try_from(month - 1).expect("a month")]
}

/// Days since 1970, counted year by year and month by month.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let of_year = |year: i64| 365 + i64::from(is_leap(year));
    let years: i64 = if year >= 1970 {
        (1970..year).map(of_year).sum()
    } else {
        -(year..1970).map(of_year).sum::<i64>()
    };
    years + (1..month).map(|month| days_of_month(year, month)).sum::<i64>() + day - 1
}

#[test]
fn every_sound_form_is_read() {
    for (text, seconds) in [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00+00:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:00:00-01:00", 0),
        ("1970-01-01T05:45:00+05:45", 0),
        ("1970-01-01T23:59:00+23:59", 0),
        ("1970-01-01T00:00:01.000Z", 1),
        ("2000-02-29T00:00:00Z", 951_782_400),
        ("2024-02-29T12:00:00Z", 1_709_208_000),
        ("2026-01-15T10:30:00Z", 1_768_473_000),
        ("2099-12-31T23:59:59Z", 4_102_444_799),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
        ("0001-01-01T00:00:00Z", -62_135_596_800),
        ("0000-01-01T00:00:00Z", -62_167_219_200),
        ("0000-02-29T00:00:00Z", -62_162_121_600),
    ] {
        assert_eq!(nanos(at(text)), seconds * 1_000_000_000, "{text}");
    }
}

#[test]
fn fractions_are_read_to_the_nanosecond() {
    for (fraction, expected) in [
        (".1", 100_000_000),
        (".12", 120_000_000),
        (".001", 1_000_000),
        (".000000001", 1),
        (".999999999", 999_999_999),
        (".123456789", 123_456_789),
        (".100000000", 100_000_000),
        (".0", 0),
        (".000000000", 0),
        ("", 0),
    ] {
        assert_eq!(nanos(at(&format!("1970-01-01T00:00:00{fraction}Z"))), expected, "{fraction}");
        assert_eq!(
            nanos(at(&format!("1970-01-01T02:00:00{fraction}+02:00"))),
            expected,
            "{fraction}"
        );
    }
}

/// What looks like a timestamp and is none.
const REFUSED: &[&str] = &[
    "",
    "2026",
    "2026-01",
    "2026-01-15",
    "2026-01-15T",
    "2026-01-15T10",
    "2026-01-15T10Z",
    "2026-01-15T10:30Z",
    "2026-01-15T10:30:00",
    "2026-01-15t10:30:00Z",
    "2026-01-15T10:30:00z",
    "2026-01-15 10:30:00Z",
    "2026-01-15T10:30:00,5Z",
    "2026-01-15T10:30:00.Z",
    "2026-01-15T10:30:00.0123456789Z",
    "2026-01-15T10:30:60Z",
    "2016-12-31T23:59:60Z",
    "2026-01-15T24:00:00Z",
    "2026-01-15T10:60:00Z",
    "2026-00-15T10:30:00Z",
    "2026-13-15T10:30:00Z",
    "2026-01-00T10:30:00Z",
    "2026-01-32T10:30:00Z",
    "2026-04-31T10:30:00Z",
    "2026-02-29T10:30:00Z",
    "1900-02-29T10:30:00Z",
    "2100-02-29T00:00:00Z",
    "20260115T103000Z",
    "2026-01-15T103000Z",
    "20260115T10:30:00Z",
    "2026-015T10:30:00Z",
    "2026-W03-4T10:30:00Z",
    "2026-01-15T10:30:00+0100",
    "2026-01-15T10:30:00+01",
    "2026-01-15T10:30:00+1:00",
    "2026-01-15T10:30:00+24:00",
    "2026-01-15T10:30:00+01:60",
    "2026-01-15T10:30:00\u{2212}01:00",
    "2026-01-15T10:30:00Z[UTC]",
    "2026-01-15T10:30:00+00:00[UTC]",
    "2026-01-15T10:30:00ZZ",
    "2026-01-15T10:30:00Z ",
    " 2026-01-15T10:30:00Z",
    "2026-01-15T10:30:00 Z",
    "2026-01-15T10:30:00UTC",
    "2026-01-15T10:30:00",
    "+2026-01-15T10:30:00Z",
    "-0001-01-15T10:30:00Z",
    "+12026-01-15T10:30:00Z",
    "12026-01-15T10:30:00Z",
    "026-01-15T10:30:00Z",
    "2026-1-15T10:30:00Z",
    "2026-01-5T10:30:00Z",
    "2026-01-15T1:30:00Z",
    "2026-01-15T10:30:0Z",
    "2026-01-15T10:30:+1Z",
    "2026-+1-15T10:30:00Z",
    "２０２６-01-15T10:30:00Z",
    "2026/01/15T10:30:00Z",
    "2026-01-15T10.30.00Z",
    "1768473000",
    "Thu, 15 Jan 2026 10:30:00 GMT",
    "2026-01-15T10:30:00.5.5Z",
    "2026-01-15T10:30:00.-5Z",
    "2026-01-15T10:30:00.+5Z",
    "2026-01-15T10:30:00\0Z",
    "0000-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
];

#[test]
fn every_other_form_is_refused() {
    for text in REFUSED {
        assert!(Timestamp::parse(text).is_err(), "{text}");
        assert!(Spelled::parse(text).is_err(), "{text}");
    }
}

#[test]
fn the_zero_timestamp_is_an_instant_whatever_its_spelling() {
    assert_eq!(Timestamp::ZERO.to_string(), "0001-01-01T00:00:00Z");
    for text in [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000Z",
        "0001-01-01T01:30:00+01:30",
        "0000-12-31T23:00:00-01:00",
    ] {
        assert!(at(text).is_zero(), "{text}");
    }
    for text in [
        "0001-01-01T00:00:00.000000001Z",
        "0001-01-01T00:00:01Z",
        "0000-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z",
    ] {
        assert!(!at(text).is_zero(), "{text}");
    }
}

#[test]
fn only_as_many_fraction_digits_as_needed_are_written() {
    for (read, written) in [
        ("2026-01-15T10:30:00.000Z", "2026-01-15T10:30:00Z"),
        ("2026-01-15T10:30:00.120Z", "2026-01-15T10:30:00.12Z"),
        ("2026-01-15T10:30:00.000000001Z", "2026-01-15T10:30:00.000000001Z"),
        ("2026-01-15T10:30:00+02:00", "2026-01-15T08:30:00Z"),
        ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00Z"),
        ("2024-02-28T23:30:00.5-01:00", "2024-02-29T00:30:00.5Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999999Z"),
    ] {
        assert_eq!(at(read).to_string(), written);
    }
}

#[test]
fn now_has_lapsed_and_a_nanosecond_later_has_not() {
    let wall = Wall::from_origin(Duration::new(1_768_473_000, 0));
    let now = at("2026-01-15T10:30:00Z");
    assert!(!now.is_after(wall));
    assert!(at("2026-01-15T10:30:00.000000001Z").is_after(wall));
    assert!(!at("2026-01-15T10:29:59.999999999Z").is_after(wall));
    assert_eq!(at("2026-01-15T10:31:00Z").left(wall), Duration::from_secs(60));
    assert_eq!(at("2026-01-15T10:29:00Z").left(wall), Duration::ZERO);
    assert_eq!(at("2026-01-15T10:31:00Z").skew(wall), Duration::from_secs(60));
    assert_eq!(at("2026-01-15T10:29:00Z").skew(wall), Duration::from_secs(60));
    assert_eq!(Timestamp::from(wall), now);
}

#[test]
fn no_clock_reading_is_beyond_the_range() {
    let end = Wall::from_origin(Duration::MAX);
    assert_eq!(Timestamp::from(end).to_string(), "9999-12-31T23:59:59.999999999Z");
    for text in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"] {
        assert!(!at(text).is_after(end));
        assert_eq!(at(text).left(end), Duration::ZERO);
        assert!(at(text).skew(end) < Duration::from_secs(10_001 * 366 * 86_400));
    }
}

#[test]
fn a_spelled_timestamp_is_passed_on_as_it_came() {
    for text in
        ["2026-01-15T10:30:00.500000Z", "2026-01-15T12:30:00+02:00", "2026-01-15T10:30:00-00:00"]
    {
        let spelled: Spelled = serde_json::from_str(&format!("\"{text}\"")).unwrap();
        assert_eq!(serde_json::to_string(&spelled).unwrap(), format!("\"{text}\""));
        assert_eq!(spelled.at, at(text));
        assert_eq!(spelled, Spelled::parse(text).unwrap());
    }
    assert_eq!(
        serde_json::to_string(&Spelled::from(Timestamp::ZERO)).unwrap(),
        r#""0001-01-01T00:00:00Z""#
    );
}

fn offset() -> impl Strategy<Value = (i64, String)> {
    prop_oneof![
        Just((0, "Z".to_owned())),
        (select(vec![("+", 1), ("-", -1)]), 0_i64..24, 0_i64..60).prop_map(
            |((sign, factor), hours, minutes)| {
                (factor * (hours * 3600 + minutes * 60), format!("{sign}{hours:02}:{minutes:02}"))
            }
        ),
    ]
}

proptest! {
    #![proptest_config(seeds_in("timestamp"))]

    #[test]
    fn a_timestamp_is_the_instant_that_counting_days_gives(
        (year, month, day) in (1_i64..9999, 1_i64..14, 0_i64..33),
        (hour, minute, second) in (0_i64..26, 0_i64..62, 0_i64..62),
        fraction in "(\\.[0-9]{1,10})?",
        (east, zone) in offset(),
    ) {
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}");
        let legal = month <= 12 && (1..=days_of_month(year, month.min(12))).contains(&day)
            && hour < 24 && minute < 60 && second < 60 && fraction.len() <= 10;
        let parsed = Timestamp::parse(&text);
        prop_assert_eq!(parsed.is_ok(), legal, "{}", text);
        if let Ok(parsed) = parsed {
            let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - east;
            let shown = format!("{:0<9}", fraction.trim_start_matches('.')).parse::<i128>().unwrap();
            prop_assert_eq!(nanos(parsed), i128::from(seconds) * 1_000_000_000 + shown, "{}", text);
            prop_assert_eq!(at(&parsed.to_string()), parsed);
        }
    }

    #[test]
    fn what_is_written_is_read_and_written_alike(nanos in 0_u64..=u64::MAX) {
        let wall = Wall::from_origin(Duration::from_nanos(nanos));
        let text = Timestamp::from(wall).to_string();
        prop_assert_eq!(at(&text), Timestamp::from(wall));
        prop_assert_eq!(at(&text).to_string(), text);
    }

    #[test]
    fn a_text_with_one_character_changed_is_read_only_in_the_grammar(
        at in 0_usize..30,
        other in any::<char>(),
        near in select(&[' ', 'T', 'Z', 't', 'z', ':', '-', '+', '.', ',', '0', '6', '9'][..]),
        wild in any::<bool>(),
    ) {
        let grammar = regex_lite::Regex::new(
            r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$",
        ).unwrap();
        let mut text: Vec<char> = "2026-01-15T10:30:00.25+05:45".chars().collect();
        let at = at % text.len();
        text[at] = if wild { other } else { near };
        let text: String = text.into_iter().collect();
        if Timestamp::parse(&text).is_ok() {
            prop_assert!(grammar.is_match(&text), "{}", text);
        } else {
            // The grammar has no ranges, so a refusal inside it must be one of a range.
            let digit = text.chars().nth(at).is_some_and(|c| c.is_ascii_digit());
            prop_assert!(!grammar.is_match(&text) || digit, "{}", text);
        }
    }
}
