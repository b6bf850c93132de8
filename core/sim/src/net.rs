//! The network: a message goes in with its fate and comes out later, twice or never; request and reply apart.

use std::{collections::BTreeMap, time::Duration};

use meshward_core::{ids::CallId, time::Mono};

/// What becomes of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    pub request: Passage,
    pub reply: Passage,
    /// Something in between answers with this status, and the control plane never sees the request.
    pub instead: Option<u16>,
}

/// What becomes of one message; times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    After(u64),
    Lost,
    /// It arrives after the first time, and once more after the second.
    Twice(u64, u64),
}

/// How long a message is under way when nothing goes wrong, in milliseconds.
pub const PLAIN_DELAY: u64 = 20;

impl Fate {
    /// Both messages arrive at once, once.
    pub const PLAIN: Self = Self {
        request: Passage::After(PLAIN_DELAY),
        reply: Passage::After(PLAIN_DELAY),
        instead: None,
    };
    pub const LOST_REQUEST: Self = Self { request: Passage::Lost, ..Self::PLAIN };
    pub const LOST_REPLY: Self = Self { reply: Passage::Lost, ..Self::PLAIN };

    pub const fn instead(status: u16) -> Self {
        Self { instead: Some(status), ..Self::PLAIN }
    }

    /// The request arrives once more, so many milliseconds after it was sent.
    pub const fn repeated(again: u64) -> Self {
        Self { request: Passage::Twice(PLAIN_DELAY, again), ..Self::PLAIN }
    }

    /// The request arrives so many milliseconds after it was sent.
    pub const fn late(delay: u64) -> Self {
        Self { request: Passage::After(delay), ..Self::PLAIN }
    }

    /// Whether both ends may be of two minds about this call afterwards.
    pub fn disturbs(&self) -> bool {
        self.instead.is_none() && *self != Self::PLAIN
    }
}

impl Passage {
    /// When it arrives, in milliseconds from now.
    pub fn arrivals(self) -> impl Iterator<Item = u64> {
        let (first, second) = match self {
            Self::After(delay) => (Some(delay), None),
            Self::Lost => (None, None),
            Self::Twice(first, second) => (Some(first), Some(second)),
        };
        first.into_iter().chain(second)
    }
}

/// What comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Request {
        caller: Caller,
        bytes: Vec<u8>,
        reply: Passage,
    },
    Reply {
        caller: Caller,
        bytes: Vec<u8>,
    },
    TimedOut {
        caller: Caller,
    },
    /// A request for a stream; of it only the first passage of each message counts, as it is one connection.
    Listen {
        caller: Caller,
        bytes: Vec<u8>,
        reply: Passage,
    },
    Stream {
        caller: Caller,
        part: Part,
    },
    /// The control plane learns that the client of a stream is gone.
    Left {
        call: CallId,
    },
}

/// What comes of a stream at its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Head(Vec<u8>),
    Bytes(Vec<u8>),
    /// It was closed in order, or it broke.
    End {
        broken: bool,
    },
    /// There was no head in time.
    TimedOut,
}

impl Message {
    /// The client that it comes out at; none for what comes out at the control plane.
    pub const fn client(&self) -> Option<Caller> {
        match self {
            Self::Reply { caller, .. }
            | Self::TimedOut { caller }
            | Self::Stream { caller, .. } => Some(*caller),
            Self::Request { .. } | Self::Listen { .. } | Self::Left { .. } => None,
        }
    }

    /// Whether it is a clock of the client that brings it.
    pub const fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::Stream { part: Part::TimedOut, .. })
    }
}

/// One call of one life of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller {
    pub node: usize,
    pub life: u32,
    pub call: CallId,
}

/// Messages on their way, by time and then by order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Net {
    under_way: BTreeMap<(Mono, u64), Message>,
    sent: u64,
}

impl Net {
    pub fn put(&mut self, due: Mono, message: Message) {
        self.sent += 1;
        self.under_way.insert((due, self.sent), message);
    }

    /// Lets some messages come out later.
    pub fn put_off(&mut self, by: Duration, which: impl Fn(&Message) -> bool) {
        let late: Vec<_> = self.under_way.extract_if(.., |_, message| which(message)).collect();
        let late =
            late.into_iter().map(|((due, order), message)| ((due.after(by), order), message));
        self.under_way.extend(late);
    }

    /// When the next message comes out.
    pub fn due(&self) -> Option<Mono> {
        self.under_way.keys().next().map(|(due, _)| *due)
    }

    /// Takes the next message, if it is due.
    pub fn take(&mut self, now: Mono) -> Option<Message> {
        let first = self.under_way.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
