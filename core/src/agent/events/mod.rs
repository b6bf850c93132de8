//! The stream of events: one connection at a time, followed from where the last one ended.

use alloc::{string::String, vec::Vec};

use super::{
    facts::{EventSettings, Heard},
    notice::Notice,
};
use crate::{
    backoff::Jitter,
    ids::CallId,
    step::Step,
    time::{Mono, Now},
    wire::http::Request,
};

/// The stream, and how the desired state reaches this node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    mode: Mode,
}

/// How the desired state reaches this node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    Streaming,
    /// The control plane has no stream of events.
    #[default]
    PullOnly,
    DegradedPolling,
}

impl Mode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::PullOnly => "pull_only",
            Self::DegradedPolling => "degraded_polling",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    Heard {
        stream: CallId,
        heard: Heard,
        jitter: Jitter,
    },
    /// An event of the stream was verified.
    Verified,
    /// The identity rests, or the agent drains: the stream ends.
    Quieted,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Open a stream, from behind this event.
    Open {
        cursor: Option<String>,
    },
    Close(CallId),
    /// The data of an event, to be verified.
    Judge(Vec<u8>),
    Reconcile,
    Tell(Notice),
}

impl Events {
    /// Moves on one input.
    pub fn step(self, settings: &EventSettings, now: Now, input: Input) -> Step<Self, Effect> {
        let _ = (settings, now);
        match input {
            Input::Armed
            | Input::Heard { .. }
            | Input::Verified
            | Input::Quieted
            | Input::Ticked => Step::to(self),
        }
    }

    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        None
    }
}

/// What a stream is asked for with.
pub fn headers(request: Request, _cursor: Option<&str>) -> Request {
    request
}
