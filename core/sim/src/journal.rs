//! What took place in a world, in order: for scenarios to assert on and for a failure to be understood by.

use std::fmt;

use meshward_core::{
    agent::Pipe,
    ids::{ExecutionId, SessionId},
    time::Mono,
};

use crate::{route::Route, script::Event};

/// How many entries a failure shows.
const TOLD_MAX: usize = 80;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Happened(Event),
    Started {
        node: usize,
    },
    Died {
        node: usize,
    },
    /// A process that stood still goes on.
    Resumed {
        node: usize,
    },
    /// A stream of events ended at its client.
    HungUp {
        node: usize,
        broken: bool,
    },
    /// The control plane signed an event of this kind.
    Signed {
        kind: String,
    },
    Exited {
        node: usize,
        reason: String,
    },
    Sent {
        node: usize,
        route: Route,
    },
    /// The control plane answered.
    Served {
        node: usize,
        route: Route,
        status: u16,
    },
    /// The agent heard an answer; 0 when there was none in time.
    Heard {
        node: usize,
        route: Route,
        status: u16,
    },
    Wrote {
        node: usize,
        file: &'static str,
    },
    Refused {
        node: usize,
        file: &'static str,
    },
    /// A file below `state/` was changed, or the disk refused it.
    Kept {
        node: usize,
        file: String,
        is_kept: bool,
    },
    /// The disk told of the records that wait on it.
    Spooled {
        node: usize,
        pipe: Pipe,
        told: String,
    },
    /// A program on the node was answered.
    Replied {
        node: usize,
        status: u16,
    },
    /// The listener of a session was opened.
    Listens {
        node: usize,
        session: SessionId,
    },
    Began {
        node: usize,
        execution: ExecutionId,
    },
    /// A run ended, with the status that tells it.
    Ended {
        node: usize,
        execution: ExecutionId,
        status: &'static str,
    },
}

#[derive(Clone, Default, PartialEq, Eq)]
pub struct Journal(Vec<(Mono, Entry)>);

impl Journal {
    pub(crate) fn note(&mut self, now: Mono, entry: Entry) {
        self.0.push((now, entry));
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter().map(|(_, entry)| entry)
    }

    /// What took place from one second to another.
    pub fn within(&self, from: u64, to: u64) -> impl Iterator<Item = &Entry> {
        let of_it =
            move |(at, _): &&(Mono, Entry)| (from..to).contains(&at.since_origin().as_secs());
        self.0.iter().filter(of_it).map(|(_, entry)| entry)
    }

    /// The statuses that the control plane answered on a route, in order.
    pub fn served(&self, of: Route) -> Vec<u16> {
        let mut statuses = Vec::new();
        for entry in self.entries() {
            if let Entry::Served { route, status, .. } = entry
                && *route == of
            {
                statuses.push(*status);
            }
        }
        statuses
    }

    /// What the agents heard on a route, in order; 0 is no answer in time.
    pub fn heard(&self, of: Route) -> Vec<u16> {
        let mut statuses = Vec::new();
        for entry in self.entries() {
            if let Entry::Heard { route, status, .. } = entry
                && *route == of
            {
                statuses.push(*status);
            }
        }
        statuses
    }

    /// What programs on the nodes were answered, in order.
    pub fn replied(&self) -> Vec<u16> {
        let mut statuses = Vec::new();
        for entry in self.entries() {
            if let Entry::Replied { status, .. } = entry {
                statuses.push(*status);
            }
        }
        statuses
    }

    /// How often entries of a kind are there.
    pub fn count(&self, of: impl Fn(&Entry) -> bool) -> usize {
        self.entries().filter(|entry| of(entry)).count()
    }

    /// How often any run began.
    pub fn runs(&self) -> usize {
        self.count(|entry| matches!(entry, Entry::Began { .. }))
    }

    pub fn deaths(&self) -> usize {
        self.count(|entry| matches!(entry, Entry::Died { .. }))
    }
}

impl Entry {
    /// Whether it is the daily round of beats and pulls that go well.
    const fn is_routine(&self) -> bool {
        match self {
            Self::Sent { route, .. } => route.is_routine(),
            Self::Served { route, status, .. } | Self::Heard { route, status, .. } => {
                route.is_routine() && matches!(status, 200 | 202)
            }
            Self::Happened(_)
            | Self::Started { .. }
            | Self::Died { .. }
            | Self::Resumed { .. }
            | Self::HungUp { .. }
            | Self::Signed { .. }
            | Self::Exited { .. }
            | Self::Wrote { .. }
            | Self::Refused { .. }
            | Self::Kept { .. }
            | Self::Spooled { .. }
            | Self::Replied { .. }
            | Self::Listens { .. }
            | Self::Began { .. }
            | Self::Ended { .. } => false,
        }
    }
}

/// The last entries but those of the daily round, a line each.
impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told: Vec<_> = self.0.iter().filter(|(_, entry)| !entry.is_routine()).collect();
        for (at, entry) in &told[told.len().saturating_sub(TOLD_MAX)..] {
            writeln!(f, "{:>10.3} {entry:?}", at.since_origin().as_secs_f64())?;
        }
        Ok(())
    }
}
