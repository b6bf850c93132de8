//! `Retry-After`: digits, an HTTP date, or nothing.

use std::time::Duration;

use meshward_core::{
    time::Wall,
    wire::{
        retry_after::{WAIT_MAX, http_date, http_date_of, parse},
        timestamp::Timestamp,
    },
};

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
const THEN: u64 = 784_111_777;

fn at(seconds: u64) -> Wall {
    Wall::from_origin(Duration::from_secs(seconds))
}

#[test]
fn digits_are_seconds() {
    for (value, seconds) in [("0", 0), ("1", 1), ("007", 7), ("120", 120), ("3600", 3600)] {
        assert_eq!(parse(value, at(THEN)), Some(Duration::from_secs(seconds)), "{value}");
    }
}

#[test]
fn no_wait_is_longer_than_an_hour() {
    for value in ["3601", "86400", "18446744073709551615", "18446744073709551616", &"9".repeat(400)]
    {
        assert_eq!(parse(value, at(THEN)), Some(WAIT_MAX), "{value}");
    }
    assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT", at(THEN - 3601)), Some(WAIT_MAX));
    assert_eq!(parse("Fri, 31 Dec 9999 23:59:59 GMT", at(0)), Some(WAIT_MAX));
    assert_eq!(WAIT_MAX, Duration::from_secs(3600));
}

#[test]
fn a_date_is_the_time_left_until_it() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (now, seconds) in
        [(THEN - 90, 90), (THEN - 3600, 3600), (THEN, 0), (THEN + 1, 0), (THEN + 1_000_000, 0)]
    {
        assert_eq!(parse(date, at(now)), Some(Duration::from_secs(seconds)), "{now}");
    }
    let half = Wall::from_origin(Duration::from_millis(THEN * 1000 - 500));
    assert_eq!(parse(date, half), Some(Duration::from_millis(500)));
    assert_eq!(
        parse("Thu, 29 Feb 2024 12:00:00 GMT", at(1_709_208_000 - 5)),
        Some(Duration::from_secs(5))
    );
    assert_eq!(parse("Mon, 01 Jan 1900 00:00:00 GMT", at(THEN)), Some(Duration::ZERO));
}

#[test]
fn a_date_that_is_written_is_read_and_one_that_has_no_such_form_is_not_written() {
    let day = 24 * 3600;
    for seconds in (0..4_000 * day).step_by(day as usize + 3_601) {
        let at = Timestamp::from(at(seconds));
        assert_eq!(http_date(&http_date_of(at).expect("a whole second")), Some(at));
    }
    let of = |wall: Wall| http_date_of(wall.into());
    assert_eq!(of(at(THEN)).as_deref(), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(of(Wall::from_origin(Duration::from_millis(500))), None);
}

#[test]
fn every_day_of_a_leap_year_is_read_under_its_name_and_no_other() {
    let weekdays = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"];
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let start = 946_684_800;
    for day in 0..366_u64 {
        let wall = at(start + day * 86_400);
        let text = Timestamp::from(wall).to_string();
        let month = months[text[5..7].parse::<usize>().unwrap() - 1];
        for (number, weekday) in weekdays.iter().enumerate() {
            let date = format!("{weekday}, {} {month} 2000 00:00:10 GMT", &text[8..10]);
            let expected = (day % 7 == number as u64).then_some(Duration::from_secs(10));
            assert_eq!(parse(&date, wall), expected, "{date}");
        }
    }
}

#[test]
fn anything_else_is_as_if_absent() {
    for value in [
        "",
        " ",
        "+5",
        "-5",
        "5 ",
        " 5",
        "5s",
        "1000abc",
        "1.5",
        "1e3",
        "0x10",
        "5,6",
        "５",
        "null",
        "soon",
        "06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun,06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06  Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37.5 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 x GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "1994-11-06T08:49:37Z",
    ] {
        assert_eq!(parse(value, at(THEN - 60)), None, "{value}");
    }
}
