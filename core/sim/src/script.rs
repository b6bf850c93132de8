//! What happens and what goes wrong, concretely: a [`Script`] replays to the byte, and prints as the Rust that makes it.

use std::fmt;

use meshward_core::agent::{OrderKind, Pipe};

use crate::{
    net::{Fate, PLAIN_DELAY},
    route::Route,
};

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Something changes around a node.
    Around { node: usize, change: Change },
    /// The operator asks for a new mesh key with the next heartbeat answers.
    AskRotation,
    /// Something befalls the event streams.
    Bus(Bus),
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
    /// Both clocks of the node go faster than the true ones from now on, in millionths.
    Drift { node: usize, rate: i64 },
    /// So many of the next writes are refused.
    FailWrites { node: usize, count: u32 },
    /// Records come at once when their sources are asked next.
    Murmur { node: usize, murmur: Murmur },
    /// The process of the agent stands still for so many seconds, and nothing else.
    Pause { node: usize, seconds: u64 },
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
    /// The node is suspended for so many seconds.
    Suspend { node: usize, seconds: u64 },
    /// The calls of a route reach the control plane again.
    Unblock { route: Route },
}

/// Records that come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Murmur {
    /// So many of each place of a pipeline.
    Burst { pipe: Pipe, count: usize },
    /// One among them that nothing between the two lets pass.
    Huge { pipe: Pipe },
}

/// What the nodes tell of themselves, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speech {
    /// How often sources are asked and all is to go, in seconds.
    pub collect: u64,
    pub report: u64,
    /// How many records go at once.
    pub batch: usize,
    /// Whether records wait on the disk.
    pub spool: bool,
}

/// What changes around a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A file of this content is a hook from now on, or none is.
    Hook {
        name: u8,
        content: Option<u8>,
    },
    /// How the hooks directory can be looked at.
    Hooks(Folder),
    HostKey(KeyFile),
    /// It is seen from outside at another address, and where it is symmetric by each server at another port.
    Move {
        place: u8,
        symmetric: bool,
    },
    /// A file of this content and version stands where the program was started from.
    Program {
        content: u8,
        version: u8,
    },
    /// What comes of asking the servers that tell how a node is seen.
    Servers(Server, Server),
}

/// How the hooks directory can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    Watched,
    /// It cannot be watched from the next look on.
    Unwatched,
    /// It cannot be looked at.
    Failing,
}

/// The file of the SSH host key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFile {
    Absent,
    Key(u8),
    Unreadable,
}

/// A server that tells how a node is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    Answers,
    Fails,
    /// It tells an address that no other node reaches.
    Lies,
}

/// What befalls the event streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// The operator injects so many events of a type that no agent knows.
    Babble { count: u32 },
    /// The desired state changes, and an event says so.
    Change,
    /// The connection of a node's stream is reset.
    Cut { node: usize },
    /// The control plane has no streams any more.
    Descope,
    /// Something that the control plane does not send now is among the bytes of a node's stream.
    Forge { node: usize, forgery: Forgery },
    /// The desired state changes, and no event says so.
    Hush,
    /// The control plane has streams again.
    Restore,
    /// The operator injects an event that asks for new mesh keys.
    RotateKeys,
    /// Events are signed with another key from now on; the one before counts for so many seconds more.
    RotateSigning { transition: u64 },
    /// Nothing of a node's stream gets through for so many seconds.
    Stall { node: usize, seconds: u64 },
}

/// Bytes that the control plane does not send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// An event with a signature of another.
    Signature,
    /// An event of which one member was changed behind its signing.
    Content,
    /// An event signed by a key that the control plane never had, under the id of the one in force.
    Stranger,
    /// An event signed afresh by the key that was in force before, where there is one.
    Former,
    /// An event of earlier, so many events back.
    Replay { back: u32 },
    /// The last event that rotated the keys, once more.
    Rollback,
    /// An event whose sequence number is no number, or more than one may be.
    Cursor { huge: bool },
    /// No event at all.
    Noise,
}

/// What becomes of one stream: how its bytes come through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// It comes in pieces of so many bytes; zero for as it is sent.
    pub piece: usize,
    /// How long each piece is under way, in milliseconds.
    pub delay: u64,
    /// It is reset behind so many bytes.
    pub cut: Option<u64>,
    /// Nothing gets through behind so many bytes, and neither end is told.
    pub stall: Option<u64>,
}

impl Flow {
    /// Everything comes through as it was sent.
    pub const PLAIN: Self = Self { piece: 0, delay: PLAIN_DELAY, cut: None, stall: None };
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
    /// Right behind an order on records that wait on the disk, which is done in part.
    Spooling,
    /// Right behind such an order that is done, before the agent knows of it.
    Spooled,
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
    /// Of all streams.
    pub cut: u64,
    pub stall: u64,
    pub split: u64,
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
    /// What becomes of the n-th stream that is opened, counted from one.
    pub flows: Vec<(u32, Flow)>,
    /// A world is mute without it.
    pub voice: Option<Speech>,
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
            cut: 0,
            stall: 0,
            split: 0,
        };
        Self {
            seed,
            nodes: 1,
            faults,
            fates: Vec::new(),
            flows: Vec::new(),
            voice: None,
            events: Vec::new(),
        }
    }

    #[must_use]
    pub const fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }

    /// Lets the nodes tell of themselves.
    #[must_use]
    pub const fn speaks(mut self, speech: Speech) -> Self {
        self.voice = Some(speech);
        self
    }

    /// Lets the n-th call of a route meet its fate.
    #[must_use]
    pub fn meets(mut self, route: Route, nth: u32, fate: Fate) -> Self {
        self.fates.push((route, nth, fate));
        self
    }

    /// Lets the n-th stream come through like this.
    #[must_use]
    pub fn flows(mut self, nth: u32, flow: Flow) -> Self {
        self.flows.push((nth, flow));
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
        let over = |(second, event): &(u64, Event)| second + event.lasts();
        self.events.iter().map(over).max().unwrap_or_default().max(FAULTS_FOR)
    }

    /// The fate that the script names for a call.
    pub fn fate(&self, route: Route, nth: u32) -> Option<Fate> {
        let named = |(of, at, _): &&(Route, u32, Fate)| *of == route && *at == nth;
        self.fates.iter().find(named).map(|(_, _, fate)| *fate)
    }

    /// How the script lets a stream come through.
    pub fn flow(&self, nth: u32) -> Option<Flow> {
        self.flows.iter().find(|(at, _)| *at == nth).map(|(_, flow)| *flow)
    }
}

impl Event {
    /// How long it goes on, in seconds.
    const fn lasts(&self) -> u64 {
        if let Self::Pause { seconds, .. } | Self::Suspend { seconds, .. } = self {
            *seconds
        } else {
            0
        }
    }
}

/// Rust, given the variants of `Event`, `Change` and of what it holds, `Bus`, `Forgery`, `Murmur`, `Pipe`, `Spot`, `Route`,
/// `Passage` and `OrderKind`.
impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Script::quiet({})", self.seed)?;
        if self.nodes != 1 {
            write!(f, "\n    .nodes({})", self.nodes)?;
        }
        if let Some(speech) = &self.voice {
            write!(f, "\n    .speaks({speech:?})")?;
        }
        for (route, nth, fate) in &self.fates {
            write!(f, "\n    .meets({route:?}, {nth}, {fate:?})")?;
        }
        for (nth, flow) in &self.flows {
            write!(f, "\n    .flows({nth}, {flow:?})")?;
        }
        for (second, event) in &self.events {
            write!(f, "\n    .at({second}, {event:?})")?;
        }
        Ok(())
    }
}
