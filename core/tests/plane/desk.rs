//! A plane with a desk in front of it: requests by method, path and body, with a clock that stands still.

use core::time::Duration;

use meshward_core::{
    ids::{CallId, CorrelationId},
    plane::{Effect, Input, Listener, Plane, Settings, site},
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
}

impl Desk {
    pub(crate) fn open() -> Self {
        let settings = Settings {
            problem_base_url: "https://meshward.example/problems".into(),
            header_prefix: "X-Service".into(),
            signing_public_key: "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=".into(),
            tls_certificate: "PEM".into(),
            info: meshward_core::plane::Info::default(),
        };
        let now = Now { mono: Mono::default(), wall: Wall::from_origin(NOON) };
        Self { plane: Plane::default(), settings, now }
    }

    /// Sends a request exactly as given.
    pub(crate) fn send(&mut self, listener: Listener, request: Request) -> Response {
        let correlation = CorrelationId(7);
        let input = Input::Requested { call: CallId(1), listener, request, correlation };
        let step = core::mem::take(&mut self.plane).step(&self.settings, self.now, input);
        self.plane = step.state;
        let [Effect::Reply { call: CallId(1), response }] =
            <[Effect; 1]>::try_from(step.effects).expect("every request gets exactly one reply")
        else {
            panic!("the reply names another call");
        };
        response
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
