//! How far the one stream is.

use super::flow::Flow;
use crate::{ids::CallId, time::Mono};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Off,
    /// It is asked for; its head has not come.
    Connecting {
        stream: CallId,
    },
    Streaming {
        stream: CallId,
        flow: Flow,
    },
    Waiting {
        due: Mono,
        by: By,
    },
}

/// What the length of a wait goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Backoff,
    /// The control plane asked for it, and no order makes it shorter.
    ControlPlane,
    SlowPace,
}

impl Phase {
    /// The stream that is asked for or open.
    pub(super) const fn stream(&self) -> Option<CallId> {
        match self {
            Self::Connecting { stream } | Self::Streaming { stream, .. } => Some(*stream),
            Self::Off | Self::Waiting { .. } => None,
        }
    }
}
