//! A control plane under a sequence of requests: every answer is well-formed and every counter explains itself.

use core::time::Duration;

use arbitrary::Unstructured;
use meshward_core::{
    ids::{CallId, CorrelationId},
    plane::{Arrival, Documents, Drawn, Effect, Input, Listener, Plane, Settings},
    step::Step,
    time::{Mono, Now, Wall},
    wire::{
        execution::CallbackResponse,
        http::{Body, Headers, Method, Request, Response},
        json::decode_tolerant,
    },
};

use crate::{
    answer,
    counters::{self, Counts},
    request::{self, Learnt},
    streams::{self, Streams},
};

/// The longest sequence of requests.
const REQUESTS_MAX: usize = 64;

/// Requests drawn from the bytes meet one plane, each answer and the counters behind it are checked.
pub fn plane_http(bytes: &[u8]) {
    plane_statuses(bytes);
}

/// As [`plane_http`], and tells the status of each answer, so that a corpus can be seen to reach them.
pub fn plane_statuses(bytes: &[u8]) -> Vec<u16> {
    let mut u = Unstructured::new(bytes);
    let mut run = Run::start();
    let mut statuses = Vec::new();
    while statuses.len() < REQUESTS_MAX && !u.is_empty() {
        match run.exchange(&mut u) {
            Ok(status) => statuses.push(status),
            Err(_) => break,
        }
    }
    statuses
}

struct Run {
    settings: Settings,
    plane: Plane,
    now: Now,
    calls: CallId,
    learnt: Learnt,
    /// As they were after the last request.
    counts: Counts,
    streams: Streams,
    /// Whether a fault rule was taken up since the last reset: answers and streams then are what it makes of them.
    spoilt: bool,
}

impl Run {
    fn start() -> Self {
        let mut run = Self {
            settings: Settings {
                signing_public_key: "BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=".to_owned(),
                tls_certificate: "-----BEGIN CERTIFICATE-----\n".to_owned(),
                documents: Documents {
                    openapi: "{}",
                    page: "<p>",
                    page_policy: "default-src 'none'",
                },
                ..Settings::default()
            },
            plane: Plane::default(),
            now: Now {
                mono: Mono::from_origin(Duration::from_secs(5)),
                wall: Wall::from_origin(Duration::from_secs(1_800_000_000)),
            },
            calls: CallId::default(),
            learnt: Learnt::default(),
            counts: Counts::new(),
            streams: Streams::default(),
            spoilt: false,
        };
        run.counts = counters::read(&run.ask(Listener::Main, assertions()));
        run
    }

    fn exchange(&mut self, u: &mut Unstructured<'_>) -> arbitrary::Result<u16> {
        let drawn = request::draw(u, self.now, &self.learnt)?;
        let correlation = CorrelationId(u128::from(self.calls.0));
        let Some(response) = self.answered(drawn.listener, drawn.request.clone()) else {
            return Ok(0);
        };
        let after = counters::read(&self.ask(Listener::Main, assertions()));
        if !self.spoilt || drawn.request.path.starts_with("/test/") {
            answer::check(&self.settings, &drawn.request, correlation, &response);
            counters::check(&self.counts, &after, &drawn, &response);
        }
        self.counts = after;
        if counters::is_reset(&drawn, &response) {
            self.streams = Streams::default();
            self.spoilt = false;
        }
        self.spoilt |= is_rule(&drawn.request, &response);
        if let Some(call) = self.streams.oldest_of_many() {
            assert!(self.step(Input::Left { call }).is_empty(), "nobody is left to tell");
        }
        self.learn(&response);
        self.now = self.now.after(Duration::from_secs(1));
        Ok(response.status)
    }

    fn ask(&mut self, listener: Listener, request: Request) -> Response {
        self.answered(listener, request).expect("one answer to one request")
    }

    /// Asks the plane and takes its one answer; signatures are given at once. A fault may leave a request without one,
    /// and a verification waits for its own.
    fn answered(&mut self, listener: Listener, request: Request) -> Option<Response> {
        let call = self.calls;
        self.calls = call.next();
        let drawn = Drawn { correlation: CorrelationId(u128::from(call.0)), ..Drawn::default() };
        let arrival = Arrival { listener, request, begun: self.now.mono, drawn };
        let mut inputs = vec![Input::Requested { call, arrival }];
        let mut answers = Vec::new();
        while let Some(input) = inputs.pop() {
            for effect in self.step(input) {
                match effect {
                    Effect::Reply { call: answered, response, .. } => {
                        answers.push((answered, response));
                    }
                    Effect::Open { call: answered, opening, .. } => {
                        if !self.spoilt {
                            self.streams.open(answered, &opening);
                        }
                        answers.push((answered, opening.response));
                    }
                    Effect::Send { .. } if self.spoilt => {}
                    Effect::Send { audience, frame } => self.streams.send(&audience, &frame),
                    Effect::Close => self.streams.close(),
                    Effect::Cut { call: ended, .. } => {
                        assert_eq!(ended, call, "a fault ends its own request");
                    }
                    Effect::Sign { call, bytes } => inputs.push(streams::signed(call, &bytes)),
                }
            }
        }
        let (own, late): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|(answered, _)| *answered == call);
        assert!(late.iter().all(|(answered, _)| *answered < call), "an answer names its question");
        assert!(own.len() <= 1, "one answer to one request");
        own.into_iter().next().map(|(_, response)| response)
    }

    /// Steps the plane, twice to see that it decides the same.
    fn step(&mut self, input: Input) -> Vec<Effect> {
        let plane = core::mem::take(&mut self.plane);
        let twin = plane.clone().step(&self.settings, self.now, input.clone());
        let step = plane.step(&self.settings, self.now, input);
        assert_eq!(step, twin, "the same input in the same state");
        let Step { state, effects } = step;
        self.plane = state;
        effects
    }

    fn learn(&mut self, response: &Response) {
        let answer: Result<CallbackResponse, _> = decode_tolerant(&response.body);
        if let Ok(CallbackResponse { output_upload_url: Some(url), .. }) = answer {
            self.learnt.upload_query = url.split_once('?').map(|(_, query)| query.to_owned());
        }
    }
}

/// Whether a fault rule was taken up, however its path was spelled.
fn is_rule(request: &Request, response: &Response) -> bool {
    request.method == Method::Post && response.status == 201 && request.path != "/v1/register"
}

fn assertions() -> Request {
    Request {
        method: Method::Get,
        path: "/test/assertions".to_owned(),
        query: None,
        headers: Headers::new().with("host", "127.0.0.1"),
        body: Body::EMPTY,
    }
}
