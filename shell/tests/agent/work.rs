//! What an agent does when nothing goes wrong.

use std::time::Duration;

use serde_json::json;

use crate::node::{Node, counter, fixture, get, later, mode, post, text, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_agent_registers_once_beats_pulls_runs_and_rotates() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    post(
        &plane,
        "/test/configure-state",
        &json!({"executions": [{
            "execution_id": "run-1", "action": "diagnostics.collect", "type": "builtin", "status": "pending",
            "parameters": {"include_processes": false, "include_network": "false"},
            "requested_at": later(Duration::ZERO), "expires_at": later(Duration::from_secs(600)),
        }]}),
    );
    let agent = node.start();
    until("the execution succeeds", || get(&plane, "/test/executions")["run-1"] == "succeeded")
        .await;
    post(&plane, "/test/configure-heartbeat", &json!({"reconcile": true, "rotate_keys": true}));
    until("a key is rotated and kept", || {
        counter(&plane, "key_rotate_count") == 1
            && node.identity()["last_rotation"]["rotation_id"] == "e2e-rotation-0001"
    })
    .await;
    let told = "the mesh key is rotated (rotation id e2e-rotation-0001)";
    until("it is told by its id", || node.log().contains(told)).await;
    assert_eq!(counter(&plane, "registration_count"), 1);
    assert_eq!(counter(&plane, "execution_callback_count"), 3);
    assert_eq!(counter(&plane, "unauthorized_count"), 0);
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    assert!(!node.path("run/api.sock").exists(), "the socket is removed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_callback_holds_the_facts_of_this_host_and_parameters_leave_parts_empty() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    post(
        &plane,
        "/test/configure-state",
        &json!({"executions": [{
            "execution_id": "a b/c", "action": "diagnostics.collect", "type": "builtin", "status": "ack",
            "parameters": {"include_processes": false},
            "requested_at": later(Duration::ZERO), "expires_at": later(Duration::from_secs(600)),
        }]}),
    );
    let _agent = node.start();
    // An id that holds a slash is one segment that the fixture does not route: the claim is refused as unknown.
    until("the pull is answered", || counter(&plane, "state_count") > 1).await;
    post(
        &plane,
        "/test/configure-state",
        &json!({"executions": [{
            "execution_id": "with space", "action": "diagnostics.collect", "type": "builtin", "status": "ack",
            "parameters": {"include_processes": false},
            "requested_at": later(Duration::ZERO), "expires_at": later(Duration::from_secs(600)),
        }]}),
    );
    until("the execution succeeds", || {
        get(&plane, "/test/executions")["with space"] == "succeeded"
    })
    .await;
    let callback = get(&plane, "/test/last-request/execution_callback");
    assert_eq!(callback["exit_code"], 0);
    let inline = callback["output"]["inline"].as_str().unwrap();
    let output = meshward_core::wire::grammar::base64_bytes(inline).unwrap();
    let facts: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(facts["processes"], "");
    assert_eq!(facts["os"], "linux");
    assert!(facts["memory_total"].as_u64().unwrap() > 1 << 20, "{facts}");
    assert!(facts["disk_total"].as_u64().unwrap() > 1 << 20, "{facts}");
    assert!(facts["network_interfaces"].as_str().unwrap().contains("lo"), "{facts}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn identity_files_are_for_the_agent_alone_and_the_token_file_is_gone() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "");
    let registered = node.run(&["register"]);
    assert_eq!(registered.status.code(), Some(0), "{}", text(&registered.stderr));
    let lines = text(&registered.stdout);
    assert_eq!(lines, "node_id: 0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3\nmesh_ip: 10.99.0.1\n");
    assert_eq!(mode(&node.path("data")), 0o700);
    for name in ["identity.json", "private_key", "node_secret_key", "signing_public_key"] {
        assert_eq!(mode(&node.data(name)), 0o600, "{name}");
    }
    assert!(!node.path("token").exists(), "the token is spent");
    let again = node.run(&["--output", "json", "register"]);
    let expected =
        json!({"node_id": "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3", "mesh_ip": "10.99.0.1"});
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&again.stdout).unwrap(), expected);
    assert_eq!(counter(&plane, "registration_count"), 1, "the identity is reused");
}
