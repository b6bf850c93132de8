//! What every answer at a door of the agent owes.

use meshward_core::{
    agent::{
        Caller, Door,
        local::{Ask, METRICS, Miss, gate, route},
    },
    wire::{
        exposition::CONTENT_TYPE,
        http::{Request, Response},
    },
};
use serde_json::Value;

use crate::local_node;

const STATUSES: [u16; 11] = [200, 204, 400, 401, 403, 404, 405, 409, 429, 500, 503];

pub(crate) fn check(gated: bool, (caller, request): (&Caller, &Request), response: &Response) {
    let told = response.hidden.as_ref().map_or(&response.body, |hidden| hidden.expose());
    let text = core::str::from_utf8(told).expect("an answer is a text");
    assert!(STATUSES.contains(&response.status), "{} for {request:?}", response.status);
    let asked = route(request.method, &request.path);
    let reveals = matches!(asked, Ok(Ask::Secret(_))) && response.status == 200;
    assert_eq!(text.contains(local_node::SECRET), reveals, "a secret in its place for {request:?}");
    assert!(!local_node::markers().iter().any(|marker| text.contains(marker)), "{request:?}");
    if caller.door == Door::Health {
        return check_health(request, response, text);
    }
    if asked == Ok(Ask::RunAction) && !matches!(response.status, 401 | 403) {
        assert!(gate::may_order(caller), "an order is taken from {caller:?}");
    }
    if is_of_secrets(&request.path) && !matches!(response.status, 401 | 404 | 405) {
        check_secrets(gated, caller, response);
    }
    if response.status == 204 {
        assert!(told.is_empty() && response.headers.first("content-type").is_none());
        return;
    }
    let types: Vec<_> = response.headers.all("content-type").collect();
    if asked == Ok(Ask::Metrics) && response.status == 200 {
        return assert_eq!(types, [CONTENT_TYPE]);
    }
    assert_eq!(types, ["application/json"], "{request:?}");
    let value: Value = serde_json::from_str(text).expect("an answer is JSON");
    if response.status != 200 {
        check_refusal(&value, request, response);
    }
    if let Err(Miss::Method { allow }) = asked
        && response.status == 405
    {
        assert_eq!(response.headers.first("allow"), Some(allow), "{request:?}");
    }
}

/// An error is an object with one member, a text.
fn check_refusal(value: &Value, request: &Request, response: &Response) {
    let members = value.as_object().expect("an error is an object");
    assert_eq!(members.len(), 1, "{members:?} for {request:?}");
    let error = members.get("error").and_then(Value::as_str);
    assert!(error.is_some_and(|error| !error.is_empty()), "{members:?} for {request:?}");
    let headers = &response.headers;
    assert_eq!(headers.first("allow").is_some(), response.status == 405, "{request:?}");
    assert_eq!(headers.first("www-authenticate").is_some(), response.status == 401, "{request:?}");
}

fn is_of_secrets(path: &str) -> bool {
    path == "/v1/state/secrets" || path.starts_with("/v1/state/secrets/")
}

/// Nobody keeps an answer about secrets, and the gate lets root and one group to them.
fn check_secrets(gated: bool, caller: &Caller, response: &Response) {
    assert!(
        response.status == 403 || response.headers.first("cache-control") == Some("no-store"),
        "an answer about secrets may be kept"
    );
    let admitted = caller.door == Door::Socket
        && caller.peer.as_ref().is_some_and(|peer| peer.uid == 0 || peer.groups.contains(&77));
    if gated && !admitted {
        assert_eq!(response.status, 403, "the gate is open for {caller:?}");
    }
}

fn check_health(request: &Request, response: &Response, text: &str) {
    assert!(matches!(response.status, 200 | 404 | 405 | 503), "{request:?}");
    match response.headers.first("content-type") {
        Some("application/json") => {
            let value: Value = serde_json::from_str(text).expect("an answer is JSON");
            assert_eq!(value["ready"].as_bool(), Some(response.status == 200), "{value}");
        }
        Some(CONTENT_TYPE) => assert_eq!((request.path.as_str(), response.status), (METRICS, 200)),
        Some("text/plain; charset=utf-8") => {
            assert!(text.ends_with('\n') && text.lines().count() == 1, "{text:?}");
        }
        other => panic!("{other:?} for {request:?}"),
    }
}
