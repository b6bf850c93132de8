//! Sessions of users: a listener for each entry of kind `tcp`, a row when it opens and a row when it is gone.
//!
//! What left the block is closed first, all at once; then the entries are opened one by one in block order. What each
//! earns is the table in `entry.rs`.
//!
//! | in hand | what comes | next |
//! |---|---|---|
//! | opening | it listens | open, the begin is told |
//! | opening | it cannot listen | deferred to the next pull |
//! | opening, open | its time is over, idle, not listed, a stop, 409 to its begin | closing |
//! | begin told | 409 | closing, settled, nothing more is told |
//! | begin told | 404, failed | the same row again on the next pull |
//! | closing | gone, with its counts | the end is told, behind the answer to the begin; nothing where no begin was told |
//! | end told | accepted | done |
//! | end told | 409, 404 | done, the counts are in the log |
//! | end told | failed | again after 1 s, then 2 s, all within ten; once in a stop |
//!
//! A session that ended while it is listed is not opened again. Nothing here survives the process.
//! Specification: "Session entry", "Session activity record", "Errors" of the node agent; `gaps-agent.md` 2.9.

mod entry;
mod limits;
mod live;
mod rows;
mod turn;

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::String,
    vec::Vec,
};
use core::time::Duration;

pub use entry::IDLE_MAX;
pub use limits::{
    CLOSE_MAX, CONNECT_TIMEOUT, ENDED_MAX, ENDED_TIMEOUT, ENDED_WAITS, ENDED_WINDOW, LISTED_MAX,
    STARTED_TIMEOUT,
};

use super::{
    facts::{SessionFact, SessionOrder, SessionSettings},
    notice::Notice,
    verdict::session::Reported,
};
use crate::{
    ids::SessionId,
    step::Step,
    time::{Mono, Now},
    wire::{
        session::{Phase, TcpActivity},
        snapshot::Session,
    },
};
use entry::Plan;
use live::{Live, Stage};
use turn::Turn;

/// What entries are judged and opened by.
#[derive(Clone, Copy, Debug)]
pub struct Kit<'k> {
    pub settings: &'k SessionSettings,
    /// As the identity has it.
    pub mesh_ip: &'k str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sessions {
    live: BTreeMap<SessionId, Live>,
    /// What is listed and has no listener.
    shelf: BTreeMap<SessionId, Shelved>,
    /// Ids that the block holds more than once.
    doubled: BTreeSet<SessionId>,
    /// The rest of the last pull, in block order.
    waiting: VecDeque<Plan>,
    /// The last pull had no block, which was told.
    is_unpopulated: bool,
    /// The last block was too long, which was told.
    is_overlong: bool,
    is_draining: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Shelved {
    /// Not opened, or not again, as long as it is listed.
    Settled { unsupported: bool },
    /// Looked at on each pull; the reason was told.
    Deferred(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// What the pull brought; `None` is no signal to tear anything down.
    Pulled {
        entries: Option<Vec<Session>>,
        /// The ids of entries that could not be read: they are listed all the same.
        unread: BTreeSet<SessionId>,
    },
    Told {
        session: SessionId,
        fact: SessionFact,
    },
    Answered {
        session: SessionId,
        phase: Phase,
        reported: Reported,
    },
    Draining,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Order { session: SessionId, order: SessionOrder },
    Post { session: SessionId, row: TcpActivity, timeout: Duration },
    Tell(Notice),
}

impl Sessions {
    /// Moves on one input.
    pub fn step(self, kit: Kit<'_>, now: Now, input: Input) -> Step<Self, Effect> {
        let mut turn = Turn::new(self, kit, now);
        turn.take(input);
        turn.done()
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        self.live.values().filter_map(Live::wakeup).min()
    }

    /// Whether no listener is there and no row on its way.
    pub fn is_idle(&self) -> bool {
        self.live.is_empty()
    }

    /// How many sessions are open, and how many are listed that this agent does not serve.
    pub fn counts(&self) -> (usize, usize) {
        let open = |live: &&Live| matches!(live.stage, Stage::Open { .. });
        let unsupported = |shelved: &&Shelved| **shelved == Shelved::Settled { unsupported: true };
        let shelved = self.shelf.values().filter(unsupported);
        (self.live.values().filter(open).count(), shelved.count())
    }
}
