//! One machine with an agent: the process while it lives, its disk, and how far its wall clock is off.

use std::collections::{BTreeMap, BTreeSet};

use meshward_core::{
    agent::{Agent, OrderKind, Pipe},
    ids::{CallId, ExecutionId, SessionId},
    time::{Mono, Now},
};

use crate::{
    chatter::Chatter,
    clock::NodeClock,
    disk::Disk,
    listeners::Listener,
    rng::Rng,
    route::{Route, Said},
    script::{Spot, Token},
    senses::Sensing,
    spool::Spool,
    surroundings::Surroundings,
    voice::Speaking,
};

#[derive(Clone, Debug, Default)]
pub struct Node {
    pub agent: Option<Agent>,
    /// Which life this is, counted from one.
    pub life: u32,
    /// When an agent that is down starts again.
    pub start_at: Option<Mono>,
    pub disk: Disk,
    pub clock: NodeClock,
    pub around: Surroundings,
    /// What of it the process has asked for.
    pub sensing: Sensing,
    /// What its sources have told.
    pub chatter: Chatter,
    /// The records that wait on its disk, of each pipeline.
    pub spools: [Spool; Pipe::ALL.len()],
    pub speaking: Speaking,
    /// The process stands still.
    pub away: Option<Away>,
    /// Calls of this life that are not answered yet.
    pub open: BTreeMap<CallId, Said>,
    /// Those of them that were asked under an identity that has made room; their answers are nobody's.
    pub abandoned: BTreeSet<CallId>,
    /// What programs on this machine have asked and were not answered.
    pub asked: BTreeMap<CallId, Said>,
    /// What runs, and until when.
    pub runs: BTreeMap<ExecutionId, Mono>,
    pub cancelled: BTreeSet<ExecutionId>,
    /// Runs that go on past their deadline and are ended by it.
    pub overdue: BTreeSet<ExecutionId>,
    pub listeners: BTreeMap<SessionId, Listener>,
    /// The streams of events that it has asked for, and whether their heads have come.
    pub streams: BTreeMap<CallId, bool>,
    pub crash: Option<Spot>,
    pub failing_writes: u32,
    pub token: Token,
    /// What was found when this process last looked.
    pub spending: Token,
    /// The control plane admits this node no more.
    pub revoked: bool,
}

/// A process that stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Away {
    pub until: Mono,
    /// The whole machine does.
    pub suspended: bool,
}

/// A place between two things that an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Effect,
    Write(OrderKind, u32),
    Sent(Route),
    Heard(Route),
    Ordered,
    Began,
    Kept,
    Spooling,
    Spooled,
}

impl Node {
    /// Whether the crash that is due falls here.
    pub fn crashes_at(&mut self, place: Place) -> bool {
        match (&mut self.crash, place) {
            (Some(Spot::Behind(0)), Place::Effect | Place::Write(..)) => true,
            (Some(Spot::Behind(behind)), Place::Effect | Place::Write(..)) => {
                *behind -= 1;
                false
            }
            (Some(Spot::Write(order, at)), Place::Write(this, here)) => {
                *order == this && *at == here
            }
            (Some(Spot::Sent(route)), Place::Sent(this))
            | (Some(Spot::Heard(route)), Place::Heard(this)) => *route == this,
            (Some(Spot::Ordered), Place::Ordered)
            | (Some(Spot::Began), Place::Began)
            | (Some(Spot::Kept), Place::Kept)
            | (Some(Spot::Spooling), Place::Spooling)
            | (Some(Spot::Spooled), Place::Spooled) => true,
            (
                Some(
                    Spot::Behind(_)
                    | Spot::Write(..)
                    | Spot::Sent(_)
                    | Spot::Heard(_)
                    | Spot::Ordered
                    | Spot::Began
                    | Spot::Kept
                    | Spot::Spooling
                    | Spot::Spooled,
                )
                | None,
                Place::Effect
                | Place::Write(..)
                | Place::Sent(_)
                | Place::Heard(_)
                | Place::Ordered
                | Place::Began
                | Place::Kept
                | Place::Spooling
                | Place::Spooled,
            ) => false,
        }
    }

    /// What its disk is about to do may be done in part.
    pub(crate) fn drop_orders(&mut self, rng: &mut Rng) {
        for pipe in Pipe::ALL {
            let order = self.speaking.take_order(pipe);
            self.spools[pipe as usize].crash(rng, order);
        }
    }

    /// Ends the process; only the disk, the clock and what is around it remain.
    pub fn die(&mut self, start_at: Mono) {
        *self = Self {
            life: self.life,
            start_at: Some(start_at),
            disk: std::mem::take(&mut self.disk),
            clock: self.clock,
            around: std::mem::take(&mut self.around),
            chatter: std::mem::take(&mut self.chatter),
            spools: std::mem::take(&mut self.spools),
            away: self.away,
            failing_writes: self.failing_writes,
            token: self.token,
            revoked: self.revoked,
            ..Self::default()
        };
    }

    /// What its clocks show at a true time.
    pub fn now(&self, at: Mono) -> Now {
        self.clock.now(at)
    }

    /// Whether the process stands still.
    pub fn is_away(&self, now: Mono) -> bool {
        self.away.is_some_and(|away| away.until > now)
    }

    /// The next time at which this machine does something by itself.
    pub fn due(&self) -> Option<Mono> {
        if let Some(away) = self.away {
            return Some(away.until);
        }
        let wakeup = self.agent.as_ref().and_then(Agent::wakeup).map(|at| self.clock.when(at));
        let listener = self.listeners.values().filter_map(Listener::due).min();
        let run = self.runs.values().min().copied();
        let told = [listener, self.sensing.due(), self.speaking.due()];
        told.into_iter().chain([wakeup, run, self.start_at]).flatten().min()
    }

    /// A session whose listener has something to tell at this time.
    pub fn told(&self, now: Mono) -> Option<SessionId> {
        let due = |listener: &Listener| listener.due().is_some_and(|due| due <= now);
        self.listeners.iter().find(|(_, listener)| due(listener)).map(|(id, _)| id.clone())
    }

    /// A run that is over at this time.
    pub fn finished(&self, now: Mono) -> Option<ExecutionId> {
        self.runs.iter().find(|(_, until)| **until <= now).map(|(id, _)| id.clone())
    }
}
