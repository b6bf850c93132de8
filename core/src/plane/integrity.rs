//! TODO-part.

/// "Body cap: 32 KiB".
pub const BODY_MAX: usize = 32 << 10;
