//! The commands that talk to a running agent: what they print, in both forms, and their exit codes.

use std::process::Stdio;

use meshward_core::plane::site;
use meshward_fixture::Running;
use serde_json::{Value, json};

use crate::node::{Agent, Node, counter, fixture, get, post, text, until};

async fn ready(plane: &Running) -> (Node, Agent) {
    let node = Node::new(
        &plane.url(),
        "[health]\nenabled = false\n[local_api]\ndebounce_period = \"10ms\"\n",
    );
    let agent = node.start();
    until("the state is pulled", || {
        counter(plane, "state_count") > 0
            && node.run(&["state", "metadata", "region"]).status.success()
    })
    .await;
    (node, agent)
}

/// Runs a command that succeeds, and tells what it printed.
fn printed(node: &Node, arguments: &[&str]) -> String {
    let output = node.run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    text(&output.stdout)
}

/// Runs a command that fails, and tells its code and what it complained of; in JSON it says the same.
fn refused(node: &Node, arguments: &[&str]) -> (Option<i32>, String) {
    let output = node.run(arguments);
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    let told = text(&output.stderr);
    let line = told.strip_prefix("meshward: ").expect("a line of this program").trim_end();
    let in_json = node.run(&[&["--output", "json"], arguments].concat());
    let error: Value = serde_json::from_slice(&in_json.stderr).expect("an object");
    assert_eq!(error, json!({"error": line}));
    assert_eq!(in_json.status.code(), output.status.code());
    (output.status.code(), line.to_owned())
}

