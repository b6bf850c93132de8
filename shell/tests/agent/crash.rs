//! `kill -9` at any moment: the identity is reused, nothing is registered or run twice, a rotation completes.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;

use crate::node::{Node, TOKEN, counter, fixture, get, later, post, until};

/// How often the agent is killed.
const KILLS: u64 = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_agent_that_is_killed_again_and_again_registers_once_and_goes_on() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let first = node.start();
    until("it is registered", || node.data("identity.json").exists()).await;
    first.kill();
    post(&plane, "/test/configure-heartbeat", &json!({"reconcile": true, "rotate_keys": true}));
    let mut executions = Vec::new();
    for round in 0..KILLS {
        executions.push(json!({
            "execution_id": format!("run-{round}"), "action": "diagnostics.collect", "type": "builtin",
            "status": "pending", "parameters": {"include_processes": false, "include_network": false},
            "requested_at": later(Duration::ZERO), "expires_at": later(Duration::from_secs(3600)),
        }));
        post(&plane, "/test/configure-state", &json!({ "executions": executions }));
        let agent = node.start();
        // Each round lets it live a little longer, from before its first call to behind its last.
        let alive =
            tokio::time::timeout(Duration::from_millis(8 * round), std::future::pending::<()>())
                .await;
        assert!(alive.is_err());
        agent.kill();
    }
    let _last = node.start();
    // On a busy machine none of them may have lived long enough for it.
    until("a key is rotated", || counter(&plane, "key_rotate_count") > 0).await;
    post(&plane, "/test/configure-heartbeat", &json!({"reconcile": true, "rotate_keys": false}));
    until("every execution has ended", || {
        let statuses: BTreeMap<String, String> =
            serde_json::from_value(get(&plane, "/test/executions")).unwrap();
        statuses.len() as u64 == KILLS
            && statuses.values().all(|status| status == "succeeded" || status == "failed")
    })
    .await;
    until("no key is staged", || !node.data("rotation_pending_key").exists()).await;
    assert_eq!(counter(&plane, "registration_count"), 1);
    let receipt = node.identity()["last_rotation"]["wrap_key_version"].as_u64().unwrap();
    assert_eq!(receipt, counter(&plane, "key_rotate_count"), "the receipt kept is the newest one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_rotation_that_was_cut_off_goes_on_with_the_staged_key() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    assert!(node.run(&["register"]).status.success());
    // As a crash between the request and its answer leaves it: a staged key, and an armed control plane.
    let staged = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
    std::fs::write(node.data("rotation_pending_key"), staged).unwrap();
    post(&plane, "/test/configure-heartbeat", &json!({"reconcile": true, "rotate_keys": true}));
    post(&plane, "/test/configure-heartbeat", &json!({"reconcile": true, "rotate_keys": false}));
    let _agent = node.start();
    until("the staged key is in force", || {
        !node.data("rotation_pending_key").exists()
            && std::fs::read_to_string(node.data("private_key")).unwrap().trim() == staged
    })
    .await;
    assert_eq!(counter(&plane, "key_rotate_count"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_corrupt_identity_is_moved_aside_and_the_node_registers_afresh() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    assert!(node.run(&["register"]).status.success());
    std::fs::write(node.data("identity.json"), "{\"node_id\":\"cut of").unwrap();
    std::fs::write(node.path("token"), "psb_dev_test_node_bbbbbbbbbbbbbbbbbbbb").unwrap();
    let again = node.run(&["register"]);
    assert_eq!(again.status.code(), Some(0));
    let told = crate::node::text(&again.stderr);
    assert!(told.contains("corrupt") && told.contains("identity.json"), "{told}");
    let aside = std::fs::read_dir(node.path("data")).unwrap().flatten();
    let aside: Vec<_> =
        aside.filter(|entry| entry.file_name().to_string_lossy().starts_with("corrupt-")).collect();
    assert_eq!(aside.len(), 1);
    let kept = std::fs::read_to_string(aside[0].path().join("identity.json")).unwrap();
    assert_eq!(kept, "{\"node_id\":\"cut of");
    assert!(aside[0].path().join("private_key").exists(), "nothing is lost");
    assert_eq!(counter(&plane, "registration_count"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_token_file_that_a_crash_left_behind_goes_with_the_next_start_and_a_new_token_stays() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    assert!(node.run(&["register"]).status.success());
    assert!(!node.path("token").exists());
    std::fs::write(node.path("token"), "psb_dev_test_node_bbbbbbbbbbbbbbbbbbbb").unwrap();
    assert!(node.run(&["register"]).status.success());
    assert!(node.path("token").exists(), "another token is not spent");
    std::fs::write(node.path("token"), format!("{TOKEN}\n")).unwrap();
    assert!(node.run(&["register"]).status.success());
    assert!(!node.path("token").exists());
    assert_eq!(counter(&plane, "registration_count"), 1);
}
