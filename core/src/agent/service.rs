//! What the service manager of the host is told, and when its watchdog is fed.
//!
//! | Fact, behind a whole round of the loop | Told |
//! |---|---|
//! | there is no identity yet, each [`EXTEND_EVERY`] | `EXTEND_TIMEOUT_USEC=` of [`EXTEND`] |
//! | there is an identity for the first time | `READY=1` |
//! | the readiness has changed | `STATUS=` and its words |
//! | the agent drains | `STOPPING=1` |
//! | half of the watchdog's period has passed, and the agent gets on | `WATCHDOG=1` |
//!
//! An agent gets on while the thread lives that writes below `state/`, and heartbeats are asked and answered: one that is
//! [`BEATS_MISSED`] intervals late, for as long as a request may take, is a loop that turns without doing its work. Nothing
//! is told by a timer: where the loop stands still, so does this. Specification: none; `docs/operating.md` (systemd).

use alloc::{format, string::String, vec::Vec};
use core::time::Duration;

use thiserror::Error;

use super::{Agent, Settings, life::Life, notice::Notice, readiness::Readiness};
use crate::{step::Step, time::Mono};

/// By how much a start is extended while the node registers.
pub const EXTEND: Duration = Duration::from_secs(60);

/// How often.
pub const EXTEND_EVERY: Duration = Duration::from_secs(20);

/// So many intervals behind its time a heartbeat is overdue.
pub const BEATS_MISSED: u32 = 3;

/// How long until what the service manager did not take is told again.
pub const RETRY: Duration = Duration::from_secs(5);

/// What the service manager is told when a reload is done.
pub const RELOADED: &str = "READY=1";

/// What the service manager was told, and what it is told next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Half of the watchdog's period.
    pace: Option<Duration>,
    told: Told,
    /// When the start is to be extended again.
    extend_at: Option<Mono>,
    /// When the watchdog is to be fed again, or looked at.
    feed_at: Option<Mono>,
    /// Since when the heartbeat is overdue.
    overdue: Option<Mono>,
    /// That the watchdog is not fed was told.
    is_starved: bool,
    /// Until then nothing is told, as the last of it was not taken.
    rests: Option<Mono>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    is_ready: bool,
    is_stopping: bool,
    status: Option<&'static str>,
}

/// How the agent stands behind a whole round of its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    pub readiness: Readiness,
    /// There is an identity, and its work goes on.
    pub is_armed: bool,
    pub is_draining: bool,
    pub is_overdue: bool,
    /// How long that may last: a request that is under way is given up by then.
    pub patience: Duration,
    /// The thread that writes below `state/` lives.
    pub is_writing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The loop has taken a fact, stepped, and carried out every order.
    Passed(Round),
    /// What was to be told was not taken.
    Untaken,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Tell the service manager this, as one datagram.
    Notify(String),
    Tell(Notice),
}

impl Agent {
    /// How the agent stands behind a whole round of its loop.
    pub fn round(&self, settings: &Settings, now: Mono, is_writing: bool) -> Round {
        let grace = settings.heartbeat_interval.saturating_mul(BEATS_MISSED);
        Round {
            readiness: self.readiness(),
            is_armed: self.identity.is_some(),
            is_draining: self.life != Life::Working,
            is_overdue: self.heartbeat.is_overdue(grace, now),
            patience: settings.request_timeout,
            is_writing,
        }
    }
}

impl Service {
    /// Of a service manager whose watchdog has this period, if it has one.
    pub fn new(watchdog: Option<Duration>) -> Self {
        Self { pace: watchdog.map(|period| period / 2), ..Self::default() }
    }

