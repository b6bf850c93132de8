//! Executions that do not go the straight way: a stop or a crash in the middle of a run, a changed hook, entries that are
//! refused, and a pull with an entry that is none.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    hooks::{folder, order, outcome, put, scene},
    node::{Node, Plane, get, later, post, until},
};

/// Prints, lets it be seen that it has, then waits for its end.
const WAITS: &str = "#!/bin/sh\nprintf said\necho begun > ../begun\nexec tail -f /dev/null\n";

fn status(plane: &Plane, id: &str) -> Value {
    get(plane, "/test/executions")[id].clone()
}

async fn begun(node: &Node) {
    until("the hook has begun", || node.path("begun").exists()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_cancels_what_runs_and_reports_it_with_what_it_said() {
    let Some((plane, node)) = scene().await else { return };
    folder(&node);
    put(&node, "waits", WAITS);
    let agent = node.start();
    order(&plane, "stopped", "waits", &json!({}));
    begun(&node).await;
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    assert_eq!(status(&plane, "stopped"), "cancelled");
    let callback = get(&plane, "/test/last-request/execution_callback");
    assert_eq!(callback["output"]["inline"], "c2FpZA==", "{callback}");
    assert_eq!(callback.get("error"), None, "{callback}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_crash_has_ended_is_reported_lost_and_not_run_again() {
    let Some((plane, node)) = scene().await else { return };
    folder(&node);
    put(&node, "waits", WAITS);
    let agent = node.start();
    order(&plane, "lost", "waits", &json!({}));
    begun(&node).await;
    agent.kill();
    std::fs::remove_file(node.path("begun")).unwrap();
    let _second = node.start();
    let callback = outcome(&plane, "lost").await;
    assert_eq!(callback["status"], "failed");
    assert_eq!(callback["error"], "execution lost to an agent restart");
    assert!(!node.path("begun").exists(), "it ran a second time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_hook_that_was_changed_does_not_run_until_its_first_content_is_back() {
    let Some((plane, node)) = scene().await else { return };
    folder(&node);
    put(&node, "pinned", "#!/bin/sh\necho first\n");
    let _agent = node.start();
    order(&plane, "first", "pinned", &json!({}));
    assert_eq!(outcome(&plane, "first").await["status"], "succeeded");
    put(&node, "pinned", "#!/bin/sh\necho second\n");
    order(&plane, "second", "pinned", &json!({}));
    let callback = outcome(&plane, "second").await;
    assert_eq!(callback["status"], "failed");
    assert_eq!(callback["error"], "integrity check failed for hook: pinned");
    put(&node, "pinned", "#!/bin/sh\necho first\n");
    order(&plane, "third", "pinned", &json!({}));
    assert_eq!(outcome(&plane, "third").await["status"], "succeeded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_entry_of_a_pull_has_what_it_earns_whatever_stands_beside_it() {
    let Some((plane, node)) = scene().await else { return };
    folder(&node);
    put(&node, "works", "#!/bin/sh\nexit 3\n");
    let entry = |id: &str, action: &str, kind: &str| {
        json!({
            "execution_id": id, "action": action, "type": kind, "status": "pending", "parameters": {},
            "requested_at": later(Duration::ZERO), "expires_at": later(Duration::from_secs(600)),
        })
    };
    let executions = [
        entry("unknown", "no.such", "builtin"),
        entry("undiscovered", "no-such", "hook"),
        entry("odd", "works", "script"),
        entry("misplaced", "works", "builtin"),
        entry("works", "works", "hook"),
    ];
    post(&plane, "/test/configure-state", &json!({ "executions": executions }));
    let _agent = node.start();
    let ends = |id: &str| status(&plane, id) == "failed";
    let ids = ["unknown", "undiscovered", "odd", "misplaced", "works"];
    until("all have ended", || ids.iter().all(|id| ends(id))).await;
    let mut told = std::collections::BTreeMap::new();
    for request in get(&plane, "/test/requests")["requests"].as_array().unwrap() {
        let body = request["body"].as_str().unwrap_or_default();
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        if body["status"] == "failed" {
            let path = request["path"].as_str().unwrap().to_owned();
            let id = path.rsplit('/').next().unwrap().to_owned();
            told.insert(id, (body["error"].clone(), body["exit_code"].clone()));
        }
    }
    let refused = |error: &str| (json!(error), Value::Null);
    let expected = [
        ("misplaced", refused("unknown_action")),
        ("odd", refused("unsupported_action_type")),
        ("undiscovered", refused("unknown_action")),
        ("unknown", refused("unknown_action")),
        ("works", (Value::Null, json!(3))),
    ];
    assert_eq!(told, expected.map(|(id, told)| (id.to_owned(), told)).into());
}
