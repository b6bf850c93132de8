//! The local API and the health listener, route by route.

use meshward_core::{
    agent::{
        events::Trouble,
        hooks::Hooks,
        local::{
            Ask, Miss, REPORT_BODY_MAX, RUN_BODY_MAX, Read, Shelf, health, look_up, missed, route,
        },
        network::Network,
        readiness::Readiness,
        reports::Reports,
        secrets::Secrets,
        standing::Standing,
        view::View,
    },
    wire::{
        grammar::Name,
        http::{Body, Headers, Method, Request, Response},
        json::Raw,
        local::{ForwarderStatus, Status},
        pulled::Unread,
        snapshot::{Entries, Entry, Peer},
    },
};

use crate::bench::{actions, start};

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

fn network() -> Network {
    let peer = |id: &str, endpoint: &str| Peer {
        node_id: Name(id.into()),
        mesh_ip: "10.0.0.9".into(),
        public_key: Name("key".into()),
        fallback_endpoint: endpoint.into(),
    };
    let peers = vec![peer("n2", ""), peer("n1", "192.0.2.1:51820")];
    Network::default().pulled(peers, &Unread::default(), Raw::parse(POLICY))
}

/// With a member that this version does not know, and with its spaces.
const POLICY: &str =
    r#"{"revision_id": "r1", "fingerprint":"f","rules":[ {"action":"allow"} ],"new":1e0}"#;

fn read(method: Method, path: &str) -> Response {
    let view = view();
    let shelf = Shelf {
        view: &view,
        delivery_mode: None,
        network: &network(),
        secrets: &Secrets::default(),
        hooks: &Hooks::default(),
        builtins: &actions().builtins,
        reports: &Reports::default(),
        readiness: Readiness::Ready,
        status: Status::default(),
        logs: ForwarderStatus::default(),
        audit: ForwarderStatus::default(),
    };
    match route(method, path) {
        Ok(Ask::Read(read)) => look_up(&shelf, read),
        Ok(ask) => panic!("{method:?} {path} is no read: {ask:?}"),
        Err(miss) => missed(miss),
    }
}