    /// Moves on one input.
    pub fn step(mut self, now: Mono, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Untaken => Step::to(Self {
                told: Told::default(),
                extend_at: None,
                feed_at: None,
                rests: Some(now.after(RETRY)),
                ..self
            }),
            Input::Passed(_) if self.rests.is_some_and(|until| now < until) => Step::to(self),
            Input::Passed(round) => {
                self.rests = None;
                let mut words = Vec::new();
                self.stands(round, &mut words);
                self.extends(now, round, &mut words);
                let notice = self.feeds(now, round, &mut words);
                let notify = (!words.is_empty()).then(|| Effect::Notify(words.join("\n")));
                Step::to(self).emit_all(notify).emit_all(notice.map(Effect::Tell))
            }
        }
    }

    /// When another round is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        match self.rests {
            Some(until) => Some(until),
            None => [self.extend_at, self.feed_at].into_iter().flatten().min(),
        }
    }

    fn stands(&mut self, round: Round, words: &mut Vec<String>) {
        if round.is_draining && !self.told.is_stopping {
            self.told.is_stopping = true;
            words.push("STOPPING=1".into());
        }
        if round.is_armed && !round.is_draining && !self.told.is_ready {
            self.told.is_ready = true;
            words.push("READY=1".into());
        }
        let status = status(round);
        if self.told.status != Some(status) {
            self.told.status = Some(status);
            words.push(format!("STATUS={status}"));
        }
    }

    fn extends(&mut self, now: Mono, round: Round, words: &mut Vec<String>) {
        if round.is_armed || round.is_draining {
            self.extend_at = None;
        } else if self.extend_at.is_none_or(|due| due <= now) {
            self.extend_at = Some(now.after(EXTEND_EVERY));
            words.push(format!("EXTEND_TIMEOUT_USEC={}", EXTEND.as_micros()));
        }
    }

    /// Feeds the watchdog where that is due and deserved, and tells where it is not.
    fn feeds(&mut self, now: Mono, round: Round, words: &mut Vec<String>) -> Option<Notice> {
        let pace = self.pace?;
        self.overdue = round.is_overdue.then(|| self.overdue.unwrap_or(now));
        if self.feed_at.is_some_and(|due| due > now) {
            return None;
        }
        self.feed_at = Some(now.after(pace));
        let is_stuck = self.overdue.is_some_and(|since| now.since(since) > round.patience);
        let fault = match (round.is_writing, is_stuck) {
            (false, _) => "the thread that writes below state/ has ended",
            (true, true) => "heartbeats are overdue and none is answered or given up",
            (true, false) => {
                words.push("WATCHDOG=1".into());
                self.is_starved = false;
                return None;
            }
        };
        let is_news = !core::mem::replace(&mut self.is_starved, true);
        is_news.then(|| {
            Notice::error(format!(
                "{fault}: the watchdog of the service manager is not fed, so that it starts this program anew"
            ))
        })
    }
}

/// The words of a `STATUS=`.
const fn status(round: Round) -> &'static str {
    match (round.is_draining, round.readiness) {
        (true, _) => "draining",
        (false, Readiness::Ready) => "ready",
        (
            false,
            readiness @ (Readiness::RegistrationPending
            | Readiness::IdentityRefused
            | Readiness::EventsRefused
            | Readiness::EventsDegraded
            | Readiness::SubsystemStopped),
        ) => readiness.as_str(),
    }
}

/// What the service manager is told when a reload begins, at this reading of `CLOCK_MONOTONIC`.
pub fn reloading(monotonic: Duration) -> String {
    format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic.as_micros())
}

/// The period of the watchdog by `WATCHDOG_USEC`, unless `WATCHDOG_PID` says that it is another's.
pub fn watchdog(usec: Option<&str>, pid: Option<&str>, own: u32) -> Option<Duration> {
    let is_ours = pid.is_none_or(|pid| pid.parse() == Ok(own));
    let period = usec?.parse().ok().filter(|period| *period > 0)?;
    is_ours.then(|| Duration::from_micros(period))
}

/// Where the service manager listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    Path(&'a str),
    /// A name that is in no file system.
    Abstract(&'a str),
}

/// `NOTIFY_SOCKET` is of no kind that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "NOTIFY_SOCKET must be an absolute path, or a name behind an @: the service manager is told nothing"
)]
pub struct BadAddress;

/// Reads `NOTIFY_SOCKET`; an empty one is none.
pub fn address(text: &str) -> Result<Option<Address<'_>>, BadAddress> {
    match text.split_at_checked(1) {
        None if text.is_empty() => Ok(None),
        Some(("/", rest)) if !rest.is_empty() => Ok(Some(Address::Path(text))),
        Some(("@", name)) if !name.is_empty() => Ok(Some(Address::Abstract(name))),
        Some(_) | None => Err(BadAddress),
    }
}
