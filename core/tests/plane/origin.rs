//! Browsers of other sites: what they may not change, and that nobody else is kept out.

use meshward_core::{
    plane::{
        Listener,
        origin::{Refusal, admit},
    },
    wire::{
        host::hold,
        http::{Body, Headers, Method, Request},
    },
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

/// What the fixture of these tests was told to listen on.
const OWN: &str = "ci.corp.example";

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
        ("ci.corp.example:8080", "", Ok(())),
        ("CI.corp.example", "http://ci.corp.example", Ok(())),
        ("evil.ci.corp.example", "", Err(Refusal::Host)),
        ("ci.corp.example.evil.example", "", Err(Refusal::Host)),
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
    for (named, origin, expected) in [
        ("localhost", "", Ok(())),
        ("evil.example", "", Err(Refusal::Host)),
        ("localhost", "http://127.0.0.1", Err(Refusal::Origin)),
        ("127.0.0.1", "http://127.0.0.1", Ok(())),
    ] {
        let mut headers = with("127.0.0.1", origin);
        hold(&mut headers, named);
        assert_eq!(admit(Method::Post, OWN, &headers), expected, "{named} in the target");
    }
    for (host, origin, expected) in rows {
        for method in [Method::Post, Method::Put, Method::Delete] {
            assert_eq!(admit(method, OWN, &with(host, origin)), expected, "{host} from {origin}");
        }
        assert_eq!(admit(Method::Get, OWN, &with(host, origin)), Ok(()), "looking is free");
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

#[test]
fn a_fixture_that_listens_on_an_address_has_no_name_of_its_own() {
    for host in ["evil.example", "ci.corp.example", ".", ":8080"] {
        assert_eq!(admit(Method::Post, "", &with(host, "")), Err(Refusal::Host), "{host}");
    }
}
