//! The sessions of both ends with a network between them: two sessions, answers that are lost behind what they confirm,
//! a clock that passes deadlines, a stop; and in every state of it that rows come in order and all comes to an end.
//!
//! Made finite by bounds that are named: pulls, blocks that change, ticks, and messages that are lost.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use meshward_core::{
    agent::{
        Carried, SessionFact, SessionOrder, SessionSettings,
        sessions::{Effect, Input, Kit, Sessions},
        verdict::session::Reported,
    },
    ids::SessionId,
    time::{Mono, Now, Wall},
    wire::{
        grammar::Name,
        session::{Phase, TerminatedBy},
        snapshot::{Session, Target, TcpTarget},
        timestamp::{Spelled, Timestamp},
    },
};

use crate::search::{Extent, World, explore};

/// How many sessions there are, of which the first lapses while it is looked at.
const SESSIONS: usize = 2;
/// How often the agent pulls while things go wrong.
const PULLS_MAX: u8 = 2;
/// How often the operator takes a session off the block.
const CHANGES_MAX: u8 = 1;
/// How often the agent is woken at the time it asked for.
const TICKS_MAX: u8 = 2;
/// How many rows or answers are lost.
const LOSSES_MAX: u8 = 1;
/// The inputs within which all comes to an end once nothing fails.
const INPUTS_MAX: u32 = 40;

/// How many states there are; another number means that something has changed, and is to be looked at.
const STATES: usize = 202_233;

/// What the control plane holds of a session, and what it was told of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Known {
    listed: bool,
    /// It was listed once and is not any more.
    revoked: bool,
    begun: bool,
    ended: bool,
}

/// A listener as the shell keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Listener {
    Opening,
    Open,
    /// It was told to close.
    Closing,
}

/// A row under way, or the answer to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Wire {
    Row,
    Answer(Said),
    /// Nothing comes back.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Said {
    Accepted,
    Drain,
}

#[derive(Clone, Debug, Hash)]
struct Both {
    machine: Sessions,
    seconds: u64,
    listeners: BTreeMap<usize, Listener>,
    known: [Known; SESSIONS],
    /// Of each session one row is under way at most.
    wires: BTreeMap<usize, (Phase2, Wire)>,
    /// The drain signal was heard of it.
    drained: [bool; SESSIONS],
    draining: bool,
    pulls: u8,
    changes: u8,
    ticks: u8,
    losses: u8,
    fault: Option<&'static str>,
}

/// The phase of a row, which can be put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Phase2 {
    Started,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Pull,
    Unlist(usize),
    Tick,
    Stop,
    Listen(usize),
    Refuse(usize),
    Idle(usize),
    Close(usize),
    Deliver(usize),
    Answer(usize),
    Lose(usize),
    TimeOut(usize),
}

fn id(at: usize) -> SessionId {
    SessionId(format!("s{at}"))
}

fn at(session: &SessionId) -> usize {
    (0..SESSIONS).find(|at| id(*at) == *session).expect("a session of this world")
}

fn now(seconds: u64) -> Now {
    let mono = Mono::from_origin(Duration::from_secs(10_000 + seconds));
    Now { mono, wall: Wall::from_origin(Duration::from_secs(1_800_000_000 + seconds)) }
}

/// The deadline of a session: the first lapses within the world, the second long after.
const fn lapses(at: usize) -> u64 {
    if at == 0 { 40 } else { 3000 }
}

fn entry(at: usize) -> Session {
    let expires_at = Timestamp::from(now(lapses(at)).wall).to_string();
    Session {
        session_id: Name(id(at).0),
        jti: Name(id(at).0),
        kind: "tcp".into(),
        target: Some(Target {
            tcp: Some(TcpTarget { host: Name("h".into()), port: 1 }),
            ..Target::default()
        }),
        expires_at: Spelled::parse(&expires_at).ok(),
        idle_timeout_seconds: None,
    }
}

impl Both {
    fn listed() -> Self {
        let listed = Known { listed: true, ..Known::default() };
        Self {
            machine: Sessions::default(),
            seconds: 0,
            listeners: BTreeMap::new(),
            known: [listed; SESSIONS],
            wires: BTreeMap::new(),
            drained: [false; SESSIONS],
            draining: false,
            pulls: 0,
            changes: 0,
            ticks: 0,
            losses: 0,
            fault: None,
        }
    }

    fn unless(&mut self, holds: bool, fault: &'static str) {
        if !holds {
            self.fault.get_or_insert(fault);
        }
    }

