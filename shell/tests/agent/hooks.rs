//! Hooks through the binary: listed, watched, reloaded, dispatched by the control plane and run.

use std::{fs, path::Path, time::Duration};

use meshward_core::wire::grammar::base64_bytes;
use meshward_fixture::Running;
use serde_json::{Value, json};

use crate::{
    hooks_place::{chmod, is_root},
    node::{Node, Plane, fixture, get, later, post, text, until},
};

const SCRIPT: &str =
    "#!/bin/sh\nprintf '%s %s %s' \"$AGENT_NODE_ID\" \"$AGENT_EXECUTION_ID\" \"$AGENT_PARAM_TO\"\n";

/// A node with a hooks directory, which is put there by whoever wants it.
pub(crate) async fn scene() -> Option<(Plane, Node)> {
    if !is_root() {
        return None;
    }
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let hooks = format!("[actions]\nhooks_dir = {:?}\n[node]", node.path("hooks"));
    node.amend("[node]", &hooks);
    Some((plane, node))
}

pub(crate) fn put(node: &Node, name: &str, content: &str) {
    let draft = node.path("draft");
    fs::write(&draft, content).unwrap();
    chmod(
        &draft,
        if Path::new(name).extension().is_some_and(|end| end == "json") { 0o644 } else { 0o755 },
    );
    fs::rename(draft, node.path("hooks").join(name)).unwrap();
}

pub(crate) fn folder(node: &Node) {
    fs::create_dir(node.path("hooks")).unwrap();
    chmod(&node.path("hooks"), 0o755);
}

fn told(node: &Node, arguments: &[&str]) -> Value {
    let output = node.run(&[&["--output", "json"], arguments].concat());
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

fn names(node: &Node) -> Vec<String> {
    let listed = told(node, &["hooks", "list"]);
    let rows = listed.as_array().cloned().unwrap_or_default();
    rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn order(plane: &Running, id: &str, action: &str, parameters: &Value) {
    post(
        plane,
        "/test/configure-state",
        &json!({"executions": [{
            "execution_id": id, "action": action, "type": "hook", "status": "pending", "parameters": parameters,
            "requested_at": later(Duration::ZERO), "expires_at": later(Duration::from_secs(600)),
        }]}),
    );
}

/// Waits for the end of an execution, and tells its last callback.
pub(crate) async fn outcome(plane: &Running, id: &str) -> Value {
    let ends = ["succeeded", "failed", "cancelled"];
    until("the execution ends", || {
        get(plane, "/test/executions")[id].as_str().is_some_and(|status| ends.contains(&status))
    })
    .await;
    get(plane, "/test/last-request/execution_callback")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_hook_that_comes_while_the_agent_runs_is_listed_and_runs_when_it_is_dispatched() {
    let Some((plane, node)) = scene().await else { return };
    let _agent = node.start();
    until("the agent answers", || told(&node, &["hooks", "list"]) == json!([])).await;
    folder(&node);
    put(&node, "deploy.json", "{\"description\":\"Deploys.\",\"timeout\":\"1m\"}");
    put(&node, "deploy", SCRIPT);
    until("it is discovered", || names(&node) == ["deploy"]).await;
    let listed = told(&node, &["hooks", "list"]).to_string();
    assert!(
        listed.contains("\"description\":\"Deploys.\"") && listed.contains("\"timeout\":\"1m\""),
        "{listed}"
    );
    let table = text(&node.run(&["hooks", "list"]).stdout);
    assert!(
        table.starts_with("NAME    SOURCE  CHECKSUM      STATE  DESCRIPTION\ndeploy  local   "),
        "{table}"
    );
    order(&plane, "run-1", "deploy", &json!({"to": "eu west"}));
    let callback = outcome(&plane, "run-1").await;
    assert_eq!(callback["exit_code"], 0, "{callback}");
    let output = base64_bytes(callback["output"]["inline"].as_str().unwrap()).unwrap();
    let id = node.identity()["node_id"].as_str().unwrap().to_owned();
    assert_eq!(text(&output), format!("{id} run-1 eu west"));
    order(&plane, "run-2", "missing", &json!({}));
    assert_eq!(outcome(&plane, "run-2").await["error"], "unknown_action");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_changed_hook_is_told_once_does_not_run_and_heals_with_its_content() {
    let Some((plane, node)) = scene().await else { return };
    folder(&node);
    put(&node, "deploy", SCRIPT);
    let _agent = node.start();
    until("it is discovered", || names(&node) == ["deploy"]).await;
    put(&node, "deploy", "#!/bin/sh\necho another\n");
    let fault = || told(&node, &["hooks", "list"])[0]["fault"].clone();
    until("the change is noticed", || fault() == "it was changed since it was discovered").await;
    order(&plane, "run-1", "deploy", &json!({}));
    let error = "integrity check failed for hook: deploy";
    assert_eq!(outcome(&plane, "run-1").await["error"], error);
    let reloaded = node.run(&["hooks", "reload"]);
    assert_eq!(reloaded.status.code(), Some(0));
    let (out, err) = (text(&reloaded.stdout), text(&reloaded.stderr));
    assert!(out.starts_with("reloaded: 1 hook\nNAME "), "{out}");
    assert!(
        err.starts_with("meshward: hook deploy: it was changed since it was discovered, "),
        "{err}"
    );
    told(&node, &["hooks", "reload"]);
    let is_warning =
        |line: &&str| line.contains("WARN") && line.contains("hook deploy: it was changed");
    let log = node.log();
    assert_eq!(log.lines().filter(is_warning).count(), 1, "it is told once");
    put(&node, "deploy", SCRIPT);
    until("it heals", || fault() == Value::Null).await;
    order(&plane, "run-2", "deploy", &json!({"to": "x"}));
    assert_eq!(outcome(&plane, "run-2").await["exit_code"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reload_tells_what_is_there_and_what_is_wrong_with_the_rest() {
    let Some((_plane, node)) = scene().await else { return };
    folder(&node);
    let _agent = node.start();
    until("the agent answers", || told(&node, &["hooks", "list"]) == json!([])).await;
    put(&node, "sound", SCRIPT);
    put(&node, "open", SCRIPT);
    chmod(&node.path("hooks/open"), 0o777);
    let reloaded = told(&node, &["hooks", "reload"]);
    assert_eq!(reloaded["status"], "reloaded");
    assert_eq!(reloaded["hooks"][0]["name"], "sound");
    let warning =
        "hook open: its group or everybody can change it: take that right from them (chmod go-w)";
    assert_eq!(reloaded["warnings"], json!([warning]));
    chmod(&node.path("hooks"), 0o775);
    let reloaded = told(&node, &["hooks", "reload"]);
    assert_eq!(reloaded["hooks"], json!([]), "nothing of it is trusted");
    let warning = reloaded["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("no hook runs, because of "), "{warning}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_actions_there_are_no_hooks_and_nobody_reloads_them() {
    let Some((_plane, node)) = scene().await else { return };
    node.amend("[actions]\n", "[actions]\nenabled = false\n");
    folder(&node);
    put(&node, "deploy", SCRIPT);
    let _agent = node.start();
    until("the agent answers", || told(&node, &["hooks", "list"]) == json!([])).await;
    let refused = node.run(&["hooks", "reload"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(text(&refused.stderr), "meshward: hook reloader not available\n");
}
