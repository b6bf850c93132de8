//! One request from its arrival to its answer: what faults make of it, the gate, its route, and what is kept of it.
//!
//! | Step | What happens |
//! |---|---|
//! | 1 | a fault rule may lose the request or replace its answer; then neither gate nor route hear of it |
//! | 2 | the gate, before routing: without a good bearer nothing else is looked at |
//! | 3 | the route, its orders translated into effects |
//! | 4 | the journal, and whoever waits for what it holds |
//!
//! Specification: "Authentication"; `decisions.md` section 7 (`/test/faults`, `GET /test/requests`).

use alloc::{
    borrow::{Cow, ToOwned as _},
    string::String,
    vec::Vec,
};

use super::{
    Arrival, Effect, Plane, Settings, admit, body,
    counters::Counter,
    facts,
    faults::{self, Answer, Deed, Loss, Sent},
    journal::{Entry, Kept, Outcome},
    manner::Manner,
    mask, pattern,
    refusal::Denial,
    route,
    serve::{Asked, Order},
    verify::{Asker, Condition, Verdict},
};
use crate::{
    ids::{CallId, CorrelationId},
    step::Step,
    time::Now,
    wire::{
        framing::Flaw,
        http::{Body, Method, Request, Response},
        journal::Matched,
        json,
    },
};

/// What is known of a request while it is answered.
#[derive(Debug)]
pub(super) struct Exchange<'s> {
    settings: &'s Settings,
    now: Now,
    call: CallId,
    method: Method,
    path: String,
    correlation: CorrelationId,
    /// What a fault makes of its answer, by default nothing.
    answer: Answer,
    outcome: Outcome,
}

impl<'s> Exchange<'s> {
    fn new(settings: &'s Settings, now: Now, call: CallId, arrival: &Arrival) -> Self {
        Self {
            settings,
            now,
            call,
            method: arrival.request.method,
            path: arrival.request.path.clone(),
            correlation: arrival.drawn.correlation,
            answer: Answer::default(),
            outcome: Outcome::default(),
        }
    }

    fn reply(&mut self, answer: Result<Response, Denial>) -> Effect {
        let response = match answer {
            Ok(response) => response,
            Err(mut denial) => {
                self.outcome.code = denial.code.as_ref().map(|code| code.as_str().to_owned());
                self.outcome.rule = core::mem::take(&mut denial.rule);
                denial.response(self.settings, &self.path, self.correlation)
            }
        };
        let response = self.answer.dress(self.now, facts::headless(self.method, response));
        self.outcome.status = Some(response.status);
        self.outcome.response_bytes = length(response.body.len());
        Effect::Reply { call: self.call, response, manner: self.answer.manner }
    }
}

/// What the journal will say of a request, but for its outcome.
#[derive(Debug)]
struct Note {
    query: Option<String>,
    duration: core::time::Duration,
    request_bytes: u64,
    body: Option<Kept>,
}

impl Note {
    fn new(now: Now, arrival: &Arrival) -> Self {
        let Request { query, headers, body, .. } = &arrival.request;
        let announced = headers.first("content-length").and_then(|length| length.parse().ok());
        let read = || match body {
            Body::Whole(bytes) => length(bytes.len()),
            Body::Oversized | Body::Unreadable => 0,
        };
        Self {
            query: query.as_deref().map(mask::query),
            duration: now.mono.since(arrival.begun),
            request_bytes: announced.unwrap_or_else(read),
            // What was announced and not read is unknown, and not empty.
            body: Kept::of(body).filter(|_| read() > 0 || announced.is_none_or(|bytes| bytes == 0)),
        }
    }
}

impl Plane {
    pub(super) fn requested(
        mut self,
        settings: &Settings,
        now: Now,
        call: CallId,
        arrival: Arrival,
    ) -> Step<Self, Effect> {
        let overdue = self.settle(settings, now);
        let mut exchange = Exchange::new(settings, now, call, &arrival);
        let own = pattern::is_own(&exchange.path);
        let note = (!own).then(|| Note::new(now, &arrival));
        let struck = self.faults.meet(exchange.method, &exchange.path);
        let Step { state, effects } = match struck {
            None => self.ask(&mut exchange, arrival),
            Some((rule, Deed::Lose(loss))) => self.lose(&mut exchange, rule, loss),
            Some((rule, Deed::Answer(answer))) => {
                exchange.answer = answer;
                self.bend(&mut exchange, rule, arrival)
            }
        };
        let settled = match note {
            None => Step::to(state),
            Some(note) => state.note(exchange, note),
        };
        let effects = overdue.into_iter().chain(effects).chain(settled.effects);
        Step::to(settled.state).emit_all(effects)
    }

    /// A request without a certain end is one all the same; what is no request meets neither faults nor gate.
    pub(super) fn refused(
        self,
        settings: &Settings,
        now: Now,
        call: CallId,
        arrival: Arrival,
        flaw: Flaw,
    ) -> Step<Self, Effect> {
        if flaw == Flaw::RepeatedLength {
            return self.requested(settings, now, call, arrival);
        }
        let mut exchange = Exchange::new(settings, now, call, &arrival);
        let note = Note::new(now, &arrival);
        let reply = exchange.reply(Err(flaw.into()));
        let noted = self.note(exchange, note);
        Step::to(noted.state).emit(reply).emit_all(noted.effects)
    }

