//! Durations as an operator writes them: `5s`, `1m30s`, `250ms`.

use alloc::{borrow::ToOwned as _, format, string::String};
use core::time::Duration;

/// The longest duration taken; what is meant to be endless is not a duration.
pub const DURATION_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Reads whole numbers with the units `h`, `m`, `s` and `ms`, one or several in a row.
///
/// # Errors
///
/// The message says how a duration is written, and does not repeat the text.
pub fn parse(text: &str) -> Result<Duration, &'static str> {
    const FORM: &str = "must be a duration: whole numbers with the unit h, m, s or ms, such as \"5s\" or \"1m30s\"";
    const LONG: &str = "must be a duration of at most 8784h";
    if text.is_empty() {
        return Err(FORM);
    }
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_lowercase).count();
        let (unit, tail) = tail.split_at(letters);
        let scale = UNITS.iter().find(|(name, _)| *name == unit).ok_or(FORM)?.1;
        if number.is_empty() {
            return Err(FORM);
        }
        let amount = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
        total = amount.and_then(|amount| total.checked_add(amount)).ok_or(LONG)?;
        rest = tail;
    }
    let duration = Duration::from_millis(total);
    if duration > DURATION_MAX { Err(LONG) } else { Ok(duration) }
}

/// Writes a duration so that [`parse`] reads it back; what is below a millisecond is dropped.
pub fn text(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, scale) in UNITS {
        if rest >= scale {
            text.push_str(&format!("{}{unit}", rest / scale));
            rest %= scale;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}
