//! What every answer of the plane has, whatever was asked.

use meshward_core::{
    ids::CorrelationId,
    plane::Settings,
    wire::{
        http::{Method, Request, Response},
        problem::{self, Code},
    },
};
use serde_json::Value;

/// Every status that a route of the fixture answers.
const STATUSES: [u16; 17] =
    [200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 501, 503];

pub(crate) fn check(
    settings: &Settings,
    request: &Request,
    correlation: CorrelationId,
    response: &Response,
) {
    let status = response.status;
    assert!(STATUSES.contains(&status), "{status} for {request:?}");
    if status >= 400 {
        check_refusal(request, correlation, response);
    }
    if request.method == Method::Head || status == 204 {
        assert!(response.body.is_empty(), "a body where none may be: {request:?}");
        return;
    }
    let content_type = response.headers.first("content-type").unwrap_or_default();
    match content_type {
        problem::CONTENT_TYPE => check_problem(settings, request, correlation, response),
        // One of the releases has a bundle that is none.
        "application/json" if response.body == b"garbage not a bundle" => {
            assert!(request.path.starts_with("/releases/v9.9.8/"), "garbage for {request:?}");
        }
        "application/json" => {
            let value: Result<Value, _> = serde_json::from_slice(&response.body);
            assert!(value.is_ok(), "{value:?} for {request:?}");
        }
        "application/octet-stream" | "application/x-pem-file" | "text/html; charset=utf-8" => {}
        "text/event-stream" => assert!(response.body.is_empty(), "a stream is sent in frames"),
        "" => assert!(response.body.is_empty(), "a body without a type: {request:?}"),
        other => panic!("{other} for {request:?}"),
    }
}

fn check_refusal(request: &Request, correlation: CorrelationId, response: &Response) {
    let headers = &response.headers;
    let told: Vec<&str> = headers.all(problem::CORRELATION_HEADER).collect();
    assert_eq!(told, [correlation.to_string()], "{request:?}");
    assert_eq!(headers.first("content-type"), Some(problem::CONTENT_TYPE), "{request:?}");
    if response.status == 405 {
        assert!(headers.first("allow").is_some_and(|allow| !allow.is_empty()), "{request:?}");
    }
}

fn check_problem(
    settings: &Settings,
    request: &Request,
    correlation: CorrelationId,
    response: &Response,
) {
    let body: Value = serde_json::from_slice(&response.body).expect("a problem body is JSON");
    let text = |member: &str| body[member].as_str();
    assert_eq!(body["status"].as_u64(), Some(u64::from(response.status)), "{request:?}");
    assert!(response.status >= 400, "a problem that is none: {request:?}");
    assert_eq!(text("title"), Some(problem::title(response.status)));
    assert!(text("detail").is_some_and(|detail| !detail.is_empty()), "{request:?}");
    assert_eq!(text("instance"), Some(request.path.as_str()));
    assert_eq!(text("correlation_id"), Some(correlation.to_string().as_str()));
    match body.get("code") {
        None => assert_eq!(text("type"), Some("about:blank")),
        Some(code) => {
            let code = code.as_str().expect("a code is a string");
            let kind = format!("{}/{code}", settings.problem_base_url);
            assert_eq!(text("type"), Some(kind.as_str()));
            assert_eq!(Code::parse(code).status(), response.status, "{code} for {request:?}");
        }
    }
}
