//! The health listener: whether the process lives, and whether it is useful.
//!
//! Specification: "Health listener".

use crate::{
    agent::readiness::Readiness,
    wire::http::{Method, Request, Response},
};

/// Answers one request to the health listener.
pub fn health(readiness: Readiness, request: &Request) -> Response {
    let known = matches!(request.path.as_str(), "/healthz" | "/readyz");
    match (known, request.method) {
        (false, _) => line(404, "not found"),
        (true, Method::Get | Method::Head)
            if request.path == "/healthz" || readiness.is_ready() =>
        {
            line(200, "ok")
        }
        (true, Method::Get | Method::Head) => line(503, readiness.as_str()),
        (true, Method::Post | Method::Put | Method::Delete | Method::Other) => {
            line(405, "method not allowed").with("allow", "GET, HEAD")
        }
    }
}

fn line(status: u16, text: &str) -> Response {
    let mut body = text.as_bytes().to_vec();
    body.push(b'\n');
    Response { body, ..Response::empty(status) }.with("content-type", "text/plain; charset=utf-8")
}
