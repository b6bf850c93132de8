//! Secrets of a running agent: fetched from the fixture, opened, answered, and nowhere else to be found.

use std::os::unix::fs::PermissionsExt as _;

use meshward_core::plane::site;
use meshward_fixture::Running;
use serde_json::{Value, json};

use crate::{
    local::ask,
    node::{Agent, Node, counter, fixture, post, until},
};

async fn ready(plane: &Running) -> (Node, Agent) {
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let agent = node.start();
    until("the node is ready", || node.run(&["status"]).status.success()).await;
    (node, agent)
}

fn secret(node: &Node, target: &str) -> (String, Value) {
    let answer = ask(node, &format!("/v1/state/secrets/{target}"));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("cache-control: no-store"), "{head}");
    (head.to_owned(), serde_json::from_str(body).unwrap())
}

/// Asks and tells the status and the body.
fn outcome(node: &Node, target: &str) -> (String, Value) {
    let (head, body) = secret(node, target);
    (head.split(' ').nth(1).unwrap().to_owned(), body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_secret_is_fetched_upstream_for_each_read_and_leaves_no_trace() {
    let plane = fixture().await;
    let (node, agent) = ready(&plane).await;
    post(&plane, "/test/configure-secrets", &json!({"current_version": 3}));
    let current = json!({"key": "db-password", "value": site::LOCAL_BEARER, "version": 3});
    for read in 1..=2 {
        assert_eq!(outcome(&node, "db-password"), ("200".into(), current.clone()));
        assert_eq!(counter(&plane, "secrets_count"), read);
    }
    let older = json!({"key": "db-password", "value": site::LOCAL_BEARER, "version": 2});
    assert_eq!(outcome(&node, "db-password?version=2"), ("200".into(), older));
    let missing = json!({"error": "not found"});
    assert_eq!(outcome(&node, "db-password?version=4"), ("404".into(), missing));
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    let log = node.log();
    assert!(log.contains("secret db-password in version 3, sealed under"), "{log}");
    assert!(!log.contains(site::LOCAL_BEARER), "the value is in the log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_rate_limit_is_passed_on_with_its_wait() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane).await;
    let limit = json!({"rate_limit_next": 1, "retry_after_seconds": 7});
    post(&plane, "/test/configure-secrets", &limit);
    let (head, body) = secret(&node, "db");
    assert!(head.starts_with("HTTP/1.1 429 ") && head.contains("\r\nretry-after: 7"), "{head}");
    assert_eq!(body, json!({"error": "rate limited"}));
    assert_eq!(outcome(&node, "db").0, "200");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_bad_control_plane_answers_has_one_outcome_each() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane).await;
    let unavailable = ("503", "control plane unavailable");
    let rows = [
        (json!({"status": 403, "code": "permission_denied"}), ("403", "forbidden")),
        (json!({"status": 404, "code": "secret_not_found"}), ("404", "not found")),
        (json!({"status": 404}), unavailable),
        (json!({"status": 401, "code": "unauthorized"}), unavailable),
        (json!({"status": 501, "code": "secrets_not_provisioned"}), unavailable),
        (json!({"status": 503, "code": "secretbackend_unavailable"}), unavailable),
        (json!({"drop": true}), unavailable),
        (json!({"truncate_after": 20}), unavailable),
    ];
    for (fault, (status, error)) in rows {
        let mut rule = json!({"path": "/v1/nodes/*/secrets/*", "times": 1});
        rule.as_object_mut().unwrap().extend(fault.as_object().unwrap().clone());
        post(&plane, "/test/faults", &rule);
        assert_eq!(outcome(&node, "db"), (status.into(), json!({"error": error})), "{fault}");
    }
    assert_eq!(outcome(&node, "db").0, "200", "the identity is still admitted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn with_the_gate_closed_root_reads_secrets_and_a_stranger_does_not() {
    let plane = fixture().await;
    let node = Node::new(
        &plane.url(),
        "[health]\nenabled = false\n[local_api]\nsecret_auth_enabled = true\n",
    );
    let _agent = node.start();
    until("the node is ready", || node.run(&["status"]).status.success()).await;
    let own = outcome(&node, "db");
    if !rustix::process::geteuid().is_root() {
        // A stranger cannot be played, but is one.
        let error = json!({"error": "forbidden: insufficient privileges for secret access"});
        return assert_eq!(own, ("403".into(), error));
    }
    assert_eq!(own.0, "200");
    for (path, mode) in [(node.path("."), 0o755), (node.path("run/api.sock"), 0o666)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    for (path, status) in [("secrets", "403"), ("secrets/db", "403"), ("metadata", "200")] {
        let output = std::process::Command::new("setpriv")
            .args(["--reuid", "1234", "--regid", "1234", "--clear-groups", "curl", "--silent"])
            .args(["--write-out", "%{http_code}", "--unix-socket"])
            .arg(node.path("run/api.sock"))
            .arg(format!("http://node/v1/state/{path}"))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.ends_with(status), "{path}: {told}");
    }
}