fn probe(readiness: Readiness, method: Method, path: &str) -> Response {
    let headers = Headers::new();
    let request = Request { method, path: path.into(), query: None, headers, body: Body::EMPTY };
    health(readiness, &request).expect("an answer")
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
        ("/v1/state/secrets", "[]"),
        ("/v1/peers", PEERS),
        ("/v1/policies", POLICY),
        ("/v1/actions", ACTIONS),
        ("/v1/hooks", "[]"),
    ];
    for (path, body) in rows {
        for method in READS {
            assert_eq!(socket(method, path), (200, format!("{body}\n")), "{method:?} {path}");
        }
    }
    assert!(socket(Method::Get, "/v1/status").1.starts_with(r#"{"ready":false,"#));
}

const PEERS: &str = r#"[{"id":"n1","public_key":"key","mesh_ip":"10.0.0.9","endpoint":"192.0.2.1:51820"},{"id":"n2","public_key":"key","mesh_ip":"10.0.0.9","endpoint":""}]"#;

const ACTIONS: &str = concat!(
    r#"{"builtin_actions":[{"name":"diagnostics.collect","description":"Collects facts of this host, its network interfaces and its processes.","parameters":["#,
    r#"{"name":"include_network","type":"bool","required":false,"default":"true","description":"Whether to list the network interfaces."},"#,
    r#"{"name":"include_processes","type":"bool","required":false,"default":"true","description":"Whether to list the processes."}]}],"hooks":[]}"#,
);

#[test]
fn nothing_pulled_is_no_peer_and_an_empty_policy() {
    let nothing = Network::default();
    let shelf = Shelf {
        view: &View::default(),
        delivery_mode: None,
        network: &nothing,
        reports: &Reports::default(),
        secrets: &Secrets::default(),
        hooks: &Hooks::default(),
        builtins: &[],
        readiness: Readiness::RegistrationPending,
        status: Status::default(),
        logs: ForwarderStatus::default(),
        audit: ForwarderStatus::default(),
    };
    let bodies = [
        (Read::Peers, "[]\n"),
        (Read::Policies, "{}\n"),
        (Read::Actions, "{\"builtin_actions\":[],\"hooks\":[]}\n"),
    ];
    for (asked, body) in bodies {
        let response = look_up(&shelf, asked);
        assert_eq!((response.status, text(&response).as_str()), (200, body));
    }
}

#[test]
fn a_pipeline_that_is_off_tells_so() {
    let off = r#"{"enabled":false,"buffer_size":0,"source_count":0,"error_count":0}"#;
    let told = (200, format!("{off}\n"));
    assert_eq!(socket(Method::Get, "/v1/log-status"), told);
    assert_eq!(socket(Method::Get, "/v1/audit/status"), told);
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
fn only_the_write_of_a_report_that_can_be_and_an_order_have_a_body() {
    let longest = |method, path: &str| route(method, path).map(|ask| ask.body_max());
    assert_eq!(longest(Method::Put, "/v1/state/report/a"), Ok(REPORT_BODY_MAX));
    assert_eq!(longest(Method::Post, "/v1/actions/run"), Ok(RUN_BODY_MAX));
    let others = [
        (Method::Put, "/v1/state/report/..%2Fa"),
        (Method::Get, "/v1/state/report/a"),
        (Method::Delete, "/v1/state/report/a"),
        (Method::Get, "/v1/state/secrets/a"),
        (Method::Get, "/v1/watch"),
        (Method::Post, "/v1/hooks/reload"),
    ];
    for (method, path) in others {
        assert_eq!(longest(method, path), Ok(0), "{method:?} {path}");
    }
}

/// Of a node that is admitted.
fn of(registered: bool, events: Option<Trouble>, broken: bool) -> Readiness {
    Readiness::of(registered, Standing::Admitted, events, broken)
}

#[test]
fn health_is_ok_while_the_process_lives_and_ready_tells_the_first_unmet_condition() {
    let refused = Standing::Refused { since: start().mono, in_a_row: 1 };
    let events_refused = Some(Trouble::Refused);
    let rows = [
        (of(false, None, true), 503, "not ready: registration pending\n"),
        (
            Readiness::of(false, refused, events_refused, false),
            503,
            "not ready: registration pending\n",
        ),
        (Readiness::of(true, refused, events_refused, true), 503, "not ready: identity refused\n"),
        (of(true, events_refused, true), 503, "not ready: event delivery refused\n"),
        (of(true, Some(Trouble::Degraded), true), 503, "not ready: event delivery degraded\n"),
        (of(true, None, true), 503, "not ready: subsystem stopped\n"),
        (of(true, None, false), 200, "ok\n"),
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
fn readiness_is_told_in_json_where_that_is_asked_for() {
    let refused = Standing::Refused { since: start().mono, in_a_row: 1 };
    let registration = r#"{"part":"registration","ready":"#;
    let identity = r#"{"part":"identity","ready":"#;
    let events = r#"{"part":"events","ready":"#;
    let subsystems = r#"{"part":"subsystems","ready":"#;
    let rows = [
        (
            of(true, None, true),
            503,
            format!(
                r#"{{"ready":false,"reason":"not ready: subsystem stopped","parts":[{registration}true}},{identity}true}},{events}true}},{subsystems}false}}]}}"#
            ),
        ),
        (
            of(true, Some(Trouble::Degraded), true),
            503,
            format!(
                r#"{{"ready":false,"reason":"not ready: event delivery degraded","parts":[{registration}true}},{identity}true}},{events}false}}]}}"#
            ),
        ),
        (
            of(false, None, false),
            503,
            format!(
                r#"{{"ready":false,"reason":"not ready: registration pending","parts":[{registration}false}}]}}"#
            ),
        ),
        (
            Readiness::of(true, refused, None, false),
            503,
            format!(
                r#"{{"ready":false,"reason":"not ready: identity refused","parts":[{registration}true}},{identity}false}}]}}"#
            ),
        ),
        (
            of(true, None, false),
            200,
            format!(
                r#"{{"ready":true,"reason":"ok","parts":[{registration}true}},{identity}true}},{events}true}},{subsystems}true}}]}}"#
            ),
        ),
    ];
    let ask = |readiness, path: &str, accept| {
        let headers = Headers::new().with("accept", accept);
        let (path, body) = (path.to_owned(), Body::EMPTY);
        let request = Request { method: Method::Get, path, query: None, headers, body };
        health(readiness, &request).expect("an answer")
    };
    for (readiness, status, body) in rows {
        for accept in ["application/json", "text/html, Application/JSON;q=0.9"] {
            let response = ask(readiness, "/readyz", accept);
            assert_eq!((response.status, text(&response)), (status, format!("{body}\n")));
            assert_eq!(response.headers.first("content-type"), Some("application/json"));
        }
        for accept in ["*/*", "application/jsonl", "text/plain"] {
            let response = ask(readiness, "/readyz", accept);
            assert_eq!(response.headers.first("content-type"), Some("text/plain; charset=utf-8"));
        }
        assert_eq!(text(&ask(readiness, "/healthz", "application/json")), "ok\n");
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
