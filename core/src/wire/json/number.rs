//! One double as a JSON number, into a buffer, by the shortest text that is read as the same double.

use alloc::vec::Vec;
use core::fmt::{self, Write as _};

/// Whole numbers are written as such below this, where each fits 64 bits with its sign: 2^63.
const WHOLE_MAX: f64 = 9_223_372_036_854_775_808.0;

/// Writes a finite number and tells whether it did; of any other nothing is written. A whole one has no fraction and no
/// exponent.
pub fn number(into: &mut Vec<u8>, value: f64) -> bool {
    let whole = value as i64;
    // Zero with a sign is kept, as it is another double.
    let is_whole = value.abs() < WHOLE_MAX
        && whole as f64 == value
        && (whole != 0 || value.is_sign_positive());
    // A Vec takes all that is written.
    let _ = match serde_json::Number::from_f64(value) {
        None => return false,
        Some(_) if is_whole => write!(Bytes(into), "{whole}"),
        Some(number) => write!(Bytes(into), "{number}"),
    };
    true
}

struct Bytes<'b>(&'b mut Vec<u8>);

impl fmt::Write for Bytes<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
