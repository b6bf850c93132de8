//! The `Retry-After` header: how long a peer asks to be left alone, as whole seconds or as a date.
//!
//! Specification: `decisions.md` section 5 (Retry-After).

use alloc::format;
use core::time::Duration;

use super::timestamp::Timestamp;
use crate::time::Wall;

/// The longest wait that a peer can ask for.
pub const WAIT_MAX: Duration = Duration::from_secs(3600);

const DAYS: [&str; 7] = ["Mon,", "Tue,", "Wed,", "Thu,", "Fri,", "Sat,", "Sun,"];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads whole seconds, or an HTTP date of which only what is left at `wall` counts; at most [`WAIT_MAX`].
pub fn parse(text: &str, wall: Wall) -> Option<Duration> {
    seconds(text).or_else(|| Some(date(text)?.left(wall))).map(|wait| wait.min(WAIT_MAX))
}

/// Digits only; a number beyond every range is longer than any cap.
fn seconds(text: &str) -> Option<Duration> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Duration::from_secs(text.parse().unwrap_or(u64::MAX)))
}

/// Reads an IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT`, and neither of the obsolete forms.
fn date(text: &str) -> Option<Timestamp> {
    let mut parts = text.split(' ');
    let mut part = || parts.next();
    let (day_name, day, month, year) = (part()?, part()?, part()?, part()?);
    let (time, zone) = (part()?, part()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let legal =
        DAYS.contains(&day_name) && time.len() == 8 && zone == "GMT" && parts.next().is_none();
    legal.then(|| Timestamp::parse(&format!("{year}-{month:02}-{day}T{time}Z")).ok())?
}