    fn give(&mut self, input: Input) {
        let settings = SessionSettings {
            enabled: true,
            max_sessions: SESSIONS,
            default_timeout: Duration::from_secs(1800),
            listen_address: None,
        };
        let kit = Kit { settings: &settings, mesh_ip: "10.0.0.7" };
        let machine = std::mem::take(&mut self.machine);
        let step = machine.step(kit, now(self.seconds), input);
        self.machine = step.state;
        for effect in step.effects {
            match effect {
                Effect::Order { session, order: SessionOrder::Open(_) } => self.open(at(&session)),
                Effect::Order { session, order: SessionOrder::Close { .. } } => {
                    let there = self.listeners.insert(at(&session), Listener::Closing);
                    self.unless(there.is_some(), "what is not there is told to close");
                }
                Effect::Post { session, row, .. } => self.post(at(&session), &row),
                Effect::Tell(_) => {}
            }
        }
    }

    fn open(&mut self, at: usize) {
        let opening = self.listeners.values().any(|listener| *listener == Listener::Opening);
        self.unless(!opening, "two listeners are opened at once");
        self.unless(!self.draining, "a listener is opened during a stop");
        self.unless(!self.drained[at], "a session is opened again behind its drain signal");
        let before = self.listeners.insert(at, Listener::Opening);
        self.unless(before.is_none(), "a session has two listeners");
    }

    fn post(&mut self, at: usize, row: &meshward_core::wire::session::TcpActivity) {
        let phase = match row.phase {
            Phase::SessionStarted => Phase2::Started,
            Phase::SessionEnded => Phase2::Ended,
        };
        self.unless(!self.drained[at], "a row is told behind the drain signal");
        let listener = self.listeners.get(&at);
        match phase {
            Phase2::Started => {
                self.unless(listener == Some(&Listener::Open), "a begin without a listener");
                self.unless(row.listener_endpoint == "10.0.0.7:1", "a begin without its endpoint");
            }
            Phase2::Ended => {
                self.unless(listener.is_none(), "an end is told while the listener is there");
                self.unless(row.bytes_in == Some(3), "an end without its counts");
                let operator = row.terminated_by == Some(TerminatedBy::OperatorRevoke);
                self.unless(row.terminated_by.is_some() && !operator, "an end without its cause");
            }
        }
        let before = self.wires.insert(at, (phase, Wire::Row));
        self.unless(before.is_none(), "a row is told before the one ahead of it is answered");
    }

    fn tell(&mut self, at: usize, fact: SessionFact) {
        self.give(Input::Told { session: id(at), fact });
    }

    fn close(&mut self, at: usize) {
        self.listeners.remove(&at);
        self.tell(at, SessionFact::Closed(Carried { bytes_in: 3, bytes_out: 4 }));
    }

    /// A row arrives; what it says is confirmed whether or not the answer comes through.
    fn deliver(&mut self, at: usize) {
        let (phase, _) = self.wires[&at];
        let known = &mut self.known[at];
        let lapsed = lapses(at) <= self.seconds;
        let said = if known.revoked || lapsed { Said::Drain } else { Said::Accepted };
        let (begun, ended) = (known.begun, known.ended);
        if said == Said::Accepted {
            match phase {
                Phase2::Started => known.begun = true,
                Phase2::Ended => known.ended = true,
            }
        }
        if phase == Phase2::Started {
            self.unless(!ended, "a begin behind its end");
        } else {
            self.unless(begun || self.losses > 0, "an end without a begin");
        }
        self.wires.insert(at, (phase, Wire::Answer(said)));
    }

    fn answer(&mut self, at: usize) {
        let Some((phase, wire)) = self.wires.remove(&at) else { return };
        let reported = match wire {
            Wire::Answer(Said::Accepted) => Reported::Accepted,
            Wire::Answer(Said::Drain) => {
                self.drained[at] = true;
                Reported::Drain(String::new())
            }
            Wire::Row | Wire::Lost => Reported::Failed(String::new()),
        };
        let phase = match phase {
            Phase2::Started => Phase::SessionStarted,
            Phase2::Ended => Phase::SessionEnded,
        };
        self.give(Input::Answered { session: id(at), phase, reported });
    }

    fn pull(&mut self) {
        let listed = |at: &usize| self.known[*at].listed && lapses(*at) > self.seconds;
        let entries = (0..SESSIONS).filter(listed).map(entry).collect();
        self.give(Input::Pulled(Some(entries)));
    }

