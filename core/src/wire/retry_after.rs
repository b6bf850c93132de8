//! `Retry-After`: whole seconds or an HTTP date; anything else is as if it were absent.
//!
//! Specification: `decisions.md` section 5 (Retry-After).

use alloc::{format, string::String};
use core::time::Duration;

use super::timestamp::Timestamp;
use crate::time::Wall;

/// No answer makes a client wait longer.
pub const WAIT_MAX: Duration = Duration::from_secs(3600);

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads the value of the header as the time left from now, at most [`WAIT_MAX`]; zero for a date that has passed.
/// The caller never waits shorter than its own base backoff.
pub fn parse(value: &str, wall: Wall) -> Option<Duration> {
    let asked = seconds(value).or_else(|| http_date(value).map(|at| at.left(wall)))?;
    Some(asked.min(WAIT_MAX))
}

/// Digits and nothing else; a number beyond 64 bits is the greatest.
fn seconds(value: &str) -> Option<Duration> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Duration::from_secs(value.parse().unwrap_or(u64::MAX)))
}

/// The preferred form of RFC 9110: `Sun, 06 Nov 1994 08:49:37 GMT`, on the day of the week that it names.
pub fn http_date(value: &str) -> Option<Timestamp> {
    let (weekday, rest) = value.strip_suffix(" GMT")?.split_once(", ")?;
    let mut parts = rest.split(' ');
    let (day, month) = (parts.next()?, parts.next()?);
    let (year, time) = (parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    // The separators stand at fixed places, so a part of another length is no timestamp.
    let at = Timestamp::parse(&format!("{year}-{month:02}-{day}T{time}Z")).ok()?;
    let whole = time.len() == 8 && parts.next().is_none();
    (whole && WEEKDAYS.get(at.weekday()) == Some(&weekday)).then_some(at)
}

/// Writes what [`http_date`] reads; `None` for a time with parts of a second or a year beyond four digits.
pub fn http_date_of(at: Timestamp) -> Option<String> {
    let text = format!("{at}");
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (year, month_and_day) = date.split_once('-')?;
    let (month, day) = month_and_day.split_once('-')?;
    let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    let weekday = WEEKDAYS.get(at.weekday())?;
    let is_whole = (year.len(), time.len()) == (4, 8);
    is_whole.then(|| format!("{weekday}, {day} {month} {year} {time} GMT"))
}
