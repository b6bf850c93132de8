//! How often an agent asks: each request has a cause or its time, and nothing goes round in circles.
//!
//! The times are those of the agent's own clock, which counts while its machine is suspended.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use meshward_core::{agent::Heard, time::Mono};

use super::witness::{Found, Sending};
use crate::{
    route::{Route, Said, Sense},
    settings::{RECONCILE_INTERVAL, REPROBE_INTERVAL},
};

/// So many requests of one kind without a cause in between are a circle ...
const CIRCLE: usize = 3;
/// ... where they are no further apart than this.
const CIRCLE_MAX: Duration = Duration::from_millis(100);
/// How often an agent may want to be woken within a second.
const WAKINGS_MAX: usize = 40;
/// How long after a process goes on each route is asked once at most.
const RESUMING: Duration = Duration::from_secs(1);
/// The longest wait before a stream is asked for again.
const STREAM_WAIT_MAX: Duration = Duration::from_secs(60);
/// How long nothing is open until the state is pulled each minute beside.
const DEGRADED_AFTER: Duration = Duration::from_secs(300);
/// How long nodes are kept apart that have lost the control plane together.
const PUT_OFF_MAX: Duration = Duration::from_secs(60);
/// How long a number that is missed may wait behind another, and a pull behind another.
const MADE_UP_WITHIN: Duration = Duration::from_millis(1_200);
/// Up so long a stream makes up for the failures before it.
const PROVEN_AFTER: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    nodes: Vec<Gait>,
}

#[derive(Clone, Debug, Default)]
struct Gait {
    /// The last requests of a kind since it last had a cause.
    recent: BTreeMap<(Route, String), VecDeque<Mono>>,
    /// When the last pull was sent, and whether it has a cause to be sent again.
    pulled: Option<Mono>,
    triggered: bool,
    /// Pulls in a row that brought nothing, the last one included until it is answered.
    fruitless: u32,
    /// Until when one more may be sent for the sake of a stream that has opened behind failures.
    owed: Option<Mono>,
    /// Until when a pull may make up for what bytes of the stream have told to be missed.
    missed: Option<Mono>,
    stream: Stream,
    wakings: VecDeque<Mono>,
    /// When the process went on, in true time, and how often each route was asked since.
    resumed: Option<Mono>,
    since: BTreeMap<Route, u32>,
    /// The causes that pulls had since then.
    causes: u32,
}

/// How a node asks for its stream.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// When the last one ended, and the least wait behind that.
    ended: Option<(Mono, Duration)>,
    /// Failures and ends since one was good for something.
    failures: u32,
    opened: Option<Mono>,
    /// Since when none is open, and when a pull last made up for that.
    lacking: Option<Mono>,
    polled: Option<Mono>,
}