    fn acted(&self, act: Act) -> Self {
        let mut next = self.clone();
        match act {
            Act::Pull => {
                next.pulls += 1;
                next.pull();
            }
            Act::Unlist(at) => {
                next.changes += 1;
                next.known[at].listed = false;
                next.known[at].revoked = lapses(at) > next.seconds;
            }
            Act::Tick => {
                next.ticks += 1;
                let due = next.machine.wakeup().map_or(0, |due| due.since(now(0).mono).as_secs());
                next.seconds = next.seconds.max(due);
                next.give(Input::Ticked);
                let on = next.machine.wakeup().is_none_or(|due| due > now(next.seconds).mono);
                next.unless(on, "a tick does not move the wakeup on");
            }
            Act::Stop => {
                next.draining = true;
                next.give(Input::Draining);
            }
            Act::Listen(at) => {
                // Told to close while it was being opened, it opens and closes behind that.
                next.listeners.entry(at).and_modify(|listener| {
                    if *listener == Listener::Opening {
                        *listener = Listener::Open;
                    }
                });
                let endpoint = SocketAddr::from(([10, 0, 0, 7], 1));
                next.tell(at, SessionFact::Opened { endpoint });
            }
            Act::Refuse(at) => {
                next.listeners.remove(&at);
                next.tell(at, SessionFact::Refused { reason: String::new() });
            }
            Act::Idle(at) => next.tell(at, SessionFact::Idle),
            Act::Close(at) => next.close(at),
            Act::Deliver(at) => next.deliver(at),
            Act::Answer(at) | Act::TimeOut(at) => next.answer(at),
            Act::Lose(at) => {
                next.losses += 1;
                next.wires.entry(at).and_modify(|(_, wire)| *wire = Wire::Lost);
            }
        }
        next
    }

    fn is_possible(&self, act: Act) -> bool {
        let listener = |at: usize| self.listeners.get(&at).copied();
        let wire = |at: usize| self.wires.get(&at).map(|(_, wire)| *wire);
        match act {
            Act::Pull => self.pulls < PULLS_MAX && !self.draining,
            Act::Unlist(at) => self.changes < CHANGES_MAX && self.known[at].listed,
            Act::Tick => self.ticks < TICKS_MAX && self.machine.wakeup().is_some(),
            Act::Stop => !self.draining,
            Act::Listen(at) | Act::Refuse(at) => listener(at) == Some(Listener::Opening),
            Act::Idle(at) => listener(at) == Some(Listener::Open),
            // Also by itself.
            Act::Close(at) => matches!(listener(at), Some(Listener::Open | Listener::Closing)),
            Act::Deliver(at) => wire(at) == Some(Wire::Row),
            Act::Answer(at) => matches!(wire(at), Some(Wire::Answer(_))),
            Act::Lose(at) => {
                self.losses < LOSSES_MAX && matches!(wire(at), Some(Wire::Row | Wire::Answer(_)))
            }
            Act::TimeOut(at) => wire(at) == Some(Wire::Lost),
        }
    }

    /// Whether all comes to an end when everything arrives and the agent stops; and whether then the control plane was
    /// told of each end of which it knows the begin.
    fn comes_to_rest(&self) -> Result<(), &'static str> {
        let mut world = self.clone();
        for _ in 0..INPUTS_MAX {
            if world.fault.is_some() {
                return Ok(());
            }
            let next = (0..SESSIONS).find_map(|at| {
                let acts = [Act::Close(at), Act::Listen(at), Act::Deliver(at), Act::Answer(at)];
                let all = acts.into_iter().chain([Act::TimeOut(at)]);
                all.into_iter().find(|act| world.is_possible(*act))
            });
            match next {
                Some(act) => world = world.acted(act),
                None if !world.draining => world = world.acted(Act::Stop),
                None => break,
            }
        }
        let over = world.machine.is_idle() && world.listeners.is_empty() && world.wires.is_empty();
        if !over || world.machine.wakeup().is_some() {
            return Err("a stop does not end what is open");
        }
        for (known, drained) in world.known.iter().zip(world.drained) {
            if known.begun && !known.ended && !drained && self.losses == 0 {
                return Err("a begin that was taken has neither its end nor a drain signal");
            }
        }
        Ok(())
    }
}

impl World for Both {
    type Act = Act;

    fn nexts(&self) -> Vec<(Act, Self)> {
        let of_one = |at| {
            [
                Act::Unlist(at),
                Act::Listen(at),
                Act::Refuse(at),
                Act::Idle(at),
                Act::Close(at),
                Act::Deliver(at),
                Act::Answer(at),
                Act::Lose(at),
                Act::TimeOut(at),
            ]
        };
        let all = [Act::Pull, Act::Tick, Act::Stop];
        let acts = all.into_iter().chain((0..SESSIONS).flat_map(of_one));
        let possible = acts.filter(|act| self.is_possible(*act));
        possible.map(|act| (act, self.acted(act))).collect()
    }

    fn fault(&self) -> Option<&'static str> {
        self.fault.or_else(|| self.comes_to_rest().err())
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
fn no_state_of_both_ends_tells_rows_out_of_order_or_leaves_a_session_open() {
    let Extent { states, edges } = explore(Both::listed());
    eprintln!("{states} states, {edges} edges");
    assert!(states.abs_diff(STATES) * 10 <= STATES, "{states} states instead of {STATES}");
}
