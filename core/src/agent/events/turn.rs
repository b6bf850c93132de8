//! One step of the stream, while it is being taken.
//!
//! | The request for the stream is answered | Next try | Also |
//! |---|---|---|
//! | a stream | | one reconcile, put off behind an absence of the control plane |
//! | 501 `signed_event_bus_not_provisioned` | at the slow pace | delivery `pull_only` |
//! | 401, 403, 404 | at the slow pace | refused, which the readiness tells |
//! | 400 | backoff | the cursor is cleared |
//! | 429 | when it says, else backoff | |
//! | anything else, and nothing | backoff | |
//!
//! Where the control plane has said that it has no stream, every try is a probe at the slow pace, whatever its answer.

use alloc::{format, string::String, vec::Vec};
use core::{mem, time::Duration};

use super::{
    DEGRADED_AFTER, Effect, Events, Flow, Input, Phase,
    delivery::Passed,
    pace::{BASE, probe, put_off},
    phase::By,
};
use crate::{
    agent::{
        facts::{EventSettings, Heard},
        notice::Notice,
        verdict::stream::{self, Streamed},
    },
    backoff::Jitter,
    ids::CallId,
    step::Step,
    time::Now,
    wire::{http::Response, sse::Item},
};

pub(super) struct Turn<'s> {
    events: Events,
    effects: Vec<Effect>,
    settings: &'s EventSettings,
    fresh: CallId,
    now: Now,
}

