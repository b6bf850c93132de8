//! The stream of events: one connection at a time, followed from where the last one ended.
//!
//! | Phase | Input | Next | Also |
//! |---|---|---|---|
//! | any | armed | connecting | what is open is closed; cursor, pace and delivery begin afresh |
//! | any | quieted | off | what is open is closed |
//! | off | any other | off | |
//! | connecting | the head of a stream | streaming | delivery `streaming`, one reconcile; see `pace.rs` for when |
//! | connecting | another answer, or none | waiting | closed where a body would follow; see `turn.rs` |
//! | streaming | bytes | streaming | each frame is judged and moves the cursor; a gap is a reconcile |
//! | streaming | its end | waiting | |
//! | streaming | ticked behind so long a silence | waiting | closed |
//! | streaming | an event of it is verified, or it is up a minute | streaming | failures are forgotten |
//! | waiting | ticked when due | connecting | |
//! | connecting, streaming, waiting | ordered | connecting | what is open is closed; a second behind the last request |
//! | waiting as the control plane asked | ordered | unchanged | |
//! | waiting at the slow pace | retimed | unchanged | no longer than its new interval |
//! | any | a fact of another stream than the one that is asked for or open | unchanged | |
//!
//! A stream has a name that no other had. The cursor lives in memory: behind a restart the first pull tells everything.
//!
//! Specification: "GET /v1/nodes/{id}/events" and "Events"; `decisions.md` sections 5 (SSE refusals) and 8 (Stream).

mod cursor;
mod delivery;
mod flow;
mod pace;
mod phase;
mod turn;

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
};
use cursor::{Cursor, Gaps};
pub use cursor::{GAP_INTERVAL, headers};
use delivery::Delivery;
pub use delivery::{DEGRADED_AFTER, Mode, POLL_INTERVAL, Trouble};
use flow::Flow;
pub use flow::PROVEN_AFTER;
use pace::Pace;
pub use pace::{BASE, CAP, PULL_SPREAD, SPREAD};
use phase::Phase;
use turn::Turn;

/// The stream, and how the desired state reaches this node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    phase: Phase,
    delivery: Delivery,
    pace: Pace,
    cursor: Cursor,
    gaps: Gaps,
    /// When a stream was asked for last.
    asked: Option<Mono>,
    /// When the pull is due that the stream has brought.
    owed: Option<Mono>,
    opened: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    Heard {
        stream: CallId,
        heard: Heard,
        jitter: Jitter,
    },
    /// An order wants the stream to be opened anew.
    Ordered,
    /// An event of the stream was verified.
    Verified,
    /// The identity rests, or the agent drains: the stream ends.
    Quieted,
    Retimed,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Open a stream under this name, from behind this event.
    Open {
        stream: CallId,
        cursor: Option<String>,
    },
    Close(CallId),
    /// The data of an event, to be verified.
    Judge(Vec<u8>),
    Reconcile,
    /// A pull, unless one is under way.
    Poll,
    Tell(Notice),
}

impl Events {
    /// Moves on one input; a stream that is opened gets the name `fresh`.
    pub fn step(
        self,
        settings: &EventSettings,
        fresh: CallId,
        now: Now,
        input: Input,
    ) -> Step<Self, Effect> {
        let mut turn = Turn::new(self, settings, fresh, now);
        turn.take(input);
        turn.done()
    }

    pub const fn mode(&self) -> Mode {
        self.delivery.mode()
    }

    /// How many streams of this process were opened.
    pub const fn opened(&self) -> u64 {
        self.opened
    }

    /// How many of them behind the first.
    pub const fn reconnects(&self) -> u64 {
        self.opened.saturating_sub(1)
    }

    pub const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Streaming { .. })
    }

    /// Why events do not come, where a node is of less use without them.
    pub const fn trouble(&self) -> Option<Trouble> {
        self.delivery.trouble()
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        let phase = match &self.phase {
            Phase::Off => return None,
            Phase::Connecting { .. } => None,
            Phase::Streaming { flow, .. } => Some(flow.wakeup()),
            Phase::Waiting { due, .. } => Some(*due),
        };
        [phase, self.delivery.wakeup(), self.gaps.wakeup(), self.owed].into_iter().flatten().min()
    }
}
