//! The local API and the health listener, route by route.

use meshward_core::{
    agent::{
        local::{
            Ask, BODY_MAX, Miss, REPORT_BODY_MAX, Read, Shelf, body_max, health, look_up, missed,
            route,
        },
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

fn read(method: Method, path: &str) -> Response {
    let view = view();
    let shelf = Shelf { view: &view, readiness: Readiness::Ready, status: Status::default() };
    match route(method, path) {
        Ok(Ask::Read(read)) => look_up(&shelf, read),
        Ok(ask) => panic!("{method:?} {path} is no read: {ask:?}"),
        Err(miss) => missed(miss),
    }
}

fn probe(readiness: Readiness, method: Method, path: &str) -> Response {
    let headers = Headers::new();
    let request = Request { method, path: path.into(), query: None, headers, body: Body::EMPTY };
    health(readiness, &request)
}

fn socket(method: Method, path: &str) -> (u16, String) {
    let response = read(method, path);
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
        "/v1/state%2Fdata",
        "/v1/%73tate",
        "/v1/state/report/a/b",
        "/v1/state/secrets/a/b",
        "/v1/actions/run/",
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
            let response = read(method, path);
            assert_eq!(response.headers.first("allow"), Some("GET, HEAD"));
        }
    }
}

#[test]
fn every_route_has_its_methods_and_tells_them() {
    let reads = [
        "actions",
        "audit/status",
        "hooks",
        "log-status",
        "peers",
        "policies",
        "state",
        "state/data",
        "state/data/k",
        "state/metadata",
        "state/metadata/k",
        "state/report",
        "state/secrets",
        "state/secrets/k",
        "status",
        "watch",
    ];
    let all = [READS.as_slice(), &WRITES].concat();
    let rows = reads.map(|path| (path, "GET, HEAD")).into_iter().chain([
        ("actions/run", "POST"),
        ("hooks/reload", "POST"),
        ("state/report/k", "DELETE, GET, HEAD, PUT"),
    ]);
    for (path, allow) in rows {
        for method in &all {
            let outcome = route(*method, &format!("/v1/{path}"));
            let expected = allow.split(", ").any(|name| name == method.name());
            assert_eq!(outcome.is_ok(), expected, "{method:?} {path}");
            assert!(expected || outcome == Err(Miss::Method { allow }), "{method:?} {path}");
        }
    }
}

#[test]
fn a_key_is_decoded_once_and_one_that_cannot_be_is_left_to_its_grammar() {
    let rows = [
        ("/v1/state/report/a%2Fb", Ask::Read(Read::Report("a/b".into()))),
        ("/v1/state/report/%zz", Ask::Read(Read::Report("%zz".into()))),
        ("/v1/state/report/a%252f", Ask::Read(Read::Report("a%2f".into()))),
        ("/v1/state/secrets/db%2Dpassword", Ask::Secret("db-password".into())),
        ("/v1/state/data/a/b%2Fc", Ask::Read(Read::DataEntry("a/b/c".into()))),
    ];
    for (path, ask) in rows {
        assert_eq!(route(Method::Get, path), Ok(ask), "{path}");
    }
}

#[test]
fn only_a_report_may_have_a_long_body() {
    assert_eq!(body_max(Method::Put, "/v1/state/report/a"), REPORT_BODY_MAX);
    let others = [
        (Method::Get, "/v1/state/report/a"),
        (Method::Put, "/v1/state/report/a/b"),
        (Method::Put, "/v1/state/data/a"),
        (Method::Post, "/v1/actions/run"),
    ];
    for (method, path) in others {
        assert_eq!(body_max(method, path), BODY_MAX, "{method:?} {path}");
    }
}

#[test]
fn health_is_ok_while_the_process_lives_and_ready_tells_the_first_unmet_condition() {
    let refused = Standing::Refused { since: start().mono, in_a_row: 1 };
    let rows = [
        (Readiness::of(false, Standing::Admitted), 503, "not ready: registration pending\n"),
        (Readiness::of(false, refused), 503, "not ready: registration pending\n"),
        (Readiness::of(true, refused), 503, "not ready: identity refused\n"),
        (Readiness::of(true, Standing::Admitted), 200, "ok\n"),
    ];
    for (readiness, status, body) in rows {
        for method in READS {
            let ready = probe(readiness, method, "/readyz");
            assert_eq!((ready.status, text(&ready).as_str()), (status, body));
            let health = probe(readiness, method, "/healthz");
            assert_eq!((health.status, text(&health).as_str()), (200, "ok\n"));
            assert_eq!(health.headers.first("content-type"), Some("text/plain; charset=utf-8"));
        }
    }
}

#[test]
fn the_health_listener_knows_two_routes_and_two_methods() {
    let ask = |method, path| probe(Readiness::Ready, method, path);
    for path in ["/", "/v1/state", "/v1/status", "/healthz/"] {
        assert_eq!(ask(Method::Get, path).status, 404, "{path}");
    }
    for method in WRITES {
        let response = ask(method, "/healthz");
        assert_eq!((response.status, response.headers.first("allow")), (405, Some("GET, HEAD")));
    }
}
