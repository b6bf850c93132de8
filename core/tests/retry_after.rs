//! The wait that a peer asks for, in each form it may take.

use core::time::Duration;

use meshward_core::{
    time::Wall,
    wire::retry_after::{WAIT_MAX, parse},
};

/// `Sun, 06 Nov 1994 08:49:37 GMT`, in seconds since 1970.
const DATE: u64 = 784_111_777;

fn at(seconds: u64) -> Wall {
    Wall::from_origin(Duration::from_secs(seconds))
}

fn asked(text: &str) -> Option<u64> {
    parse(text, at(DATE - 90)).map(|wait| wait.as_secs())
}

#[test]
fn digits_are_whole_seconds() {
    assert_eq!(asked("0"), Some(0));
    assert_eq!(asked("120"), Some(120));
    assert_eq!(asked("007"), Some(7));
}

#[test]
fn a_wait_is_capped_at_one_hour() {
    assert_eq!(WAIT_MAX, Duration::from_secs(3600));
    assert_eq!(asked("3600"), Some(3600));
    assert_eq!(asked("3601"), Some(3600));
    assert_eq!(asked("99999999999999999999999999"), Some(3600));
    assert_eq!(asked("Fri, 06 Nov 2294 08:49:37 GMT"), Some(3600));
}

#[test]
fn a_date_asks_for_the_time_that_is_left() {
    assert_eq!(asked("Sun, 06 Nov 1994 08:49:37 GMT"), Some(90));
    let half = Wall::from_origin(Duration::from_millis(DATE * 1000 - 500));
    assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT", half), Some(Duration::from_millis(500)));
}

#[test]
fn a_date_that_has_passed_asks_for_no_wait() {
    assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT", at(DATE)), Some(Duration::ZERO));
    assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT", at(DATE + 1)), Some(Duration::ZERO));
    assert_eq!(asked("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
}

#[test]
fn each_month_is_known_by_its_name() {
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let starts = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    for (month, days) in months.iter().zip(starts) {
        let first = 1_767_225_600 + days * 86_400;
        let text = format!("Mon, 01 {month} 2026 00:00:30 GMT");
        assert_eq!(parse(&text, at(first)), Some(Duration::from_secs(30)), "{text}");
    }
}

#[test]
fn anything_else_is_as_if_absent() {
    for text in [
        "",
        " ",
        "-1",
        "+5",
        "1.5",
        "5s",
        " 5",
        "5 ",
        "1e3",
        "٣",
        "soon",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 06 Nov 1994 08:49:37 GMT x",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37.5 GMT",
        "Sun,  06 Nov 1994 08:49:37 GMT",
    ] {
        assert_eq!(asked(text), None, "{text:?}");
    }
}
