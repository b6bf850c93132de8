//! The capability manifest through the binary: after the start, after each change of the hooks, and after failures.

use std::fs;

use meshward_core::wire::grammar::Checksum;
use meshward_fixture::Running;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::{
    hooks::{folder, put, scene},
    hooks_place::digest,
    node::{Node, counter, fixture, get, post, until},
};

const ONE: &str = "#!/bin/sh\necho one\n";
const TWO: &str = "#!/bin/sh\necho two\n";

pub(crate) fn declared(plane: &Running) -> Value {
    get(plane, "/test/last-request/capabilities")
}

fn hook(name: &str, content: &str) -> Value {
    json!({"name": name, "checksum": digest(content).to_string()})
}

async fn declares(plane: &Running, hooks: &Value) {
    until("the hooks are declared", || declared(plane)["declared_hooks"] == *hooks).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_declares_its_program_after_the_start_once() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    node.amend("[node]", &format!("[actions]\nhooks_dir = {:?}\n[node]", node.path("hooks")));
    let _agent = node.start();
    until("it is declared", || counter(&plane, "capabilities_count") == 1).await;
    let image = fs::read(env!("CARGO_BIN_EXE_meshward")).unwrap();
    let checksum = Checksum::from_bytes(sha2::Sha256::digest(image).into());
    let expected = json!({
        "binary_version": env!("CARGO_PKG_VERSION"), "binary_checksum": checksum.to_string(),
    });
    assert_eq!(declared(&plane), expected);
    let beats = counter(&plane, "heartbeat_count");
    until("it lives on", || counter(&plane, "heartbeat_count") > beats + 2).await;
    assert_eq!(counter(&plane, "capabilities_count"), 1, "nothing has changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn hooks_that_come_and_go_are_declared_by_what_they_are_held_to() {
    let Some((plane, node)) = scene().await else { return };
    folder(&node);
    put(&node, "b", ONE);
    let _agent = node.start();
    declares(&plane, &json!([hook("b", ONE)])).await;
    put(&node, "a", TWO);
    declares(&plane, &json!([hook("a", TWO), hook("b", ONE)])).await;
    put(&node, "a", ONE);
    fs::remove_file(node.path("hooks/b")).unwrap();
    declares(&plane, &json!([hook("a", TWO)])).await;
    fs::remove_file(node.path("hooks/a")).unwrap();
    declares(&plane, &Value::Null).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_manifest_that_fails_is_sent_again_with_what_is_so_by_then() {
    let Some((plane, node)) = scene().await else { return };
    folder(&node);
    put(&node, "a", ONE);
    let rule =
        json!({"method": "PUT", "path": "/v1/nodes/*/capabilities", "times": 2, "status": 503});
    post(&plane, "/test/faults", &rule);
    let _agent = node.start();
    until("it has failed", || node.log().contains("the capability manifest was not taken")).await;
    put(&node, "b", TWO);
    declares(&plane, &json!([hook("a", ONE), hook("b", TWO)])).await;
    until("that is told", || node.log().contains("the capability manifest is accepted again"))
        .await;
    assert!(counter(&plane, "capabilities_count") <= 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_registers_late_declares_what_it_has_when_it_does() {
    let Some((plane, node)) = scene().await else { return };
    folder(&node);
    put(&node, "a", ONE);
    let rule = json!({"method": "POST", "path": "/v1/register", "times": 1, "status": 503, "retry_after": 1});
    post(&plane, "/test/faults", &rule);
    let _agent = node.start();
    declares(&plane, &json!([hook("a", ONE)])).await;
    assert_eq!(counter(&plane, "registration_count"), 1);
    let beats = counter(&plane, "heartbeat_count");
    until("it lives on", || counter(&plane, "heartbeat_count") > beats + 1).await;
    assert_eq!(counter(&plane, "capabilities_count"), 1);
}
