//! Browsers of other sites: what they may not change, and that nobody else is kept out.

use meshward_core::{
    plane::{
        Listener,
        origin::{Refusal, admit},
    },
    wire::http::{Body, Headers, Method, Request},
};

use crate::desk::{Desk, request, verdict};

fn with(host: &str, origin: &str) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in [("host", host), ("origin", origin)] {
        if !value.is_empty() {
            headers.push(name, value);
        }
    }
    headers
}

#[test]
fn a_change_comes_from_the_page_itself_or_from_no_browser() {
    let rows = [
        ("127.0.0.1:8080", "", Ok(())),
        ("", "", Ok(())),
        ("[::1]:8080", "", Ok(())),
        ("10.1.2.3", "", Ok(())),
        ("localhost:8080", "http://localhost:8080", Ok(())),
        ("LOCALHOST:8080", "http://localhost:8080", Ok(())),
        ("node.localhost:8080", "", Ok(())),
        ("mock-api:8080", "", Ok(())),
        ("fixture.default.svc.cluster.local:8080", "", Ok(())),
        ("127.0.0.1:8443", "https://127.0.0.1:8443", Ok(())),
        ("evil.example:8080", "", Err(Refusal::Host)),
        ("evil.example.:8080", "", Err(Refusal::Host)),
        ("evil.example", "http://evil.example", Err(Refusal::Host)),
        ("127.0.0.1.evil.example", "", Err(Refusal::Host)),
        ("[evil]:1", "", Err(Refusal::Host)),
        ("127.0.0.1:8080", "http://evil.example", Err(Refusal::Origin)),
        ("127.0.0.1:8080", "http://127.0.0.1:8081", Err(Refusal::Origin)),
        ("127.0.0.1:8080", "null", Err(Refusal::Origin)),
        ("", "http://evil.example", Err(Refusal::Origin)),
    ];
    for (host, origin, expected) in rows {
        for method in [Method::Post, Method::Put, Method::Delete] {
            assert_eq!(admit(method, &with(host, origin)), expected, "{host} from {origin}");
        }
        assert_eq!(admit(Method::Get, &with(host, origin)), Ok(()), "looking is free");
    }
}

#[test]
fn a_refused_change_is_403_without_a_code_and_changes_nothing() {
    let mut desk = Desk::open();
    let body = Body::Whole(br#"{"mode":"descoped"}"#.to_vec());
    let asked = request(Method::Post, "/test/configure-events", body);
    let headers = with("127.0.0.1:1", "http://evil.example");
    let answer = desk.send(Listener::Main, Request { headers, ..asked });
    assert_eq!(verdict(&answer), (403, String::new()));
    let kept = desk.ask(Method::Get, "/test/last-request/configure_events", "");
    assert_eq!(kept.status, 404, "it is not even kept");
}
