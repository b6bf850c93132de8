//! A plane with a desk in front of it: requests by method, path and body, with a clock that stands still.

use core::time::Duration;

use meshward_core::{
    ids::{CallId, CorrelationId},
    plane::{Arrival, Drawn, Effect, Input, Listener, Plane, Settings, site},
    time::{Mono, Now, Wall},
    wire::{
        bearer::Credential,
        http::{Body, Headers, Method, Request, Response},
        json,
        problem::ProblemSeen,
    },
};

/// 2026-01-15T10:30:00Z.
pub(crate) const NOON: Duration = Duration::from_secs(1_768_473_000);

pub(crate) struct Desk {
    pub(crate) plane: Plane,
    pub(crate) settings: Settings,
    pub(crate) now: Now,
    /// What the last request had done besides its answer.
    pub(crate) others: Vec<Effect>,
}

/// What stands for every signature.
pub(crate) const SIGNATURE: &str = "c2lnbmF0dXJl";

impl Desk {
    pub(crate) fn open() -> Self {
        let settings = Settings {
            signing_public_key: "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=".into(),
            tls_certificate: "PEM".into(),
            ..Settings::default()
        };
        let now = Now { mono: Mono::default(), wall: Wall::from_origin(NOON) };
        Self { plane: Plane::default(), settings, now, others: Vec::new() }
    }

    /// Sends a request exactly as given.
    pub(crate) fn send(&mut self, listener: Listener, request: Request) -> Response {
        let drawn = Drawn { correlation: CorrelationId(7), envelope_nonce: [7; 12] };
        let arrival = Arrival { listener, request, begun: self.now.mono, drawn };
        self.others.clear();
        let mut responses = Vec::new();
        self.give(Input::Requested { call: CallId(1), arrival }, &mut responses);
        let [response] =
            <[Response; 1]>::try_from(responses).expect("every request gets exactly one reply");
        response
    }

    /// Steps on one input; signatures are given at once, all other orders are kept.
    fn give(&mut self, input: Input, responses: &mut Vec<Response>) {
        let step = core::mem::take(&mut self.plane).step(&self.settings, self.now, input);
        self.plane = step.state;
        for effect in step.effects {
            match effect {
                Effect::Reply { call, response, .. } => {
                    assert_eq!(call, CallId(1), "the reply names its call");
                    responses.push(response);
                }
                Effect::Sign { call, .. } => {
                    let signature = SIGNATURE.to_owned();
                    self.give(Input::Signed { call, signature }, responses);
                }
                Effect::Cut { .. } | Effect::Open { .. } | Effect::Send { .. } | Effect::Close => {
                    self.others.push(effect);
                }
            }
        }
    }

    /// Sends a body of any kind with the good bearer.
    pub(crate) fn ask_with(&mut self, method: Method, target: &str, body: Body) -> Response {
        let headers = Headers::new().with("authorization", &bearer()).with("host", "plane.test:80");
        self.send(Listener::Main, Request { headers, ..request(method, target, body) })
    }

    pub(crate) fn ask(&mut self, method: Method, target: &str, body: &str) -> Response {
        self.ask_with(method, target, Body::Whole(body.into()))
    }

    pub(crate) fn count(&mut self, counter: &str) -> u64 {
        let response = self.ask(Method::Get, "/test/assertions", "");
        let text = text(&response);
        let (_, rest) = text.split_once(&format!("\"{counter}\":")).expect("the counter is served");
        let digits = rest.split([',', '}']).next().unwrap_or_default();
        digits.parse().expect("a counter is an integer")
    }
}

pub(crate) fn request(method: Method, target: &str, body: Body) -> Request {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.into())),
        None => (target, None),
    };
    Request { method, path: path.into(), query, headers: Headers::new(), body }
}

pub(crate) fn bearer() -> String {
    let credential = Credential { node: site::NODE_UUID, key: site::node_secret_key() };
    format!("Bearer {}", credential.envelope("any").expose())
}

pub(crate) fn text(response: &Response) -> String {
    String::from_utf8(response.body.clone()).expect("the answer is text")
}

/// Status and code of an answer; an answer that is no problem, or has none, has the empty code.
pub(crate) fn verdict(response: &Response) -> (u16, String) {
    let seen = json::decode_tolerant::<ProblemSeen>(&response.body).unwrap_or_default();
    (response.status, seen.code.unwrap_or_default())
}

/// The path of a route of the fixture's own node.
pub(crate) fn node(rest: &str) -> String {
    format!("/v1/nodes/{}/{rest}", site::NODE_ID)
}
