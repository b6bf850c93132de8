//! The `Retry-After` header.

use core::time::Duration;

use crate::time::Wall;

/// Reads whole seconds.
pub fn parse(text: &str, _wall: Wall) -> Option<Duration> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok().map(Duration::from_secs))?
}