impl<'s> Turn<'s> {
    pub(super) const fn new(
        events: Events,
        settings: &'s EventSettings,
        fresh: CallId,
        now: Now,
    ) -> Self {
        Self { events, effects: Vec::new(), settings, fresh, now }
    }

    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Armed => {
                self.close();
                self.events = Events { opened: self.events.opened, ..Events::default() };
                self.open();
            }
            Input::Quieted => {
                self.close();
                self.events.phase = Phase::Off;
            }
            Input::Heard { stream, heard, jitter } => self.heard(stream, heard, jitter),
            Input::Ordered => self.ordered(),
            Input::Verified => self.verified(),
            Input::Retimed => self.retimed(),
            Input::Ticked => self.ticked(),
        }
    }

    /// Whatever came, time has passed, and what was missed may be fetched by now.
    pub(super) fn done(mut self) -> Step<Events, Effect> {
        if self.events.phase != Phase::Off {
            self.pass();
        }
        Step { state: self.events, effects: self.effects }
    }

    fn pass(&mut self) {
        match self.events.delivery.passed(self.now.mono) {
            Passed::Nothing => {}
            Passed::Poll => self.effects.push(Effect::Poll),
            Passed::Degraded => self.tell(Notice::warn(format!(
                "no stream of events for {} minutes: the desired state is pulled each minute until there is one again",
                DEGRADED_AFTER.as_secs() / 60
            ))),
        }
        let is_owed = self.events.owed.is_some_and(|due| due <= self.now.mono);
        if self.events.gaps.take(self.now.mono) || is_owed {
            self.events.owed = None;
            self.effects.push(Effect::Reconcile);
        }
    }

    /// The one place where a stream is asked for: nothing is asked for or open here.
    fn open(&mut self) {
        self.events.phase = Phase::Connecting { stream: self.fresh };
        self.events.asked = Some(self.now.mono);
        let cursor = self.events.cursor.sent();
        self.effects.push(Effect::Open { stream: self.fresh, cursor });
    }

    fn close(&mut self) {
        if let Some(stream) = self.events.phase.stream() {
            self.effects.push(Effect::Close(stream));
        }
    }

    /// Whoever orders it again and again gets one stream a second.
    fn ordered(&mut self) {
        match self.events.phase {
            Phase::Off | Phase::Waiting { by: By::ControlPlane, .. } => return,
            Phase::Connecting { .. } | Phase::Streaming { .. } | Phase::Waiting { .. } => {}
        }
        self.close();
        match self.events.asked.map(|asked| asked.after(BASE)) {
            Some(due) if due > self.now.mono => {
                self.events.phase = Phase::Waiting { due, by: By::Backoff };
            }
            Some(_) | None => self.open(),
        }
    }

    fn retimed(&mut self) {
        if let Phase::Waiting { due, by: By::SlowPace } = &mut self.events.phase {
            *due = (*due).min(self.now.mono.after(self.settings.reprobe_interval));
        }
    }

    fn ticked(&mut self) {
        let now = self.now.mono;
        match &mut self.events.phase {
            Phase::Waiting { due, .. } if *due <= now => self.open(),
            Phase::Streaming { flow, .. } if flow.is_silent(now) => {
                let jitter = flow.jitter;
                let reason = format!("nothing came for {:?}", self.settings.idle_timeout);
                self.close();
                self.lost(reason, jitter);
            }
            Phase::Streaming { flow, .. } if flow.has_lasted(now) => self.verified(),
            Phase::Off
            | Phase::Connecting { .. }
            | Phase::Streaming { .. }
            | Phase::Waiting { .. } => {}
        }
    }

    /// The stream is good for something.
    fn verified(&mut self) {
        let Phase::Streaming { flow, .. } = &mut self.events.phase else { return };
        flow.is_proven = true;
        self.events.pace.proven();
        if mem::take(&mut self.events.delivery.is_told) {
            self.tell(Notice::info("the stream of events is back"));
        }
    }

    fn heard(&mut self, named: CallId, heard: Heard, jitter: Jitter) {
        match (&self.events.phase, heard) {
            (Phase::Connecting { stream }, Heard::Answered(response)) if *stream == named => {
                self.answered(&response, jitter);
            }
            (Phase::Connecting { stream }, Heard::Ended(lost)) if *stream == named => {
                let reason = lost.map_or_else(
                    || String::from("it ended before it was answered"),
                    |lost| format!("{lost}"),
                );
                self.lost(reason, jitter);
            }
            (Phase::Streaming { stream, .. }, Heard::Bytes(bytes)) if *stream == named => {
                self.read(&bytes.0, jitter);
            }
            (Phase::Streaming { stream, .. }, Heard::Ended(lost)) if *stream == named => match lost
            {
                Some(lost) => self.lost(format!("{lost}"), jitter),
                None => self.ended(jitter),
            },
            (
                Phase::Off
                | Phase::Connecting { .. }
                | Phase::Streaming { .. }
                | Phase::Waiting { .. },
                Heard::Answered(_) | Heard::Bytes(_) | Heard::Ended(_),
            ) => {}
        }
    }

    fn answered(&mut self, response: &Response, jitter: Jitter) {
        let verdict = stream::read(response, self.now.wall);
        if response.is_success() && verdict != Streamed::Opened {
            self.close();
        }
        if verdict != Streamed::Opened {
            self.events.pace.answered();
        }
        match verdict {
            Streamed::Opened => self.opened(jitter),
            Streamed::NotProvisioned(reason) => self.descoped(&reason, jitter),
            Streamed::Unacceptable(reason) => {
                self.events.cursor.clear();
                self.failed(reason, jitter);
            }
            Streamed::Refused(reason) => self.refused(&reason, jitter),
            Streamed::Throttled(trouble) => {
                let wait = self.events.pace.throttled(trouble.retry_after, jitter);
                self.fail(&trouble.reason, wait, jitter);
                if let (Phase::Waiting { by, .. }, Some(_)) =
                    (&mut self.events.phase, trouble.retry_after)
                {
                    *by = By::ControlPlane;
                }
            }
            Streamed::Failed(reason) => self.failed(reason, jitter),
        }
    }

    fn opened(&mut self, jitter: Jitter) {
        let (now, idle_timeout) = (self.now.mono, self.settings.idle_timeout);
        let flow = Flow::opened(now, idle_timeout, jitter);
        self.events.phase = Phase::Streaming { stream: self.stream(), flow };
        self.events.opened += 1;
        self.events.gaps.settle();
        let is_news = self.events.delivery.opened();
        self.tell(match is_news {
            true => Notice::info("the control plane streams events"),
            false => Notice::debug("the stream of events is open again"),
        });
        let is_away = self.events.pace.is_away();
        self.events.pace.answered();
        match is_away {
            true => {
                self.events.owed.get_or_insert_with(|| now.after(put_off(jitter)));
            }
            false => self.effects.push(Effect::Reconcile),
        }
    }

    /// The name of what is asked for or open.
    fn stream(&self) -> CallId {
        self.events.phase.stream().unwrap_or_default()
    }

    fn descoped(&mut self, reason: &str, jitter: Jitter) {
        let wait = self.probe(jitter);
        let text = format!(
            "the control plane has no stream of events: {reason}; the desired state comes by pulls alone, and in {} s \
             it is asked again",
            wait.as_secs()
        );
        let is_news = self.events.delivery.descoped();
        self.tell(match is_news {
            true => Notice::info(text),
            false => Notice::debug(text),
        });
        self.wait(wait, By::SlowPace, jitter);
    }

    fn refused(&mut self, reason: &str, jitter: Jitter) {
        let wait = self.probe(jitter);
        let text = format!(
            "the control plane refuses this node the stream of events: {reason}; in {} s it is asked again",
            wait.as_secs()
        );
        self.events.delivery.is_told = true;
        let is_news = self.events.delivery.refused();
        self.tell(match is_news {
            true => Notice::warn(text),
            false => Notice::debug(text),
        });
        self.wait(wait, By::SlowPace, jitter);
    }

    fn lost(&mut self, reason: String, jitter: Jitter) {
        let wait = self.events.pace.lost(jitter);
        self.fail(&reason, wait, jitter);
    }

    fn failed(&mut self, reason: String, jitter: Jitter) {
        let wait = self.events.pace.failed(jitter);
        self.fail(&reason, wait, jitter);
    }

    fn fail(&mut self, reason: &str, wait: Duration, jitter: Jitter) {
        let (wait, by) = self.at_least_a_probe(wait, jitter);
        let text = format!(
            "there is no stream of events: {reason}; in {:.1} s it is asked for again",
            wait.as_secs_f32()
        );
        self.tell_trouble(text);
        self.wait(wait, by, jitter);
    }

    fn ended(&mut self, jitter: Jitter) {
        let wait = self.events.pace.ended(jitter);
        let text = format!(
            "the stream of events has ended; in {:.1} s it is asked for again",
            wait.as_secs_f32()
        );
        match self.events.pace.is_slow() {
            true => self.tell_trouble(text),
            false => self.tell(Notice::debug(text)),
        }
        self.wait(wait, By::Backoff, jitter);
    }

    fn wait(&mut self, wait: Duration, by: By, jitter: Jitter) {
        let now = self.now.mono;
        self.events.phase = Phase::Waiting { due: now.after(wait), by };
        self.events.delivery.lacks(now, jitter);
    }

    /// The wait, but where there is no stream no less than that of a probe.
    fn at_least_a_probe(&self, wait: Duration, jitter: Jitter) -> (Duration, By) {
        let probe = self.probe(jitter);
        match self.events.delivery.is_descoped() && probe > wait {
            true => (probe, By::SlowPace),
            false => (wait, By::Backoff),
        }
    }

    fn probe(&self, jitter: Jitter) -> Duration {
        probe(self.settings.reprobe_interval, jitter)
    }

    /// Frames are judged one by one; each moves the cursor behind its judgement.
    fn read(&mut self, bytes: &[u8], jitter: Jitter) {
        let Phase::Streaming { flow, .. } = &mut self.events.phase else { return };
        flow.heard(self.now.mono, self.settings.idle_timeout, jitter);
        for item in flow.parser.push(bytes) {
            match item {
                Item::Event { data, id, .. } => {
                    self.effects.push(Effect::Judge(data));
                    self.moved(id.as_deref());
                }
                Item::Moved { id } => self.moved(Some(&id)),
                Item::Skipped { id } => {
                    self.skipped();
                    self.moved(id.as_deref());
                }
                Item::Retry(base) => self.events.pace.asked(base),
            }
        }
    }

    fn moved(&mut self, id: Option<&str>) {
        if id.is_some_and(|id| self.events.cursor.moved(id)) {
            self.events.gaps.met();
        }
    }

    /// What a frame would have told that is too long to be held is missed as one that never came.
    fn skipped(&mut self) {
        self.events.gaps.met();
        let Phase::Streaming { flow, .. } = &mut self.events.phase else { return };
        let text = "a frame of the stream of events is too long and is passed over";
        let notice = match mem::replace(&mut flow.has_skipped, true) {
            false => Notice::warn(text),
            true => Notice::debug(text),
        };
        self.tell(notice);
    }

    /// The first of a row is a warning, and the row is over when a stream is good for something.
    fn tell_trouble(&mut self, text: String) {
        let is_first = self.events.delivery.tells_first();
        self.tell(match is_first {
            true => Notice::warn(text),
            false => Notice::debug(text),
        });
    }

    fn tell(&mut self, notice: Notice) {
        self.effects.push(Effect::Tell(notice));
    }
}
