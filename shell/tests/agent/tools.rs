//! The actions that ask a peer, with the real tools of this host: `ping` and `traceroute`.

use std::{process::Stdio, time::Duration};

use serde_json::{Value, json};

use crate::node::{Agent, Node, fixture, get, later, post, text, until};

fn run(node: &Node, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = node.run(&[&["--output", "json", "actions", "run"], arguments].concat());
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

/// An agent that needs no control plane for what is asked here.
async fn alone() -> (Node, Agent) {
    let node = Node::new("http://127.0.0.1:9", "[health]\nenabled = false\n");
    let agent = node.start();
    until("it answers", || node.run(&["actions", "list"]).status.success()).await;
    (node, agent)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn this_host_is_pinged_as_often_as_is_wanted_and_its_route_is_traced() {
    let (node, _agent) = alone().await;
    for (count, sent) in [("2", 2), ("many", 1)] {
        let count = format!("count={count}");
        let peer = ["diagnostics.ping_peer", "--param", "peer_id=127.0.0.1", "--param", &count];
        let (code, result) = run(&node, &peer);
        assert_eq!((code, &result["status"]), (Some(0), &json!("success")), "{result}");
        let said = result["stdout"].as_str().unwrap();
        assert!(said.contains(&format!("{sent} packets transmitted, {sent} received")), "{said}");
    }
    let peer =
        ["diagnostics.traceroute_peer", "--param", "peer_id=127.0.0.1", "--param", "max_hops=2"];
    let (code, result) = run(&node, &peer);
    assert_eq!((code, &result["exit_code"]), (Some(0), &json!(0)), "{result}");
    let said = result["stdout"].as_str().unwrap();
    assert!(said.starts_with("traceroute to 127.0.0.1") && said.contains("2 hops max"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_peer_that_is_not_reached_is_a_failure_with_all_that_the_tool_said() {
    let (node, _agent) = alone().await;
    // A multicast address of this host alone, which nobody answers, or which the tool refuses.
    let (code, result) = run(&node, &["diagnostics.ping_peer", "--param", "peer_id=224.0.0.254"]);
    assert_eq!((code, &result["status"]), (Some(1), &json!("failed")), "{result}");
    assert_eq!((&result["exit_code"], &result["stdout"]), (&json!(1), &json!("")), "{result}");
    assert_ne!(result["stderr"], "", "{result}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_whose_client_is_ended_is_ended_with_its_tool() {
    let (node, _agent) = alone().await;
    let peer = [
        "actions",
        "run",
        "diagnostics.ping_peer",
        "--param",
        "peer_id=127.0.0.9",
        "--param",
        "count=10",
    ];
    let mut client = node.command(&peer).stdout(Stdio::null()).spawn().unwrap();
    let runs = || text(&node.run(&["status"]).stdout);
    until("it is counted", || runs().contains("local runs:     1 active")).await;
    until("the tool runs", || pings() > 0).await;
    client.kill().unwrap();
    client.wait().unwrap();
    until("it is told", || node.log().contains("\"diagnostics.ping_peer\" is cancelled: user "))
        .await;
    until("it has ended", || runs().contains("local runs:     0 active")).await;
    until("the tool has ended", || pings() == 0).await;
}

/// How many processes ping the address that only one test pings.
fn pings() -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.ends_with(b"ping\0-n\0-c\x0010\0-W\x003\0--\x00127.0.0.9\0")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_peer_is_pinged_for_the_control_plane() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    post(
        &plane,
        "/test/configure-state",
        &json!({"executions": [{
            "execution_id": "run-1", "action": "diagnostics.ping_peer", "type": "builtin", "status": "pending",
            "parameters": {"peer_id": "127.0.0.1", "count": 2},
            "requested_at": later(Duration::ZERO), "expires_at": later(Duration::from_secs(600)),
        }]}),
    );
    let _agent = node.start();
    until("the execution ends", || {
        ["succeeded", "failed"]
            .contains(&get(&plane, "/test/executions")["run-1"].as_str().unwrap_or_default())
    })
    .await;
    let callback = get(&plane, "/test/last-request/execution_callback");
    assert_eq!(
        (&callback["status"], &callback["exit_code"]),
        (&json!("succeeded"), &json!(0)),
        "{callback}"
    );
}
