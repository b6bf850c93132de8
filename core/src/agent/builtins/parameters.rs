//! How single parameters are read.

use core::ops::RangeInclusive;

use super::Parameters;

/// A parameter that is on or off: anything but `false` is on.
pub fn switch(parameters: &Parameters, name: &str, default: bool) -> bool {
    parameters.get(name).map_or(default, |value| value != "false")
}

/// A whole number, put into its range; what is none is the default.
pub(super) fn number(
    parameters: &Parameters,
    name: &str,
    range: RangeInclusive<u64>,
    default: u64,
) -> u64 {
    let Some(text) = parameters.get(name) else { return default };
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return default;
    }
    let number = match text.starts_with('-') {
        true => 0,
        // Digits that are no number of 64 bits are a larger one.
        false => digits.parse().unwrap_or(u64::MAX),
    };
    number.clamp(*range.start(), *range.end())
}
