//! What a head tells alone: who may ask, what it asks, how much of its body is read, and why it is no request.

use meshward_core::{
    agent::{
        Door, TcpSettings,
        local::{
            REPORT_BODY_MAX,
            head::{read_max, turned_away},
        },
    },
    secret::Secret,
    wire::{
        framing::{Framing, HEAD_MAX, Piece, Refused},
        http::{Body, Headers, Method, Request, Response},
    },
};

const BEARER: &str = "Authorization: Bearer sixteen-bytes-of-token\r\n";

fn settings() -> TcpSettings {
    TcpSettings::new(&Secret::new("sixteen-bytes-of-token".into()), String::new())
}

fn head(method: Method, path: &str, bearer: bool) -> Request {
    let headers = match bearer {
        true => Headers::new().with("authorization", "Bearer sixteen-bytes-of-token"),
        false => Headers::new(),
    };
    Request { method, path: path.into(), query: None, headers, body: Body::EMPTY }
}

fn told(response: &Response) -> (u16, String) {
    (response.status, String::from_utf8(response.body.clone()).expect("a text"))
}

fn refused(head: &str) -> Refused {
    match Framing::new(HEAD_MAX).next(head.as_bytes()) {
        Piece::Refused(refused) => *refused,
        other @ (Piece::Partial | Piece::Head { .. } | Piece::Body { .. } | Piece::Lost) => {
            panic!("{other:?}")
        }
    }
}

#[test]
fn a_target_that_names_a_site_of_the_internet_is_refused_whatever_the_header_says() {
    let settings = settings();
    for (target, status) in [
        ("/v1/state", 400),
        ("http://127.0.0.1/v1/state", 400),
        ("http://evil.example/v1/state", 403),
        ("http://evil.example?v1/state", 403),
        ("http://127.0.0.1.evil.example/v1/state", 403),
    ] {
        let lengths = "Content-Length: 1\r\nContent-Length: 1\r\n";
        let head = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{BEARER}{lengths}\r\n");
        let answer = turned_away(Some(&settings), Door::Tcp, &refused(&head));
        assert_eq!(answer.status, status, "{target}");
    }
}

#[test]
fn a_stranger_at_the_tcp_listener_is_answered_before_anything_of_its_body_is_read() {
    let settings = settings();
    let judged = |bearer, method, path| {
        read_max(Some(&settings), Door::Tcp, &head(method, path, bearer))
            .map_err(|response| response.status)
    };
    for path in ["/v1/state/report/a", "/v1/state", "/none", "/v1/actions/run"] {
        assert_eq!(judged(false, Method::Put, path), Err(401), "{path}");
    }
    assert_eq!(judged(true, Method::Put, "/v1/state/report/a"), Ok(REPORT_BODY_MAX));
    assert_eq!(judged(true, Method::Put, "/v1/state"), Err(405));
    let page = Request {
        headers: head(Method::Get, "", true).headers.with("origin", "http://evil.example"),
        ..head(Method::Put, "/v1/state/report/a", true)
    };
    let page = read_max(Some(&settings), Door::Tcp, &page).map_err(|response| response.status);
    assert_eq!(page, Err(403));
}

#[test]
fn a_path_or_method_that_asks_nothing_is_answered_without_its_body() {
    let judged = |door, method, path| {
        read_max(None, door, &head(method, path, false)).map_err(|response| told(&response))
    };
    let missing = "{\"error\":\"not found\"}\n".to_owned();
    assert_eq!(judged(Door::Socket, Method::Put, "/none"), Err((404, missing)));
    let method = "{\"error\":\"method not allowed\"}\n".to_owned();
    assert_eq!(judged(Door::Socket, Method::Put, "/v1/state"), Err((405, method)));
    assert_eq!(judged(Door::Socket, Method::Put, "/v1/state/report/a"), Ok(REPORT_BODY_MAX));
    assert_eq!(judged(Door::Socket, Method::Get, "/v1/state"), Ok(0));
    assert_eq!(judged(Door::Health, Method::Put, "/none"), Ok(0), "it is answered whatever it is");
}

#[test]
fn a_head_that_is_no_request_is_answered_in_the_words_of_its_door() {
    let broken = refused("GET /v1/state HTTP/1.1\r\nno colon\r\n\r\n");
    let settings = settings();
    for door in [Door::Socket, Door::Tcp] {
        let answer = turned_away(Some(&settings), door, &broken);
        assert_eq!(answer.headers.first("content-type"), Some("application/json"));
        let (status, text) = told(&answer);
        assert_eq!(status, 400, "{door:?}");
        assert!(text.starts_with("{\"error\":\"a header line cannot be read: "), "{text}");
    }
    let answer = turned_away(None, Door::Health, &broken);
    assert_eq!(answer.headers.first("content-type"), Some("text/plain; charset=utf-8"));
    assert!(told(&answer).1.starts_with("a header line cannot be read: "));
    let long = refused(&format!("GET /v1/state HTTP/1.1\r\nA: {}", "b".repeat(HEAD_MAX)));
    assert_eq!(turned_away(None, Door::Socket, &long).status, 431);
    let target = refused(&format!("GET /{}", "a".repeat(HEAD_MAX)));
    assert_eq!(turned_away(None, Door::Socket, &target).status, 414);
}

#[test]
fn a_length_that_is_told_twice_is_refused_behind_the_token_and_the_route() {
    let twice = |path: &str, bearer: &str| {
        let lengths = "Content-Length: 2\r\ncontent-length: 2\r\n";
        refused(&format!("PUT {path} HTTP/1.1\r\n{bearer}{lengths}\r\n"))
    };
    let settings = settings();
    let status =
        |door, path, bearer| turned_away(Some(&settings), door, &twice(path, bearer)).status;
    assert_eq!(status(Door::Tcp, "/v1/state/report/a", ""), 401);
    assert_eq!(status(Door::Tcp, "/none", BEARER), 404);
    assert_eq!(status(Door::Tcp, "/v1/state/report/a", BEARER), 400);
    assert_eq!(status(Door::Socket, "/v1/state/report/a", ""), 400);
    assert_eq!(status(Door::Socket, "/v1/state", ""), 405);
    assert_eq!(status(Door::Health, "/none", ""), 400);
}
