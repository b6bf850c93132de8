//! The health listener: whether the process lives, and whether it is useful.
//!
//! Specification: "Health listener".

use super::METRICS;
use crate::{
    agent::readiness::Readiness,
    wire::{
        http::{Headers, Method, Request, Response},
        json,
        local::Ready,
    },
};

/// Answers one request to the health listener; `None` where the figures are asked for.
pub fn health(readiness: Readiness, request: &Request) -> Option<Response> {
    let answer = match request.path.as_str() {
        METRICS => None,
        "/healthz" => Some(line(200, "ok")),
        "/readyz" if wants_json(&request.headers) => Some(told(readiness)),
        "/readyz" => Some(line(status(readiness), readiness.as_str())),
        _ => return Some(line(404, "not found")),
    };
    match request.method {
        Method::Get | Method::Head => answer,
        Method::Post | Method::Put | Method::Delete | Method::Other => {
            Some(line(405, "method not allowed").with("allow", "GET, HEAD"))
        }
    }
}

const fn status(readiness: Readiness) -> u16 {
    if readiness.is_ready() { 200 } else { 503 }
}

fn wants_json(headers: &Headers) -> bool {
    let types = headers.all("accept").flat_map(|accept| accept.split(','));
    let mut named = types.filter_map(|kind| kind.split(';').next());
    named.any(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn told(readiness: Readiness) -> Response {
    let ready = Ready {
        ready: readiness.is_ready(),
        reason: readiness.as_str().into(),
        parts: readiness.parts().collect(),
    };
    Response::json(status(readiness), json::encode(&ready))
}

/// An answer of one line.
pub(super) fn line(status: u16, text: &str) -> Response {
    let mut body = text.as_bytes().to_vec();
    body.push(b'\n');
    Response { body, ..Response::empty(status) }.with("content-type", "text/plain; charset=utf-8")
}
