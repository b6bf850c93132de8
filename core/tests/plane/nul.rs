//! NUL in every identifier that a body or a path has, and in what may hold it.

use meshward_core::{
    plane::Listener,
    wire::http::{Body, Headers, Method, Request},
};
use serde_json::{Value, json};

use crate::desk::{Desk, bearer, node, request, text, verdict};

const DIGEST: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
const TIME: &str = "2026-01-15T10:30:00Z";
const EXECUTION: &str = "malformed_execution_callback";
const SESSION: &str = "malformed_session_activity";
const BATCH: &str = "ingest_batch_malformed";

/// A route, a sound body, and the members of it that the rule is about.
type Row = (Method, String, Value, &'static [&'static str]);

fn ask(desk: &mut Desk, (method, target, body): (Method, &str, &Value)) -> (u16, String) {
    let headers = Headers::new().with("authorization", &bearer()).with("X-Service-Sent-At", TIME);
    let body = Body::Whole(body.to_string().into());
    let answer = desk.send(Listener::Main, Request { headers, ..request(method, target, body) });
    match answer.status {
        200..300 => (answer.status, text(&answer)),
        _ => verdict(&answer),
    }
}

/// The body with NUL behind the text at a pointer.
fn spoilt(body: &Value, pointer: &str) -> Value {
    let mut body = body.clone();
    let member = body.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}"));
    *member = json!(format!("{}\0", member.as_str().expect("a text")));
    body
}

fn manifest() -> Value {
    json!({"binary_version": "1", "binary_checksum": DIGEST,
        "declared_hooks": [{"name": "backup", "checksum": DIGEST}]})
}

fn violations() -> Value {
    json!({"violations": [{"kind": "binary_checksum", "detected_by": "inotify", "artifact_id": "a",
        "observed_checksum": DIGEST}]})
}

fn sample() -> Value {
    json!([{"group": "agent_stats", "name": "cpu", "value": 1, "labels": {"a": "x"}, "timestamp": TIME}])
}

fn line() -> Value {
    json!({"severity": "info", "unit": "u", "hostname": "h", "message": "m", "timestamp": TIME})
}

fn audit() -> Value {
    json!({"source": "k8s", "action": "get", "outcome": "ok", "timestamp": TIME})
}

fn callback() -> Value {
    json!({"status": "ack", "error": "e", "output": {"inline": ""}})
}

fn row(kind: &str) -> Value {
    match kind {
        "ssh" => json!({"ssh": {"command": "c"}}),
        "k8s" => {
            json!({"k8s": {"verb": "get", "resource_kind": "pod", "namespace": "n", "name": "p"}})
        }
        _ => json!({"tcp": {"phase": "session_started", "target_host": "h",
            "listener_endpoint": "127.0.0.1:1"}}),
    }
}

fn snapshot() -> Value {
    json!({
        "peers": [{"node_id": "n", "mesh_ip": "10.0.0.1", "public_key": "k"}],
        "policy": {"revision_id": "r", "fingerprint": "f", "rules": []},
        "bridge": {
            "relay": {"sessions": [{"session_id": "s", "peer_a_id": "a", "peer_b_id": "b"}]},
            "user_access": {"interface_name": "wg0",
                "peers": [{"public_key": "k", "allowed_ips": ["10.0.0.0/8"], "label": "l"}]},
            "ingress": {"rules": [{"rule_id": "r", "target_addr": "10.0.0.1:1"}]},
            "site_to_site": {"tunnels": [{"tunnel_id": "t", "remote_public_key": "k", "interface_name": "wg1"}]},
        },
        "state": {"data": [{"key": "k", "value": "v", "workload_tag": "w"}]},
        "executions": [{"execution_id": "e", "action": "a", "parameters": {"a": "x"}}],
        "sessions": [
            {"session_id": "s", "jti": "s", "target": {"ssh": {"user": "u", "allowed_commands": ["c"]}}},
            {"session_id": "t", "target": {"k8s": {"user": "u", "impersonate_groups": ["g"]}}},
            {"session_id": "v", "target": {"tcp": {"host": "h", "port": 1}}},
        ],
    })
}

const OF_A_SNAPSHOT: [&str; 26] = [
    "/peers/0/node_id",
    "/peers/0/public_key",
    "/policy/revision_id",
    "/policy/fingerprint",
    "/bridge/relay/sessions/0/session_id",
    "/bridge/relay/sessions/0/peer_a_id",
    "/bridge/relay/sessions/0/peer_b_id",
    "/bridge/user_access/interface_name",
    "/bridge/user_access/peers/0/public_key",
    "/bridge/user_access/peers/0/label",
    "/bridge/ingress/rules/0/rule_id",
    "/bridge/site_to_site/tunnels/0/tunnel_id",
    "/bridge/site_to_site/tunnels/0/remote_public_key",
    "/bridge/site_to_site/tunnels/0/interface_name",
    "/state/data/0/key",
    "/state/data/0/workload_tag",
    "/executions/0/execution_id",
    "/executions/0/action",
    "/sessions/0/session_id",
    "/sessions/0/jti",
    "/sessions/0/target/ssh/user",
    "/sessions/1/session_id",
    "/sessions/1/target/k8s/user",
    "/sessions/1/target/k8s/impersonate_groups/0",
    "/sessions/2/session_id",
    "/sessions/2/target/tcp/host",
];

