//! TODO-part.

/// State.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal;
