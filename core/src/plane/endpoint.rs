//! TODO-part.

/// State.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints;

/// "Body cap: 4 KiB".
pub const BODY_MAX: usize = 4 << 10;
