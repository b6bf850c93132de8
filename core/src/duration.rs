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

/// Writes a duration for people, rounded to its two greatest units: `4 h 3 min`.
pub fn words(duration: Duration) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
    let greatest = |seconds| UNITS.iter().position(|(_, scale)| seconds >= *scale);
    let smaller = |at: usize| UNITS.get(at + 1).map_or(1, |(_, scale)| *scale);
    let seconds = duration.as_secs();
    let step = greatest(seconds).map_or(1, smaller);
    let rounded = seconds.saturating_add(step / 2) / step * step;
    let Some(at) = greatest(rounded) else { return "less than a second".to_owned() };
    let (unit, scale) = UNITS[at];
    let whole = format!("{} {unit}", rounded / scale);
    match UNITS.get(at + 1).map(|(unit, smaller)| (unit, rounded % scale / smaller)) {
        None | Some((_, 0)) => whole,
        Some((unit, rest)) => format!("{whole} {rest} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_for_people_has_its_two_greatest_units() {
        let cases = [
            (0, "less than a second"),
            (1, "1 s"),
            (60, "1 min"),
            (75, "1 min 15 s"),
            (3_599, "59 min 59 s"),
            (3_600, "1 h"),
            (14_580, "4 h 3 min"),
            (14_579, "4 h 3 min"),
            (86_339, "23 h 59 min"),
            (86_399, "1 d"),
            (31_535_999, "365 d"),
            (31_536_059, "365 d"),
            (90_000, "1 d 1 h"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(words(Duration::from_secs(seconds)), expected, "{seconds}");
        }
        assert_eq!(words(Duration::from_millis(999)), "less than a second");
        assert!(words(Duration::MAX).ends_with(" d 7 h"), "{}", words(Duration::MAX));
    }

    #[test]
    fn every_unit_and_combination_is_read() {
        let cases = [
            ("5s", 5_000),
            ("250ms", 250),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("1m30s", 90_000),
            ("1h2m3s4ms", 3_723_004),
            ("0s", 0),
            ("007s", 7_000),
        ];
        for (text, millis) in cases {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn a_bare_number_a_sign_a_fraction_and_the_like_are_refused() {
        let refused = [
            "", "5", "s", "-5s", "+5s", "1.5s", "5 s", " 5s", "5s ", "5S", "5d", "5us", "1m30",
            "1e3s", "٥s", "5sec",
        ];
        for text in refused {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn too_long_a_duration_is_refused_without_overflow() {
        assert_eq!(parse("8784h"), Ok(DURATION_MAX));
        assert!(parse("8784h1ms").is_err());
        assert!(parse("18446744073709551615h").is_err());
        assert!(parse("18446744073709551615ms1ms").is_err());
        assert!(parse("99999999999999999999999s").is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        for millis in [0, 1, 999, 1_000, 90_000, 3_723_004, 1_048_576_000] {
            let duration = Duration::from_millis(millis);
            assert_eq!(parse(&text(duration)), Ok(duration));
        }
        assert_eq!(text(Duration::from_secs(90)), "1m30s");
    }
}