fn in_json(node: &Node, arguments: &[&str]) -> Value {
    let all = [&["--output", "json"], arguments].concat();
    serde_json::from_str(&printed(node, &all)).expect("JSON is printed")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_report_is_written_read_listed_guarded_and_deleted_from_the_command_line() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane).await;
    let put = |arguments: &[&str]| printed(&node, &[&["report", "put"], arguments].concat());
    assert_eq!(
        put(&["app.health", "--payload", "{\"ok\": true}"]),
        "report app.health written, version 1\n"
    );
    assert_eq!(
        put(&["app.health", "--payload", "\"fine\"", "--if-match", "1"]),
        "report app.health written, version 2\n"
    );
    assert_eq!(printed(&node, &["report", "get", "app.health"]), "fine\n");
    let entry = in_json(&node, &["report", "get", "app.health"]);
    assert_eq!(entry["payload"], "fine");
    assert_eq!(entry["content_type"], "application/json");
    assert_eq!(entry["version"], 2);
    let stale =
        refused(&node, &["report", "put", "app.health", "--payload", "1", "--if-match", "1"]);
    assert_eq!(
        stale,
        (Some(1), "version conflict: --if-match is 1, and there is version 2 now".to_owned())
    );
    let absent = refused(&node, &["report", "put", "none", "--payload", "1", "--if-match", "1"]);
    assert_eq!(absent.1, "version conflict: --if-match is 1, and there is none now");
    let listed = printed(&node, &["report", "list"]);
    assert!(listed.contains("app.health (version 2)\n"), "{listed}");
    let rows = in_json(&node, &["report", "list"]);
    assert!(
        rows.as_array()
            .is_some_and(|rows| rows.contains(&json!({"key": "app.health", "version": 2})))
    );
    let value = || get(&plane, "/test/last-request/report")["value"].clone();
    until("the control plane has it", || value() == json!("\"fine\"")).await;
    assert_eq!(printed(&node, &["report", "delete", "app.health"]), "report app.health deleted\n");
    put(&["app.other", "--payload", "1"]);
    let deleted = in_json(&node, &["report", "delete", "app.other"]);
    assert_eq!(deleted, json!({"key": "app.other", "deleted": true}));
    let missing =
        "not found: there is no report app.health; `meshward report list` lists what is known";
    for command in ["get", "delete"] {
        let told = refused(&node, &["report", command, "app.health"]);
        assert_eq!(told, (Some(1), missing.to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_payload_comes_from_the_argument_a_file_or_standard_input() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane).await;
    std::fs::write(node.path("payload"), "[1.50]\n").unwrap();
    let file = node.path("payload").display().to_string();
    printed(&node, &["report", "put", "a", "--file", &file, "--content-type", "text/plain"]);
    let entry = printed(&node, &["report", "get", "a", "--output", "json"]);
    assert!(entry.contains("\"payload\":[1.50]"), "the spelling of numbers is kept: {entry}");
    assert!(entry.contains("\"content_type\":\"text/plain\""), "{entry}");
    for arguments in [&["report", "put", "b"][..], &["report", "put", "b", "--file", "-"]] {
        let stdin = std::fs::File::open(node.path("payload")).unwrap();
        let output = node.command(arguments).stdin(Stdio::from(stdin)).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    assert_eq!(printed(&node, &["report", "get", "b"]), "[1.50]\n");
    let (code, told) = refused(&node, &["report", "put", "b", "--payload", "fine"]);
    assert_eq!(code, Some(1));
    assert!(told.contains("the payload is not JSON: quote a text"), "{told}");
    let (code, told) = refused(&node, &["report", "put", "b", "--file", "/nonexistent"]);
    assert_eq!(code, Some(1));
    assert!(told.contains("the payload cannot be read from /nonexistent"), "{told}");
    let (code, told) = refused(&node, &["report", "put", "b"]);
    assert_eq!(code, Some(1));
    assert!(told.starts_with("the payload is empty: give JSON with --payload"), "{told}");
    let both = node.run(&["report", "put", "b", "--payload", "1", "--file", &file]);
    assert_eq!(both.status.code(), Some(2), "one of them has to go");
    let key = refused(&node, &["report", "put", "Not/A/Key", "--payload", "1"]);
    let rule = "invalid report key: must begin with a letter of a-z and hold at most 128 of a-z, 0-9, dot, underscore and hyphen";
    assert_eq!(key, (Some(1), rule.to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_secret_is_printed_alone_and_its_refusals_say_why() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane).await;
    assert_eq!(printed(&node, &["secret", "get", "db-password"]), site::LOCAL_BEARER);
    let entry = in_json(&node, &["secret", "get", "db-password", "--version", "1"]);
    assert_eq!(entry, json!({"key": "db-password", "value": site::LOCAL_BEARER, "version": 1}));
    assert_eq!(printed(&node, &["secret", "list"]), "No secrets known by name.\n");
    assert_eq!(in_json(&node, &["secret", "list"]), json!([]));
    let rows = [
        (
            &["secret", "get", "db-password", "--version", "99"][..],
            "not found: there is no secret db-password with version 99; `meshward secret list` lists what is known",
        ),
        (
            &["secret", "get", "db-password", "--version", "0"],
            "invalid version: the first one is 1",
        ),
        (
            &["secret", "get", "Not-A-Key"],
            "invalid secret key: must begin with a letter of a-z and hold at most 63 of a-z, 0-9, underscore and hyphen",
        ),
    ];
    for (arguments, error) in rows {
        assert_eq!(refused(&node, arguments), (Some(1), error.to_owned()), "{arguments:?}");
    }
    let numbers = [
        &["secret", "get", "db-password", "--version", "one"][..],
        &["report", "put", "a", "--payload", "1", "--if-match", "1.5"],
    ];
    for arguments in numbers {
        let output = node.run(arguments);
        assert_eq!(output.status.code(), Some(2));
        let told = text(&output.stderr);
        assert!(told.contains("a version is a whole number, such as 2"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn peers_and_policies_are_tables_for_people_and_bodies_for_programs() {
    let plane = fixture().await;
    let (node, _agent) = ready(&plane).await;
    let peers = printed(&node, &["peers"]);
    assert!(peers.starts_with("ID  "), "{peers}");
    assert_eq!(peers.lines().count(), 1 + site::PEERS.len());
    let first = &site::PEERS[0];
    let line = peers.lines().find(|line| line.starts_with(first.node_id)).expect("its line");
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells, [first.node_id, first.mesh_ip, first.fallback_endpoint, first.public_key]);
    assert_eq!(in_json(&node, &["peers"]).as_array().map(Vec::len), Some(site::PEERS.len()));

    let policies = printed(&node, &["policies"]);
    let words: Vec<Vec<&str>> =
        policies.lines().map(|line| line.split_whitespace().collect()).collect();
    let revision = "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0c1";
    let mesh = site::DOMAIN_MESH_CIDR;
    assert_eq!(
        words,
        [
            vec!["REVISION", "SRC", "DST", "PORT", "PROTOCOL", "ACTION"],
            vec![revision, mesh, mesh, "any", "any", "allow"],
            vec![revision, mesh, "0.0.0.0/0", "443", "tcp", "allow"],
        ]
    );
    assert_eq!(in_json(&node, &["policies"])["revision_id"], revision);
    post(&plane, "/test/configure-state", &json!({"policy": null}));
    until("the policy is gone", || printed(&node, &["policies"]) == "No policies active.\n").await;
    until("the peers are gone", || printed(&node, &["peers"]) == "No peers.\n").await;
}

#[test]
fn without_an_agent_every_command_says_so_and_how_to_mend_it() {
    let node = Node::new("http://127.0.0.1:9", "");
    let commands = [
        &["report", "list"][..],
        &["report", "get", "a"],
        &["report", "put", "a", "--payload", "1"],
        &["report", "delete", "a"],
        &["secret", "list"],
        &["secret", "get", "a"],
        &["peers"],
        &["policies"],
        &["actions", "list"],
        &["actions", "run", "a"],
        &["state"],
        &["status"],
    ];
    for arguments in commands {
        let (code, told) = refused(&node, arguments);
        assert_eq!(code, Some(5), "{arguments:?}");
        assert!(told.contains("start it with `meshward run`"), "{told}");
    }
}

#[test]
fn an_empty_key_is_bad_usage_and_is_never_asked_for() {
    let node = Node::new("http://127.0.0.1:9", "");
    std::fs::create_dir(node.path("run")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(node.path("run/api.sock")).unwrap();
    socket.set_nonblocking(true).unwrap();
    let commands = [
        &["state", "metadata", ""][..],
        &["state", "data", ""],
        &["report", "get", ""],
        &["report", "put", "", "--payload", "1"],
        &["report", "delete", ""],
        &["secret", "get", ""],
        &["secret", "get", "", "--version", "1"],
    ];
    for arguments in commands {
        let output = node.run(arguments);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains("a key must not be empty"), "{told}");
    }
    assert_eq!(node.run(&["secret", ""]).status.code(), Some(2));
    assert!(socket.accept().is_err(), "nothing was asked");
}

#[test]
fn help_shows_examples_and_the_grammar_of_a_key() {
    let node = Node::new("http://127.0.0.1:9", "");
    let rows = [
        (&["--help"][..], "meshward --socket /run/meshward/api.sock status --wait 30s"),
        (&["report", "--help"], "meshward report put app.health --payload"),
        (&["report", "put", "--help"], "A letter of a-z, then up to 127 of a-z, 0-9"),
        (&["actions", "--help"], "meshward actions run diagnostics.ping_peer --param"),
        (&["secret", "get", "--help"], "A letter of a-z, then up to 62 of a-z, 0-9"),
    ];
    for (arguments, part) in rows {
        let shown = printed(&node, arguments);
        assert!(shown.contains(part), "{part:?} is missing in:\n{shown}");
    }
}
