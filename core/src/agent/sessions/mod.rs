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

/// How many entries of a block are looked at.
pub const LISTED_MAX: usize = 1024;
/// How many ended sessions may wait for their row to be taken before no further one is opened.
pub const ENDED_MAX: usize = 64;
/// Within which time a row that tells of a begin is answered.
pub const STARTED_TIMEOUT: Duration = Duration::from_secs(15);
/// Within which time one that tells of an end is answered.
pub const ENDED_TIMEOUT: Duration = Duration::from_secs(2);
/// "Otherwise three tries within 10 s": the waits between them, and all of it.
pub const ENDED_WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
pub const ENDED_WINDOW: Duration = Duration::from_secs(10);
/// "2 s for copy loops so counters are final".
pub const CLOSE_MAX: Duration = Duration::from_secs(2);
/// How long a connection to a target is tried.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

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
