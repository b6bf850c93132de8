//! What a check is shown, and the sentence that it finds not to hold.

use std::{collections::BTreeMap, fmt};

use meshward_core::{
    agent::Run,
    ids::{ExecutionId, SessionId},
    time::Now,
    wire::http::Response,
};

use crate::{
    net::{Caller, Fate},
    node::Node,
    route::Said,
    streams::Lines,
};

/// The invariant that does not hold, with what is needed to see it again.
#[derive(Clone, PartialEq, Eq)]
pub struct Violation {
    pub sentence: String,
    pub log: String,
}

impl Violation {
    pub fn of(sentence: &str) -> Self {
        Self { sentence: sentence.to_owned(), log: String::new() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it is not so that {}\n\n{}", self.sentence, self.log)
    }
}

impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The first violation, until it is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Found(Option<Violation>);

impl Found {
    pub(super) fn unless(&mut self, holds: bool, sentence: &str) {
        if !holds {
            self.0.get_or_insert_with(|| Violation::of(sentence));
        }
    }

    pub(super) fn take(&mut self) -> Result<(), Violation> {
        self.0.take().map_or(Ok(()), Err)
    }
}

/// A request as it leaves; `now` is the sender's.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'w> {
    pub caller: Caller,
    pub said: &'w Said,
    pub fate: Fate,
    pub node: &'w Node,
    pub now: Now,
}

/// A request that the control plane has answered; `now` is the control plane's.
#[derive(Clone, Copy, Debug)]
pub struct Serving<'w> {
    pub caller: Caller,
    pub said: &'w Said,
    pub response: &'w Response,
    /// A rotation was completed by it.
    pub completed: bool,
    pub node: &'w Node,
    pub now: Now,
}

impl Serving<'_> {
    /// Whether its caller still waits for the answer.
    pub(super) fn is_waited_for(&self) -> bool {
        self.caller.life == self.node.life && self.node.open.contains_key(&self.caller.call)
    }
}

/// A run as it begins; `now` is the node's.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'w> {
    pub at: usize,
    pub execution: &'w ExecutionId,
    pub run: &'w Run,
    pub node: &'w Node,
    pub now: Now,
}

/// A listener of a session before it is opened; `now` is the node's.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'w> {
    pub at: usize,
    pub session: &'w SessionId,
    pub node: &'w Node,
    pub now: Now,
}

/// The world when all faults are long over.
#[derive(Clone, Copy, Debug)]
pub struct Rest<'w> {
    pub nodes: &'w [Node],
    /// How far each execution has come, as the control plane tells.
    pub statuses: &'w BTreeMap<String, String>,
    pub lines: &'w Lines,
    pub now: Now,
}
