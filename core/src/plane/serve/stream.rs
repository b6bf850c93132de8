//! Events: the stream, and what steers it.
//!
//! Specification: "GET /v1/nodes/{id}/events" and "Events".

use alloc::{vec, vec::Vec};

use super::{Asked, Order, Ordered};
use crate::{
    ids::{CallId, CorrelationId},
    plane::{
        Effect, Plane, Settings,
        captures::Endpoint,
        counters::Counter,
        manner::Manner,
        refusal::Denial,
        stream::{self, Audience, Cursor, Input, Opening, Refusal},
    },
    step::Step,
    time::Now,
    wire::{
        call::{Call, Test},
        http::Response,
        sse::Frame,
    },
};

impl Plane {
    /// Every call counts, also one that opens no stream.
    pub(in crate::plane) fn events(mut self, asked: &Asked<'_>) -> Ordered {
        self.counters.count(Counter::EventsRequests);
        let cursor = Cursor::read(&asked.head.headers);
        self.move_stream(asked.settings, asked.now, Input::Asked { call: asked.call, cursor })
    }

    pub(in crate::plane) fn inject_event(mut self, asked: Asked<'_>) -> Ordered {
        let read = stream::read_event(&asked.body);
        self.captures.keep(Endpoint::InjectEvent, asked.body);
        let input = read.map(|event| Input::Injected { call: asked.call, event });
        self.steer(asked.settings, asked.now, input)
    }

    pub(in crate::plane) fn configure_events(mut self, asked: Asked<'_>) -> Ordered {
        let read = stream::read_mode(&asked.body);
        self.captures.keep(Endpoint::ConfigureEvents, asked.body);
        self.steer(asked.settings, asked.now, read.map(Input::Configured))
    }

    fn steer(self, settings: &Settings, now: Now, input: Result<Input, Refusal>) -> Ordered {
        match input {
            Ok(input) => self.move_stream(settings, now, input),
            Err(refusal) => Step::to(self).emit(Order::Answer(Err(refusal.into()))),
        }
    }

    /// Brings out what waited for this signature: an injected event, whose injection is answered, or a bent frame.
    pub(in crate::plane) fn signed(
        self,
        settings: &Settings,
        now: Now,
        call: CallId,
        signature: &str,
    ) -> Step<Self, Effect> {
        let input = Input::Signed { call, signature: signature.into() };
        let Step { state: mut plane, effects: orders } = self.move_stream(settings, now, input);
        let mut effects: Vec<_> =
            plane.faults.signed(call, signature).map(Effect::from).into_iter().collect();
        for order in orders {
            effects.extend(plane.late(settings, now, call, order));
        }
        Step::to(plane).emit_all(effects)
    }

    fn late(&mut self, settings: &Settings, now: Now, call: CallId, order: Order) -> Vec<Effect> {
        // An injection was judged before it was signed, so that no denial comes this late.
        let path = Call::Test(Test::InjectEvent).path();
        match order {
            Order::Answer(answer) => {
                let late =
                    |denial: Denial| denial.response(settings, &path, CorrelationId::default());
                let response = answer.unwrap_or_else(late);
                vec![Effect::Reply { call, response, manner: Manner::PROMPT }]
            }
            Order::Send { audience, frame } => {
                self.faults.send(now, audience, frame).into_iter().map(Effect::from).collect()
            }
            Order::Close => vec![Effect::Close],
            Order::Sign(bytes) => vec![Effect::Sign { call, bytes }],
            Order::Open(_) | Order::Verify(_) => Vec::new(),
        }
    }

    fn move_stream(self, settings: &Settings, now: Now, input: Input) -> Ordered {
        let Step { state, effects } = self.stream.step(now, input);
        let plane = Self { stream: state, ..self };
        effects.into_iter().fold(Step::to(plane), |step, effect| match effect {
            stream::Effect::Open { replay } => step.emit(Order::Open(opening(settings, replay))),
            stream::Effect::Sign(bytes) => step.emit(Order::Sign(bytes)),
            stream::Effect::ArmRotation => Step { state: step.state.arm(now), ..step },
            stream::Effect::Send(frame) => broadcast(step, frame),
            stream::Effect::Close => step.emit(Order::Close),
            stream::Effect::Accept => step.emit(Order::Answer(Ok(Response::empty(204)))),
            stream::Effect::Refuse(refusal) => step.emit(Order::Answer(Err(refusal.into()))),
        })
    }
}

fn broadcast(mut step: Ordered, frame: Frame) -> Ordered {
    step.state.counters.count(Counter::InjectedEvents);
    step.emit(Order::Send { audience: Audience::Everyone, frame })
}

fn opening(settings: &Settings, replay: Vec<Frame>) -> Opening {
    let response = Response::empty(200)
        .with("content-type", "text/event-stream")
        .with("cache-control", "no-cache")
        .with("connection", "keep-alive")
        .with(&settings.header("API-Version"), "v1");
    Opening { response, replay, keep_alive: settings.keep_alive }
}