impl Pace {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: vec![Gait::default(); nodes] }
    }

    pub(super) fn died(&mut self, at: usize) {
        self.nodes[at] = Gait::default();
    }

    /// All begins anew under another identity, or under the old one.
    pub(super) fn retires(&mut self, at: usize) {
        self.nodes[at] = Gait::default();
    }

    pub(super) fn resumed(&mut self, at: usize, now: Mono) {
        let gait = &mut self.nodes[at];
        (gait.resumed, gait.causes) = (Some(now), 0);
        gait.since.clear();
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let now = sending.now.mono;
        let route = sending.said.route();
        let gait = &mut self.nodes[sending.caller.node];
        gait.goes_in_no_circle(route, sending.said, now, found);
        gait.is_calm_behind_a_pause(route, sending, found);
        match sending.said {
            Said::Pull => gait.pulls(now, found),
            Said::Sense(Sense::Events { .. }) => gait.stream.asks(now, found),
            // The first requests of an identity have their cause in it.
            Said::Register { .. } => *gait = Gait::default(),
            Said::Batch(..)
            | Said::Callback { .. }
            | Said::Heartbeat { .. }
            | Said::Report { .. }
            | Said::Rotate { .. }
            | Said::Sense(Sense::Endpoint { .. } | Sense::Manifest(_) | Sense::Violations(_))
            | Said::Session { .. }
            | Said::Upload { .. } => {}
        }
    }

    pub(super) fn heard(&mut self, at: usize, said: &Said, status: u16) {
        let gait = &mut self.nodes[at];
        match (said, status) {
            (Said::Heartbeat { .. }, 200) => gait.causes_pull(),
            // Executions, sessions and uploads have their causes in what was pulled or answered.
            (Said::Pull, 200) => {
                gait.fruitless = 0;
                gait.recent.retain(|(route, _), _| route.is_routine());
            }
            (Said::Callback { .. } | Said::Session { .. } | Said::Upload { .. }, _) => {
                gait.recent.retain(|(route, _), _| route.is_routine());
            }
            _ => {}
        }
    }

    /// The tunnel device has another key.
    pub(super) fn installed(&mut self, at: usize) {
        self.nodes[at].causes_pull();
    }

    /// What an agent hears of its stream.
    pub(super) fn streamed(&mut self, at: usize, heard: &Heard, now: Mono) {
        let gait = &mut self.nodes[at];
        match heard {
            Heard::Answered(response) if response.is_success() => {
                if gait.stream.failures > 0 {
                    gait.owed = Some(now.after(PUT_OFF_MAX));
                }
                (gait.stream.opened, gait.stream.lacking) = (Some(now), None);
                gait.causes_pull();
            }
            Heard::Answered(response) => {
                gait.forgets_a_try();
                gait.stream.refused(now, response.status);
            }
            Heard::Bytes(_) => {
                gait.missed = Some(now.after(MADE_UP_WITHIN));
                gait.causes_pull();
            }
            Heard::Ended(lost) => {
                gait.forgets_a_try();
                gait.stream.failed(now, lost.is_none());
            }
        }
    }

    /// An agent breaks its stream off, for whatever reason.
    pub(super) fn hung_up(&mut self, at: usize, now: Mono) {
        let stream = &mut self.nodes[at].stream;
        stream.lacking.get_or_insert(now);
        stream.closes(now);
    }

    /// A stream was good for something.
    pub(super) fn proven(&mut self, at: usize) {
        self.nodes[at].stream.failures = 0;
    }

    pub(super) fn ticked(&mut self, at: usize, now: Mono, found: &mut Found) {
        let wakings = &mut self.nodes[at].wakings;
        wakings.push_back(now);
        while wakings.front().is_some_and(|first| now.since(*first) >= Duration::from_secs(1)) {
            wakings.pop_front();
        }
        found.unless(wakings.len() <= WAKINGS_MAX, "no agent wakes without end");
    }
}

impl Gait {
    fn causes_pull(&mut self) {
        self.triggered = true;
        self.causes += 1;
        self.recent.retain(|(route, _), _| *route != Route::Pull);
    }

    /// A try that came to nothing is made again behind its backoff, which [`Stream::asks`] looks at.
    fn forgets_a_try(&mut self) {
        self.since.remove(&Route::Events);
    }

    fn goes_in_no_circle(&mut self, route: Route, said: &Said, now: Mono, found: &mut Found) {
        let recent = self.recent.entry((route, subject(said))).or_default();
        recent.push_back(now);
        while recent.front().is_some_and(|first| now.since(*first) > CIRCLE_MAX) {
            recent.pop_front();
        }
        found.unless(
            recent.len() < CIRCLE,
            &format!("{route:?} is not asked {CIRCLE} times within {CIRCLE_MAX:?} without a cause"),
        );
    }

    /// A pull may be asked once more for each cause that it has had since.
    fn is_calm_behind_a_pause(&mut self, route: Route, sending: &Sending<'_>, found: &mut Found) {
        let Some(resumed) = self.resumed else { return };
        if sending.node.clock.when(sending.now.mono).since(resumed) > RESUMING {
            self.resumed = None;
            return;
        }
        let since = self.since.entry(route).or_default();
        *since += 1;
        let most = match route {
            Route::Heartbeat
            | Route::Events
            | Route::Endpoint
            | Route::Manifest => 1,
            Route::Pull => 1 + self.causes + u32::from(self.owed.is_some()),
            Route::Register
            | Route::Rotate
            | Route::Ack
            | Route::Started
            | Route::Declared
            | Route::Terminal
            | Route::Report
            | Route::SessionStarted
            | Route::SessionEnded
            | Route::Upload
            // Each look that finds something is a cause.
            | Route::Violations
            // Full batches go one behind the other.
            | Route::Metrics
            | Route::Logs
            | Route::Audit => return,
        };
        found.unless(
            *since <= most,
            &format!("{route:?} is asked once in the first second behind a pause"),
        );
    }

