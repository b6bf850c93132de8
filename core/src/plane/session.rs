//! TODO-part.

/// State.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sessions;

/// "Body cap: 16 KiB".
pub const BODY_MAX: usize = 16 << 10;