    fn lose(self, exchange: &mut Exchange<'_>, rule: u64, loss: Loss) -> Step<Self, Effect> {
        exchange.outcome.rule = faults::name(rule);
        let call = exchange.call;
        Step::to(self).emit_all(loss.cut().map(|cut| Effect::Cut { call, cut }))
    }

    fn bend(self, exchange: &mut Exchange<'_>, rule: u64, arrival: Arrival) -> Step<Self, Effect> {
        match exchange.answer.substitute.as_ref().map(|other| other.answer(rule)) {
            Some(answer) => Step::to(self).emit(exchange.reply(answer)),
            None => self.ask(exchange, arrival),
        }
    }

    fn ask(self, exchange: &mut Exchange<'_>, arrival: Arrival) -> Step<Self, Effect> {
        let seen = exchange.answer.clock(exchange.now);
        let Step { state, effects } = self.ordered(exchange, seen, arrival);
        effects.into_iter().fold(Step::to(state), |step, order| {
            let Step { state, effects } = step.state.carry(exchange, order);
            Step { state, effects: step.effects }.emit_all(effects)
        })
    }

    /// The gate comes before routing: without a good bearer nothing else is looked at.
    fn ordered(
        mut self,
        exchange: &Exchange<'_>,
        seen: Now,
        arrival: Arrival,
    ) -> Step<Self, Order> {
        let (listener, head) = (arrival.listener, &arrival.request);
        if let Err(refusal) = admit::admit(listener, &head.path, &head.headers) {
            self.counters.count(Counter::Unauthorized);
            return Step::to(self).emit(Order::Answer(Err(refusal.into())));
        }
        match route::route(listener, head.method, &head.path) {
            Ok(call) if body::is_unread(&call) && head.headers.is_repeated("content-length") => {
                Step::to(self).emit(Order::Answer(Err(Flaw::RepeatedLength.into())))
            }
            Ok(route) => {
                let asked = Asked::new(exchange.settings, seen, exchange.call, arrival);
                self.serve(route, asked)
            }
            Err(miss) => Step::to(self).emit(Order::Answer(Err(miss.into()))),
        }
    }

    /// Translates one order of a route; what goes to streams may be bent by a fault.
    fn carry(mut self, exchange: &mut Exchange<'_>, order: Order) -> Step<Self, Effect> {
        let call = exchange.call;
        match order {
            Order::Answer(answer) => Step::to(self).emit(exchange.reply(answer)),
            Order::Open(mut opening) => {
                opening = self.faults.open(call, &exchange.path, opening);
                opening.response = exchange.answer.dress(exchange.now, opening.response);
                exchange.outcome.status = Some(opening.response.status);
                Step::to(self).emit(Effect::Open { call, opening, manner: exchange.answer.manner })
            }
            Order::Send { audience, frame } => {
                let sent = self.faults.send(exchange.now, audience, frame);
                Step::to(self).emit_all(sent.into_iter().map(Effect::from))
            }
            Order::Close => {
                self.faults.closed();
                Step::to(self).emit(Effect::Close)
            }
            Order::Sign(bytes) => Step::to(self).emit(Effect::Sign { call, bytes }),
            Order::Verify(condition) => self.expect(exchange, condition),
        }
    }

    fn expect(mut self, exchange: &mut Exchange<'_>, condition: Condition) -> Step<Self, Effect> {
        let (call, correlation) = (exchange.call, exchange.correlation);
        let asker = Asker { call, path: exchange.path.clone(), correlation };
        let verdict = self.verifies.ask(exchange.now, asker, condition, &self.journal);
        Step::to(self).emit_all(verdict.map(|verdict| told(exchange.settings, verdict)))
    }

    fn note(mut self, exchange: Exchange<'_>, note: Note) -> Step<Self, Effect> {
        let Exchange { settings, now, method, path, outcome, .. } = exchange;
        let Note { query, duration, request_bytes, body } = note;
        let at = now.wall;
        let path = match mask::shapes(&path) {
            Cow::Borrowed(_) => path,
            Cow::Owned(masked) => masked,
        };
        let entry = Entry { at, method, path, query, outcome, duration, request_bytes, body };
        self.verifies.count(&entry);
        self.journal.keep(entry);
        let settled = self.settle(settings, now);
        Step::to(self).emit_all(settled)
    }

    /// Answers each verification that is decided by now.
    pub(super) fn settle(&mut self, settings: &Settings, now: Now) -> Vec<Effect> {
        let settled = self.verifies.settle(now, &self.journal);
        settled.into_iter().map(|verdict| told(settings, verdict)).collect()
    }
}

impl From<Sent> for Effect {
    fn from(sent: Sent) -> Self {
        match sent {
            Sent::Send { audience, frame } => Self::Send { audience, frame },
            Sent::Sign { call, bytes } => Self::Sign { call, bytes },
        }
    }
}

fn told(settings: &Settings, (asker, verdict): Verdict) -> Effect {
    let response = match verdict {
        Ok(matched) => Response::json(200, json::encode(&Matched { matched })),
        Err(refusal) => Denial::from(refusal).response(settings, &asker.path, asker.correlation),
    };
    Effect::Reply { call: asker.call, response, manner: Manner::PROMPT }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
