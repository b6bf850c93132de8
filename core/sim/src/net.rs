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

/// What becomes of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    After(Duration),
    Lost,
    /// It arrives, and once more after the second time.
    Twice(Duration, Duration),
}

/// What comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Request { caller: Caller, bytes: Vec<u8>, fate: Fate },
    Reply { caller: Caller, bytes: Vec<u8> },
    TimedOut { caller: Caller },
}

/// One call of one life of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller {
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
