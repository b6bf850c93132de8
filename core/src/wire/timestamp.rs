//! Points in time as the contract writes them: RFC 3339, strictly.
//!
//! Read: upper-case `T` and `Z` or `±hh:mm`, one to nine fraction digits behind a point, no leap second, no other
//! form of ISO 8601. Written: in `Z`, with as many fraction digits as needed and none when they are zero.
//!
//! Specification: `decisions.md` section 5 (Timestamps).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

use crate::time::Wall;

/// An instant of the years 0000 to 9999 in UTC, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i128);

/// A text that is no strict RFC 3339 timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be an RFC 3339 timestamp such as 2026-01-15T10:30:00Z")]
pub struct NotATimestamp;

const NANOS: i128 = 1_000_000_000;
const DAY: i64 = 86_400;
/// The seconds of the years 0000 to 9999 in UTC.
const SECONDS: core::ops::Range<i64> = -62_167_219_200..253_402_300_800;

impl Timestamp {
    /// `0001-01-01T00:00:00Z`, which stands for "not set".
    pub const ZERO: Self = Self(-62_135_596_800 * NANOS);

    /// The last instant that can be written: the end of year 9999.
    const LAST: Self = Self(SECONDS.end as i128 * NANOS - 1);

    /// Reads a timestamp of any offset.
    pub fn parse(text: &str) -> Result<Self, NotATimestamp> {
        read(text.as_bytes()).ok_or(NotATimestamp)
    }

    /// Compared as an instant, whatever its spelling.
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// The day of the week in UTC, Sunday being 0.
    pub(super) fn weekday(self) -> usize {
        let days = self.0.div_euclid(NANOS * i128::from(DAY));
        usize::try_from((days + 4).rem_euclid(7)).unwrap_or_default()
    }

    /// How far this is from the wall clock, either direction.
    pub fn skew(self, wall: Wall) -> Duration {
        let apart = (self.0 - Self::from(wall).0).unsigned_abs();
        Duration::from_nanos_u128(apart)
    }

    /// Whether this is strictly in the future; exactly now has lapsed.
    pub fn is_after(self, wall: Wall) -> bool {
        self > Self::from(wall)
    }

    /// The time from `earlier` to here, zero when `earlier` is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos_u128((self.0 - earlier.0).max(0).unsigned_abs())
    }

    /// The time left until here, zero when it has passed.
    pub fn left(self, wall: Wall) -> Duration {
        let left = (self.0 - Self::from(wall).0).max(0).unsigned_abs();
        Duration::from_nanos_u128(left)
    }
}

impl From<Wall> for Timestamp {
    fn from(wall: Wall) -> Self {
        i128::try_from(wall.since_origin().as_nanos()).map_or(Self::LAST, Self).min(Self::LAST)
    }
}

fn read(text: &[u8]) -> Option<Timestamp> {
    let (date, rest) = text.split_at_checked(19)?;
    for (at, separator) in [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')] {
        if date[at] != separator {
            return None;
        }
    }
    let number = |from: usize, to: usize| digits(&date[from..to]);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let legal = (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !legal {
        return None;
    }
    let (nanos, zone) = fraction(rest)?;
    let seconds =
        days_from_1970(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset(zone)?;
    // An offset can carry the instant out of the years that are written with four digits.
    SECONDS.contains(&seconds).then(|| Timestamp(i128::from(seconds) * NANOS + i128::from(nanos)))
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })
}

/// Nanoseconds, and what follows them.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some(rest) = text.strip_prefix(b".") else { return Some((0, text)) };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=9).contains(&length) {
        return None;
    }
    let (shown, zone) = rest.split_at(length);
    let missing = u32::try_from(9 - length).ok()?;
    Some((digits(shown)? * 10_i64.pow(missing), zone))
}

/// Seconds east of UTC.
fn offset(zone: &[u8]) -> Option<i64> {
    match zone {
        b"Z" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (digits(&[*h1, *h2])?, digits(&[*m1, *m2])?);
            let seconds = hours * 3600 + minutes * 60;
            (hours < 24 && minutes < 60).then_some(if *sign == b'+' { seconds } else { -seconds })
        }
        _ => None,
    }
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the proleptic Gregorian calendar, by years that begin in March so that the leap day comes last.
const fn days_from_1970(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days_from_1970`].
const fn date_from_1970(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + (month <= 2) as i64, month, day)
}

/// A timestamp with nine digits of a fraction, the longest that is written.
const LONGEST: [u8; 30] = *b"0000-00-00T00:00:00.000000000Z";

/// How long it is without a fraction and without what says that it is in UTC.
const TO_THE_SECOND: usize = 19;

impl Timestamp {
    /// Writes the text into a buffer.
    pub fn write(self, into: &mut Vec<u8>) {
        let (text, length) = self.spelled();
        into.extend_from_slice(&text[..length]);
    }

    /// The text, and how many of its bytes count.
    fn spelled(self) -> ([u8; LONGEST.len()], usize) {
        let (seconds, nanos) = self.split();
        let (year, month, day) = date_from_1970(seconds.div_euclid(DAY));
        let time = seconds.rem_euclid(DAY);
        let mut text = LONGEST;
        let pairs = [year / 100, year % 100, month, day, time / 3600, time / 60 % 60, time % 60];
        for (at, pair) in [0, 2, 5, 8, 11, 14, 17].into_iter().zip(pairs) {
            text[at] = digit(pair / 10);
            text[at + 1] = digit(pair % 10);
        }
        let mut end = TO_THE_SECOND;
        if nanos != 0 {
            let mut rest = nanos;
            for at in (TO_THE_SECOND + 1..LONGEST.len() - 1).rev() {
                text[at] = digit(rest % 10);
                rest /= 10;
            }
            let zeros = text[..LONGEST.len() - 1].iter().rev().take_while(|one| **one == b'0');
            end = LONGEST.len() - 1 - zeros.count();
        }
        text[end] = b'Z';
        (text, end + 1)
    }

    /// Seconds since 1970 and the nanoseconds behind them; most instants need no division of 128 bits.
    fn split(self) -> (i64, i64) {
        if let Ok(nanos) = i64::try_from(self.0) {
            return (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
        }
        let part = |number: i128| i64::try_from(number).unwrap_or_default();
        (part(self.0.div_euclid(NANOS)), part(self.0.rem_euclid(NANOS)))
    }
}

/// Of a number below ten.
const fn digit(number: i64) -> u8 {
    b'0' + number as u8
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, length) = self.spelled();
        f.write_str(str::from_utf8(&text[..length]).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'t> Deserialize<'t> for Timestamp {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                Timestamp::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A timestamp that is passed on in the spelling it came in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spelled {
    pub at: Timestamp,
    text: String,
}

impl Spelled {
    /// Reads a timestamp and keeps its text.
    pub fn parse(text: &str) -> Result<Self, NotATimestamp> {
        Ok(Self { at: Timestamp::parse(text)?, text: text.to_string() })
    }

    /// Whether the text is the one in which this instant is written here.
    pub fn is_canonical(&self) -> bool {
        self.text == self.at.to_string()
    }
}

impl From<Timestamp> for Spelled {
    fn from(at: Timestamp) -> Self {
        Self { at, text: at.to_string() }
    }
}

impl Serialize for Spelled {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'t> Deserialize<'t> for Spelled {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self { at: Timestamp::parse(&text).map_err(de::Error::custom)?, text })
    }
}
