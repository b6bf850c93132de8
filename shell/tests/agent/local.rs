//! The local API and the health listener of a running agent, through the command line and through sockets.

use std::{net::TcpStream, os::unix::net::UnixStream};

use meshward_core::agent::watch::WATCHERS_MAX;
use serde_json::{Value, json};

use crate::node::{Node, counter, fixture, mode, post, text, until};

pub(crate) fn exchange(mut stream: impl std::io::Read + std::io::Write, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub(crate) fn ask(node: &Node, path: &str) -> String {
    let stream = UnixStream::connect(node.path("run/api.sock")).unwrap();
    exchange(stream, &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_the_control_plane_gave_is_read_through_the_command_line() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let _agent = node.start();
    let waited = node.run(&["status", "--wait", "20s"]);
    assert_eq!(waited.status.code(), Some(0), "{}", text(&waited.stderr));
    until("the state is pulled", || node.run(&["state", "metadata", "region"]).status.success())
        .await;
    assert_eq!(text(&node.run(&["state", "metadata", "region"]).stdout), "mock-region-1\n");
    let entry = node.run(&["state", "data", "app/config", "--output", "json"]);
    let entry: Value = serde_json::from_slice(&entry.stdout).unwrap();
    assert_eq!(entry["payload"], "{\"log_level\":\"info\",\"max_conns\":100}");
    assert_eq!(entry["content_type"], "text/plain; charset=utf-8");
    assert_eq!(entry["version"], 1);
    let missing = node.run(&["state", "data", "no-such-key", "--output", "json"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(
        serde_json::from_slice::<Value>(&missing.stderr).unwrap(),
        json!({"error": "not found: there is no data entry no-such-key; `meshward state data` lists what is known"})
    );
    let status: Value =
        serde_json::from_slice(&node.run(&["--output", "json", "status"]).stdout).unwrap();
    assert_eq!(status["ready"], true);
    assert_eq!(status["node_id"], "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_socket_speaks_json_and_is_closed_to_others() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let _agent = node.start();
    until("the state is pulled", || {
        counter(&plane, "state_count") > 0 && node.run(&["status"]).status.success()
    })
    .await;
    let group = std::fs::read_to_string("/etc/group")
        .unwrap()
        .lines()
        .any(|line| line.starts_with("meshward:"));
    assert_eq!(mode(&node.path("run/api.sock")), if group { 0o660 } else { 0o600 });
    for (path, status, body) in [
        ("/v1/nothing", "404", "{\"error\":\"not found\"}"),
        ("/v1/state/metadata/none", "404", "{\"error\":\"not found\"}"),
        ("/v1/state/metadata/environment", "200", "\"value\":\"e2e-test\""),
        ("/v1/state/data/app%2Fconfig", "200", "\"key\":\"app/config\""),
        ("/v1/state/data/app/config", "200", "\"key\":\"app/config\""),
    ] {
        let answer = ask(&node, path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        assert!(answer.contains(body), "{path}: {answer}");
        assert!(
            answer.to_ascii_lowercase().contains("content-type: application/json"),
            "{path}: {answer}"
        );
    }
    let stream = UnixStream::connect(node.path("run/api.sock")).unwrap();
    let answer =
        exchange(stream, "DELETE /v1/state HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(
        answer.starts_with("HTTP/1.1 405 ") && answer.contains("method not allowed"),
        "{answer}"
    );
    post(&plane, "/test/configure-state", &json!({"state": null}));
    until("a null block clears the metadata but for the agent's own", || {
        ask(&node, "/v1/state/metadata").ends_with("\n{\"delivery_mode\":\"streaming\"}\n")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn readiness_follows_the_registration_and_the_standing() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let node = Node::new("http://127.0.0.1:9", &format!("[health]\nlisten = \"{port}\"\n"));
    let _agent = node.start();
    let probe = |path: &str| {
        let stream = TcpStream::connect(port).ok()?;
        Some(exchange(stream, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")))
    };
    until("the listener is open", || probe("/healthz").is_some()).await;
    let alive = probe("/healthz").unwrap();
    assert!(alive.starts_with("HTTP/1.1 200 ") && alive.ends_with("\r\n\r\nok\n"), "{alive}");
    let pending = probe("/readyz").unwrap();
    assert!(pending.starts_with("HTTP/1.1 503 "), "{pending}");
    assert!(pending.ends_with("\r\n\r\nnot ready: registration pending\n"), "{pending}");
    assert!(
        pending.to_ascii_lowercase().contains("content-type: text/plain; charset=utf-8"),
        "{pending}"
    );
    let other = probe("/metricz").unwrap();
    assert!(other.starts_with("HTTP/1.1 404 "), "{other}");
    assert_eq!(node.run(&["status"]).status.code(), Some(1), "not ready");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stale_socket_of_a_killed_agent_is_replaced() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let first = node.start();
    until("the first is ready", || node.run(&["status"]).status.success()).await;
    first.kill();
    assert!(node.path("run/api.sock").exists(), "a kill leaves the socket behind");
    let _second = node.start();
    until("the second is ready", || node.run(&["status"]).status.success()).await;
}

/// The head of an answer, without the field that tells the time, and the body.
fn parts(answer: &str) -> (Vec<String>, String) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let fields = head.split("\r\n").filter(|field| !field.to_lowercase().starts_with("date:"));
    (fields.map(str::to_owned).collect(), body.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn head_is_answered_as_get_without_the_body() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let _agent = node.start();
    until("the state is pulled", || node.run(&["state", "metadata", "region"]).status.success())
        .await;
    let head = |path: &str| {
        let stream = UnixStream::connect(node.path("run/api.sock")).unwrap();
        exchange(stream, &format!("HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    };
    let paths = ["state/data", "state/metadata/region", "state/report/none", "log-status", "none"];
    for path in paths.map(|path| format!("/v1/{path}")) {
        let (told, body) = parts(&head(&path));
        assert_eq!(body, "", "{path}");
        let (fields, body) = parts(&ask(&node, &path));
        assert_eq!(told, fields, "{path}");
        assert!(!body.is_empty(), "{path}");
    }
    // More than may watch at once: a stream that nobody reads is none.
    for _ in 0..WATCHERS_MAX + 1 {
        let (told, body) = parts(&head("/v1/watch"));
        assert_eq!((told[0].as_str(), body.as_str()), ("HTTP/1.1 200 OK", ""));
    }
}
