//! What a spool is doing, and when it is opened.

use crate::time::Mono;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Shut,
    Opening,
    Resting,
    Appending,
    Reading,
    /// So many of what is loaded.
    Settling(u64),
    /// The disk is not used before this time.
    Failed(Mono),
    Reopening,
    /// The pipeline was closed while an order was under way, whose end is waited for.
    Closing,
}

impl Phase {
    /// Whether records are held in memory alone.
    pub(super) const fn is_without_disk(self) -> bool {
        matches!(self, Self::Failed(_) | Self::Reopening)
    }

    /// Begins to open it where it is time to, and tells so.
    pub(super) fn opens(&mut self, now: Mono) -> bool {
        match *self {
            Self::Shut => *self = Self::Opening,
            Self::Failed(until) if until <= now => *self = Self::Reopening,
            Self::Failed(_)
            | Self::Opening
            | Self::Resting
            | Self::Appending
            | Self::Reading
            | Self::Settling(_)
            | Self::Reopening
            | Self::Closing => return false,
        }
        true
    }

    /// As the pipeline is closed: it is opened anew if it begins again.
    pub(super) const fn closed(self) -> Self {
        match self {
            Self::Shut | Self::Resting | Self::Failed(_) => Self::Shut,
            Self::Opening
            | Self::Appending
            | Self::Reading
            | Self::Settling(_)
            | Self::Reopening
            | Self::Closing => Self::Closing,
        }
    }
}