    fn pulls(&mut self, now: Mono, found: &mut Found) {
        let due = self.pulled.is_none_or(|last| now.since(last) >= RECONCILE_INTERVAL);
        let caused = due
            || self.triggered
            || self.tries_again(now)
            || self.owed.take().is_some_and(|until| self.is_in_time(until, now))
            || self.missed.take().is_some_and(|until| self.is_in_time(until, now))
            || self.stream.polls(now);
        found.unless(caused, "a pull has a cause or its time");
        (self.pulled, self.triggered) = (Some(now), false);
        self.fruitless += 1;
    }

    /// What fell due while the process stood still is done as it goes on.
    fn is_in_time(&self, until: Mono, now: Mono) -> bool {
        now <= until || self.resumed.is_some()
    }

    /// What a pull that failed was to bring is asked for again, ever later.
    fn tries_again(&self, now: Mono) -> bool {
        let Some(number) = self.fruitless.checked_sub(1) else { return false };
        let wait = Duration::from_secs(1 << number.min(6)).min(RECONCILE_INTERVAL) * 3 / 4;
        self.pulled.is_some_and(|last| now.since(last) >= wait)
    }
}

impl Stream {
    fn asks(&mut self, now: Mono, found: &mut Found) {
        let early = self.ended.is_some_and(|(at, wait)| now.since(at) < wait);
        found.unless(!early, "a stream is asked for again within its backoff");
        self.ended = None;
    }

    /// Whoever ends a stream that was up for long, it made up for the failures before it.
    fn closes(&mut self, now: Mono) {
        if self.opened.take().is_some_and(|at| now.since(at) >= PROVEN_AFTER) {
            self.failures = 0;
        }
    }

    /// A wait is a quarter shorter at most, and none is behind an end that came in order.
    fn failed(&mut self, now: Mono, in_order: bool) {
        self.closes(now);
        let wait = Duration::from_secs(1 << self.failures.min(6)).min(STREAM_WAIT_MAX);
        self.failures += 1;
        self.waits(now, if in_order { wait } else { wait * 3 / 4 });
    }

    /// The network answers 429 with seven seconds; a tenth of a probe's interval is drawn.
    fn refused(&mut self, now: Mono, status: u16) {
        match status {
            429 => {
                self.failures += 1;
                self.waits(now, Duration::from_secs(7));
            }
            401 | 403 | 404 | 501 => self.waits(now, REPROBE_INTERVAL * 9 / 10),
            _ => self.failed(now, false),
        }
    }

    fn waits(&mut self, now: Mono, wait: Duration) {
        self.lacking.get_or_insert(now);
        self.ended = Some((now, wait));
    }

    /// Whether the state may be pulled for want of a stream.
    fn polls(&mut self, now: Mono) -> bool {
        let lacks = self.lacking.is_some_and(|since| now.since(since) >= DEGRADED_AFTER);
        // The one before may have been put off a moment.
        let interval = RECONCILE_INTERVAL - MADE_UP_WITHIN;
        let due = self.polled.is_none_or(|last| now.since(last) >= interval);
        if lacks && due {
            self.polled = Some(now);
        }
        lacks && due
    }
}

/// What a request is about, beside its route.
fn subject(said: &Said) -> String {
    match said {
        Said::Callback { execution, .. } | Said::Upload { execution } => execution.0.clone(),
        // Each write is a cause of its own.
        Said::Report { key, value } => format!("{key} {value:?}"),
        Said::Session { session, .. } => session.0.clone(),
        Said::Sense(Sense::Violations(told)) => format!("{told:?}"),
        Said::Batch(_, told) => format!("{told:?}"),
        Said::Heartbeat { .. }
        | Said::Pull
        | Said::Register { .. }
        | Said::Rotate { .. }
        | Said::Sense(_) => String::new(),
    }
}
