//! The built-in actions of a running agent: ordered on the command line, by HTTP, and by the control plane.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    time::Duration,
};

use meshward_core::{
    agent::builtins::ALL,
    wire::{grammar::base64_bytes, timestamp::Timestamp},
};
use meshward_fixture::Running;
use serde_json::{Value, json};

use crate::node::{Agent, Node, counter, fixture, get, later, post, text, until};

const SECRET: &str = "psb_dev_test_node_maskedmaskedmaskedmasked";

async fn ready(plane: &Running, level: &str) -> (Node, Agent) {
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n[log]\nformat = \"json\"\n");
    node.amend("[heartbeat]", &format!("token_value = {SECRET:?}\n[heartbeat]"));
    let log = fs::File::create(node.path("log")).unwrap();
    let mut command = node.command(&["--log-level", level, "run"]);
    let agent = Agent::of(command.stderr(log).spawn().unwrap());
    until("the state is pulled", || {
        counter(plane, "state_count") > 0
            && counter(plane, "heartbeat_count") > 0
            && node.run(&["state", "metadata", "region"]).status.success()
    })
    .await;
    (node, agent)
}

/// Runs an action from the command line; its exit code and the agent's answer.
fn run(node: &Node, arguments: &[&str]) -> (Option<i32>, Value) {
    let all = [&["--output", "json", "actions", "run"], arguments].concat();
    let output = node.run(&all);
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

/// What an action printed that succeeded.
fn printed(node: &Node, arguments: &[&str]) -> String {
    let (code, result) = run(node, arguments);
    assert_eq!((code, &result["status"]), (Some(0), &json!("success")), "{result}");
    assert_eq!((&result["exit_code"], &result["stderr"]), (&json!(0), &json!("")), "{result}");
    result["stdout"].as_str().unwrap().to_owned()
}

fn facts(node: &Node, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(node, arguments)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn actions_are_listed_and_tell_what_the_agent_is() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane, "info").await;
    let listed = node.run(&["actions", "list"]);
    let table = text(&listed.stdout);
    let names: Vec<_> = table.lines().skip(1).map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(names, ALL.map(Some));
    assert!(table.starts_with("TYPE     NAME  "), "{table}");

    let system = facts(&node, &["system.info"]);
    let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let told = json!({
        "hostname": hostname.trim(), "os": "linux", "arch": std::env::consts::ARCH,
        "version": env!("CARGO_PKG_VERSION"), "mesh_ip": "10.99.0.1",
        "peer_count": meshward_core::plane::site::PEERS.len(), "node_id": node.identity()["node_id"],
    });
    assert_eq!(system, told);

    let health = facts(&node, &["health.check", "--param", "include_peers=true"]);
    assert_eq!((&health["status"], &health["reason"]), (&json!("healthy"), &json!("ok")));
    for time in ["last_heartbeat", "last_reconcile"] {
        assert!(Timestamp::parse(health[time].as_str().unwrap()).is_ok(), "{health}");
    }
    assert!(health["uptime"].as_u64().is_some());
    assert_eq!(
        health["peers"],
        serde_json::from_slice::<Value>(&node.run(&["--output", "json", "peers"]).stdout).unwrap()
    );
    assert_eq!(facts(&node, &["health.check"])["peers"], json!([]));

    let collected = ["diagnostics.collect", "--param", "include_processes=false"];
    assert_eq!(facts(&node, &collected)["processes"], "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_configuration_is_dumped_so_that_it_can_be_read_again_and_holds_no_secret() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane, "info").await;
    let dumped = printed(&node, &["config.dump"]);
    assert!(dumped.contains("token_value = \"********\"\n"), "{dumped}");
    assert!(!dumped.contains(SECRET));
    let shown = || {
        let output = node.run(&["--output", "json", "config", "show"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let mut shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        without_origins(&mut shown);
        shown
    };
    let before = shown();
    fs::write(node.path("config.toml"), &dumped).unwrap();
    assert_eq!(shown(), before);
}

fn without_origins(value: &mut Value) {
    if let Value::Object(members) = value {
        members.remove("origin");
        members.values_mut().for_each(without_origins);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_log_is_told_from_memory_in_the_form_for_people_at_its_level_and_says_who_ordered_what()
{
    let plane = fixture().await;
    let (node, _agent) = ready(&plane, "info").await;
    let asked = ["logs.snapshot", "--param", "lines=10000", "--param", "password=hunter2"];
    printed(&node, &asked);
    let lines = printed(&node, &["logs.snapshot", "--param", "lines=10000"]);
    let uid = rustix::process::geteuid().as_raw();
    let order = format!(
        "INFO \"logs.snapshot\", ordered locally by user {uid}, runs for a local program, with the parameters \"lines\", \"password\""
    );
    assert!(lines.lines().any(|line| line.ends_with(&order)), "{lines}");
    let end = format!(
        "INFO \"logs.snapshot\", ordered locally by user {uid}, ended: success, exit code 0"
    );
    assert!(lines.lines().any(|line| line.ends_with(&end)), "{lines}");
    assert!(lines.contains("INFO starting version="), "{lines}");
    assert!(
        !lines.contains("DEBUG") && !lines.contains("hunter2") && !node.log().contains("hunter2")
    );
    assert!(node.log().lines().all(|line| line.starts_with('{')), "the log itself is JSON");

    let last = printed(&node, &["logs.snapshot", "--param", "lines=1"]);
    assert_eq!(last.lines().count(), 1);
    assert_eq!(printed(&node, &["logs.snapshot", "--param", "since=9999-01-01T00:00:00Z"]), "");
    let (code, result) = run(&node, &["logs.snapshot", "--param", "since=soon"]);
    assert_eq!(
        (code, &result["status"], &result["exit_code"]),
        (Some(1), &json!("failed"), &json!(1))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reconnect_pulls_and_opens_the_stream_at_once_and_a_reload_reaches_the_agent_without_ending_it()
 {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    node.amend("[reconcile]\ninterval = \"1s\"", "[reconcile]\ninterval = \"1h\"");
    let agent = node.start();
    until("the state is pulled", || node.run(&["state", "metadata", "region"]).status.success())
        .await;
    until("events are streamed", || node.log().contains("the control plane streams events")).await;
    let pulls = counter(&plane, "state_count");
    let streams = counter(&plane, "events_request_count");
    assert_eq!(facts(&node, &["mesh.reconnect"]), json!({"status": "reconnected"}));
    until("it pulls again", || counter(&plane, "state_count") > pulls).await;
    until("it asks for the stream again", || {
        counter(&plane, "events_request_count") == streams + 1
    })
    .await;

    let sent = facts(&node, &["service.reload_config"]);
    assert_eq!(sent, json!({"status": "reload_signal_sent", "pid": agent.id()}));
    until("the signal is heard", || node.log().contains("SIGHUP")).await;
    assert_eq!(node.run(&["status"]).status.code(), Some(0), "the agent goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_is_printed_for_people_and_its_outcome_is_the_exit_code() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane, "info").await;
    let output = node.run(&["actions", "run", "service.restart"]);
    let shown =
        "Status:    error\nExit code: 1\n\nStderr:\nunknown builtin action: service.restart\n";
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), shown));
    let peer = ["actions", "run", "diagnostics.ping_peer", "--param", "peer_id=localhost"];
    let output = node.run(&peer);
    let shown = "Status:    failed\nExit code: 1\n\nStderr:\npeer_id must be an IP address\n";
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), shown));
    let output = node.run(&["actions", "run", "system.info"]);
    let shown = text(&output.stdout);
    assert!(
        shown.starts_with("Status:    success\nExit code: 0\n\nStdout:\n{\n  \"hostname\": "),
        "{shown}"
    );
    assert!(shown.ends_with("\n}\n"), "{shown}");
    for usage in [
        &["actions", "run"][..],
        &["actions", "run", ""],
        &["actions", "run", "a", "--param"],
        &["actions", "run", "a", "--param", "x"],
        &["actions", "run", "a", "--param", "=x"],
        &["actions", "run", "a", "--param", "x=1", "--param", "x=1"],
        &["actions"],
    ] {
        let output = node.run(usage);
        assert_eq!(output.status.code(), Some(2), "{usage:?}: {}", text(&output.stderr));
    }
    let twice = node.run(&["actions", "run", "a", "--param", "x=1", "--param", "x=2"]);
    assert_eq!(text(&twice.stderr), "meshward: --param x is given twice\n");
    assert_eq!(run(&node, &["system.info", "--param", "a=b=c", "--param", "d="]).0, Some(0));
}

/// Sends a body to the route by hand, and tells the answer.
fn ordered(node: &Node, body: &str) -> String {
    let mut stream = UnixStream::connect(node.path("run/api.sock")).unwrap();
    let head = format!(
        "POST /v1/actions/run HTTP/1.1\r\nhost: node\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // An answer may come before all of a long body is taken.
    drop(stream.write_all(body.as_bytes()));
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    text(&answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_order_by_http_is_read_up_to_its_limit_and_refused_in_words() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane, "info").await;
    let invalid = "{\"error\":\"invalid JSON body\"}\n";
    let order = |filler: usize| {
        let body = r#"{"action":"config.dump","x":""#;
        format!("{body}{}\"}}", "x".repeat(filler - body.len() - 2))
    };
    let whole = ordered(&node, &order(65_536));
    assert!(
        whole.starts_with("HTTP/1.1 200 ") && whole.contains(r#""status":"success""#),
        "{whole}"
    );
    let over = ordered(&node, &order(65_537));
    assert!(over.starts_with("HTTP/1.1 400 ") && over.ends_with(invalid), "{over}");
    assert!(ordered(&node, "no JSON").ends_with(invalid));
    let required = "{\"error\":\"action is required\"}\n";
    assert!(ordered(&node, "{}").ends_with(required));
}

fn entry(name: &str, parameters: &Value) -> Value {
    json!({
        "execution_id": format!("run-{name}"), "action": name, "type": "builtin", "status": "pending",
        "parameters": parameters,
        "requested_at": later(Duration::ZERO), "expires_at": later(Duration::from_secs(600)),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_built_in_action_runs_for_the_control_plane_too() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane, "info").await;
    let peers = ["diagnostics.ping_peer", "diagnostics.traceroute_peer"];
    for name in ALL {
        // A name would have to be looked up, and is refused whether there is a tool or not.
        let parameters = json!({"peer_id": "localhost", "count": 1});
        post(&plane, "/test/configure-state", &json!({"executions": [entry(name, &parameters)]}));
        let status = || get(&plane, "/test/executions")[format!("run-{name}")].clone();
        until(name, || ["succeeded", "failed"].contains(&status().as_str().unwrap_or_default()))
            .await;
        let callback = get(&plane, "/test/last-request/execution_callback");
        let inline = callback["output"]["inline"].as_str().unwrap_or_default();
        let output = text(&base64_bytes(inline).unwrap());
        match peers.contains(&name) {
            true => {
                assert_eq!(
                    (status(), &callback["exit_code"]),
                    (json!("failed"), &json!(1)),
                    "{name}"
                );
                assert_eq!(output, "peer_id must be an IP address\n");
            }
            false => {
                assert_eq!(
                    (status(), &callback["exit_code"]),
                    (json!("succeeded"), &json!(0)),
                    "{name}"
                );
                // Of what is too long to go inline it tells where it was brought.
                assert!(callback["output"].is_object(), "{name}");
            }
        }
    }
    for name in ["service.restart", "service.upgrade"] {
        post(&plane, "/test/configure-state", &json!({"executions": [entry(name, &json!({}))]}));
        until(name, || get(&plane, "/test/executions")[format!("run-{name}")] == "failed").await;
        let callback = get(&plane, "/test/last-request/execution_callback");
        assert_eq!(callback["error"], "unknown_action", "{name}");
    }
    assert_eq!(node.run(&["status"]).status.code(), Some(0), "the agent goes on");
}
