//! The local API and the health listener, route by route.

use meshward_core::{
    agent::{
        Door,
        local::{Shelf, answer},
        readiness::Readiness,
        standing::Standing,
        view::View,
    },
    wire::{
        grammar::Name,
        http::{Body, Headers, Method, Request, Response},
        local::Status,
        snapshot::{Entries, Entry},
    },
};

use crate::bench::start;

const READS: [Method; 2] = [Method::Get, Method::Head];
const WRITES: [Method; 4] = [Method::Post, Method::Put, Method::Delete, Method::Other];

fn view() -> View {
    let entry = |key: &str, value: &str| Entry {
        key: Name(key.into()),
        value: value.into(),
        workload_tag: Name::default(),
    };
    let block = Entries {
        metadata: vec![entry("zone/a", "eu")],
        data: vec![entry("app/config", "on")],
        ..Entries::default()
    };
    View::default().refreshed(start(), Some(block))
}

fn ask(door: Door, readiness: Readiness, method: Method, path: &str) -> Response {
    let view = view();
    let shelf = Shelf { view: &view, readiness, status: Status::default() };
    let headers = Headers::new();
    let request = Request { method, path: path.into(), query: None, headers, body: Body::EMPTY };
    answer(&shelf, door, &request)
}

fn socket(method: Method, path: &str) -> (u16, String) {
    let response = ask(Door::Socket, Readiness::Ready, method, path);
    assert_eq!(response.headers.first("content-type"), Some("application/json"), "{path}");
    (response.status, text(&response))
}

fn text(response: &Response) -> String {
    String::from_utf8(response.body.clone()).expect("a text")
}

#[test]
fn every_read_answers_its_body() {
    let entry = r#"{"key":"app/config","content_type":"text/plain; charset=utf-8","payload":"on","version":1,"updated_at":"2027-01-15T08:00:00Z"}"#;
    let summary =
        r#"[{"key":"app/config","version":1,"content_type":"text/plain; charset=utf-8"}]"#;
    let state = format!(
        r#"{{"metadata":{{"zone/a":"eu"}},"data_keys":{summary},"secret_keys":[],"report_keys":[]}}"#
    );
    let rows = [
        ("/v1/state", state.as_str()),
        ("/v1/state/metadata", r#"{"zone/a":"eu"}"#),
        ("/v1/state/metadata/zone/a", r#"{"key":"zone/a","value":"eu"}"#),
        ("/v1/state/metadata/zone%2Fa", r#"{"key":"zone/a","value":"eu"}"#),
        ("/v1/state/data", summary),
        ("/v1/state/data/app/config", entry),
        ("/v1/state/data/app%2Fconfig", entry),
        ("/v1/state/data/app%2fconfig", entry),
    ];
    for (path, body) in rows {
        for method in READS {
            assert_eq!(socket(method, path), (200, format!("{body}\n")), "{method:?} {path}");
        }
    }
    assert!(socket(Method::Get, "/v1/status").1.starts_with(r#"{"ready":false,"#));
}

#[test]
fn what_is_not_there_is_a_json_404() {
    let paths = [
        "/",
        "/v1",
        "/v1/states",
        "/v1/state/",
        "/v1/state/data/",
        "/v1/state/data/none",
        "/v1/state/metadata/",
        "/v1/state/metadata/none",
        "/v1/state/data/%zz",
        "/v1/state/data/%ff",
        "/healthz",
    ];
    for path in paths {
        let expected = (404, "{\"error\":\"not found\"}\n".to_string());
        assert_eq!(socket(Method::Get, path), expected, "{path}");
    }
}

#[test]
fn a_write_to_a_read_is_a_json_405_that_tells_what_is_allowed() {
    for method in WRITES {
        for path in ["/v1/state", "/v1/state/data/none", "/v1/status"] {
            let expected = (405, "{\"error\":\"method not allowed\"}\n".to_string());
            assert_eq!(socket(method, path), expected);
            let response = ask(Door::Socket, Readiness::Ready, method, path);
            assert_eq!(response.headers.first("allow"), Some("GET, HEAD"));
        }
    }
}

#[test]
fn health_is_ok_while_the_process_lives_and_ready_tells_the_first_unmet_condition() {
    let refused = Standing::Admitted.refused(start().mono);
    let rows = [
        (Readiness::of(false, Standing::Admitted), 503, "not ready: registration pending\n"),
        (Readiness::of(false, refused), 503, "not ready: registration pending\n"),
        (Readiness::of(true, refused), 503, "not ready: identity refused\n"),
        (Readiness::of(true, Standing::Admitted), 200, "ok\n"),
    ];
    for (readiness, status, body) in rows {
        for method in READS {
            let ready = ask(Door::Health, readiness, method, "/readyz");
            assert_eq!((ready.status, text(&ready).as_str()), (status, body));
            let health = ask(Door::Health, readiness, method, "/healthz");
            assert_eq!((health.status, text(&health).as_str()), (200, "ok\n"));
            assert_eq!(health.headers.first("content-type"), Some("text/plain; charset=utf-8"));
        }
    }
}

#[test]
fn the_health_listener_knows_two_routes_and_two_methods() {
    let ask = |method, path| ask(Door::Health, Readiness::Ready, method, path);
    for path in ["/", "/v1/state", "/v1/status", "/healthz/"] {
        assert_eq!(ask(Method::Get, path).status, 404, "{path}");
    }
    for method in WRITES {
        let response = ask(method, "/healthz");
        assert_eq!((response.status, response.headers.first("allow")), (405, Some("GET, HEAD")));
    }
}