fn sound() -> Vec<(Row, &'static str)> {
    let (put, post) = (Method::Put, Method::Post);
    let activity = |kind, members: &'static [&'static str]| {
        ((post, node("sessions/s"), row(kind), members), SESSION)
    };
    let event = json!({"id": "e", "type": "t", "scope": "s", "payload": "p"});
    vec![
        (
            (put, node("capabilities"), manifest(), &["/declared_hooks/0/name"]),
            "malformed_capabilities_request",
        ),
        (
            (post, node("integrity-violations"), violations(), &["/violations/0/artifact_id"]),
            "malformed_integrity_violations_request",
        ),
        ((post, node("metrics"), sample(), &["/0/name"]), BATCH),
        ((post, node("logs"), line(), &["/unit", "/hostname"]), BATCH),
        ((post, node("audit"), audit(), &["/action"]), BATCH),
        activity("k8s", &["/k8s/verb", "/k8s/resource_kind", "/k8s/namespace", "/k8s/name"]),
        activity("tcp", &["/tcp/target_host"]),
        (
            (
                put,
                node("state/reports/r"),
                json!({"value": "v", "workload_tag": "w"}),
                &["/workload_tag"],
            ),
            "invalid_report",
        ),
        ((post, "/test/inject-event".into(), event, &["/id", "/type"]), ""),
        ((post, "/test/configure-state".into(), snapshot(), &OF_A_SNAPSHOT), ""),
    ]
}

/// A desk with a session that takes rows.
fn desk() -> Desk {
    let mut desk = Desk::open();
    let live = json!({"sessions": [{"session_id": "s", "expires_at": "2099-01-01T00:00:00Z"}]});
    assert_eq!(ask(&mut desk, (Method::Post, "/test/configure-state", &live)).0, 204);
    desk
}

#[test]
fn nul_in_an_identifier_of_a_body_earns_the_malformed_code_of_its_route() {
    let mut desk = desk();
    for ((method, target, body, members), code) in sound() {
        for member in members {
            let answer = ask(&mut desk, (method, &target, &spoilt(&body, member)));
            assert_eq!(answer, (400, code.to_owned()), "{target}: {member}");
        }
        let answer = ask(&mut desk, (method, &target, &body));
        assert!((200..300).contains(&answer.0), "{target}: {answer:?}");
    }
    let named = json!([{"group": "agent_stats", "name": "cpu", "value": 1, "labels": {"a\0": "x"}, "timestamp": TIME}]);
    assert_eq!(ask(&mut desk, (Method::Post, &node("metrics"), &named)), (400, BATCH.into()));
    let keyed = json!({"status": "ack", "output": {"object_key": "exec-output/e\0"}});
    let answer = ask(&mut desk, (Method::Post, &node("executions/e"), &keyed));
    assert_eq!(answer, (400, EXECUTION.into()));
    let register = json!({"project_id": "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a0", "nonce": "n", "resource_handle": "h",
        "bootstrap_token": "t", "requested_resource_id": "r"});
    for member in ["/nonce", "/resource_handle", "/requested_resource_id", "/project_id"] {
        let answer = ask(&mut desk, (Method::Post, "/v1/register", &spoilt(&register, member)));
        assert_eq!(answer, (422, String::new()), "{member}");
    }
}

#[test]
fn nul_in_an_identifier_of_a_path_is_refused() {
    let mut desk = desk();
    let (put, post, empty) = (Method::Put, Method::Post, Value::Null);
    for (method, target, body, status, code) in [
        (post, node("executions/e%00"), callback(), 400, EXECUTION),
        (post, node("sessions/s%00"), row("ssh"), 400, SESSION),
        (post, "/v1/nodes/n%00/executions/e".into(), callback(), 403, "nsk_node_mismatch"),
        (post, "/v1/nodes/n%00/sessions/s".into(), row("ssh"), 403, "nsk_node_mismatch"),
        (put, node("state/reports/r%00"), json!({"value": "v"}), 400, "invalid_report"),
        (Method::Delete, node("state/reports/r%00"), empty.clone(), 400, "invalid_report"),
        (Method::Get, node("secrets/s%00"), empty.clone(), 404, "secret_not_found"),
        (put, "/exec-output/e%00?token=t".into(), empty.clone(), 404, ""),
        (Method::Get, "/test/exec-output/e%00".into(), empty.clone(), 404, ""),
        (Method::Get, "/test/last-request/register%00".into(), empty, 404, ""),
    ] {
        let answer = ask(&mut desk, (method, &target, &body));
        assert_eq!(answer, (status, code.to_owned()), "{target}");
    }
}

#[test]
fn values_messages_and_free_text_may_hold_nul() {
    let mut desk = desk();
    let (put, post) = (Method::Put, Method::Post);
    let event = json!({"id": "e", "type": "t", "scope": "s", "payload": "p"});
    let rows: [Row; 10] = [
        (put, node("capabilities"), manifest(), &["/binary_version"]),
        (post, node("metrics"), sample(), &["/0/labels/a"]),
        (post, node("logs"), line(), &["/message"]),
        (post, node("audit"), audit(), &["/outcome"]),
        (post, node("executions/e"), callback(), &["/error"]),
        (post, node("sessions/s"), row("ssh"), &["/ssh/command"]),
        (post, node("sessions/s"), row("tcp"), &["/tcp/listener_endpoint"]),
        (put, node("state/reports/r"), json!({"value": "v"}), &["/value"]),
        (post, "/test/inject-event".into(), event, &["/scope", "/payload"]),
        (
            post,
            "/test/configure-state".into(),
            snapshot(),
            &[
                "/peers/0/mesh_ip",
                "/bridge/ingress/rules/0/target_addr",
                "/state/data/0/value",
                "/executions/0/parameters/a",
                "/sessions/0/target/ssh/allowed_commands/0",
            ],
        ),
    ];
    for (method, target, body, members) in rows {
        for member in members {
            let answer = ask(&mut desk, (method, &target, &spoilt(&body, member)));
            assert!((200..300).contains(&answer.0), "{target}: {member}: {answer:?}");
        }
    }
}
