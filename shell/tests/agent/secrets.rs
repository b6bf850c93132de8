//! Secrets of a running agent: fetched from the fixture, opened, answered, and nowhere else to be found.

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
