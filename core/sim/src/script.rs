//! What happens and what goes wrong, concretely: a [`Script`] replays to the byte, and prints as the Rust that makes it.

use std::fmt;

use meshward_core::agent::OrderKind;

use crate::{net::Fate, route::Route};

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The operator asks for a new mesh key with the next heartbeat answers.
    AskRotation,
    /// From now on something between the two answers every call of a route with this status.
    Block { route: Route, status: u16 },
    /// The agent dies at the next such spot.
    Crash { node: usize, spot: Spot },
    /// What the operator or the disk itself makes of `identity.json` is no JSON any more.
    Damage { node: usize },
    /// The operator puts an execution on the desired state; it expires after so many seconds. `known` tells whether
    /// the node has the action.
    Dispatch { name: u32, expires: u64, known: bool },
    /// A program on the node deletes a report.
    DeleteReport { node: usize, key: u32 },
    /// So many of the next writes are refused.
    FailWrites { node: usize, count: u32 },
    /// A program on the node writes a report.
    PutReport { node: usize, key: u32, value: u32 },
    /// The control plane starts anew and has forgotten everything; the operator gives it the desired state again.
    RestartPlane,
    /// What the node finds where a bootstrap token may be.
    PutToken { node: usize, token: Token },
    /// The operator of the control plane takes back what admits the node.
    Revoke { node: usize },
    /// The node's wall clock is set so many seconds ahead.
    SetClock { node: usize, ahead: i64 },
    /// The operator puts a session on the desired state; it expires after so many seconds, and has an idle window of a
    /// minute or none.
    OpenSession { name: u32, expires: u64, idle: bool },
    /// The operator takes a session off the desired state.
    EndSession { name: u32 },
    /// The process is told to stop; it is started again later.
    Stop { node: usize },
    /// The calls of a route reach the control plane again.
    Unblock { route: Route },
}

/// A bootstrap token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Token {
    #[default]
    Good,
    /// The control plane says of it that it was used before.
    Consumed,
    None,
}

/// Where a crash falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Behind so many further effects and writes.
    Behind(u32),
    /// Before this write of an order, counted from zero.
    Write(OrderKind, u32),
    /// Right behind a request of this route.
    Sent(Route),
    /// Right behind an answer that was heard on this route, before anything is done about it.
    Heard(Route),
    /// Before a run that is ordered begins.
    Ordered,
    /// Right behind the beginning of a run.
    Began,
    /// Right behind the change of a file below `state/`, before the agent knows of it.
    Kept,
}

/// How often what goes wrong on the network, in thousandths of all calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub lose_request: u64,
    pub lose_reply: u64,
    pub duplicate: u64,
    /// Delays up to two minutes, which is past every timeout.
    pub delay: u64,
    /// Small delays, which change only the order of messages.
    pub shuffle: u64,
    pub refuse: u64,
}

/// A run of the world.
#[derive(Clone, PartialEq, Eq)]
pub struct Script {
    /// Fixes what is neither an event nor a fate: keys, jitter, how long runs take.
    pub seed: u64,
    pub nodes: usize,
    /// What is drawn for a call that is not named in `fates`.
    pub faults: Faults,
    /// The fate of the n-th call of a route, counted from one.
    pub fates: Vec<(Route, u32, Fate)>,
    /// Each with the second at which it happens.
    pub events: Vec<(u64, Event)>,
}

/// How long the faults go on, in seconds.
pub const FAULTS_FOR: u64 = 1200;

impl Script {
    /// A world in which nothing happens yet.
    pub const fn quiet(seed: u64) -> Self {
        let faults = Faults {
            lose_request: 0,
            lose_reply: 0,
            duplicate: 0,
            delay: 0,
            shuffle: 0,
            refuse: 0,
        };
        Self { seed, nodes: 1, faults, fates: Vec::new(), events: Vec::new() }
    }

    #[must_use]
    pub const fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }

    /// Lets the n-th call of a route meet its fate.
    #[must_use]
    pub fn meets(mut self, route: Route, nth: u32, fate: Fate) -> Self {
        self.fates.push((route, nth, fate));
        self
    }

    /// Lets something happen at a second; those of one second happen in the order given.
    #[must_use]
    pub fn at(mut self, second: u64, event: Event) -> Self {
        self.events.push((second, event));
        self.events.sort_by_key(|(second, _)| *second);
        self
    }

    /// When the last fault is over, in seconds.
    pub fn faults_until(&self) -> u64 {
        self.events.last().map_or(0, |(second, _)| *second).max(FAULTS_FOR)
    }

    /// The fate that the script names for a call.
    pub fn fate(&self, route: Route, nth: u32) -> Option<Fate> {
        let named = |(of, at, _): &&(Route, u32, Fate)| *of == route && *at == nth;
        self.fates.iter().find(named).map(|(_, _, fate)| *fate)
    }
}

/// Rust, given the variants of `Event`, `Spot`, `Route`, `Passage` and `OrderKind`.
impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Script::quiet({})", self.seed)?;
        if self.nodes != 1 {
            write!(f, "\n    .nodes({})", self.nodes)?;
        }
        for (route, nth, fate) in &self.fates {
            write!(f, "\n    .meets({route:?}, {nth}, {fate:?})")?;
        }
        for (second, event) in &self.events {
            write!(f, "\n    .at({second}, {event:?})")?;
        }
        Ok(())
    }
}
