//! The lines that README.md shows for the local API, taken out of it and run as they stand against the real programs.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use meshward_core::plane::site;
use serde_json::{Value, json};

use crate::node::{Node, fixture, get, text, until};

const README: &str = include_str!("../../../README.md");

/// Where the shown agent has its socket.
const SHOWN_SOCKET: &str = "/tmp/meshward-try/run/api.sock";

/// The commands shown for the local API, those that go on in the next line as one.
fn shown() -> Vec<String> {
    let blocks = README.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let commands = blocks.map(|block| block.replace("\\\n", " "));
    let lines = commands.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| line.starts_with("curl ") && line.contains(SHOWN_SOCKET)).collect()
}

/// The one shown command that holds this, on the node's socket.
fn one(node: &Node, part: &str) -> String {
    let commands = shown();
    let mut found = commands.iter().filter(|line| format!("{line}\n").contains(part));
    let (Some(line), None) = (found.next(), found.next()) else {
        panic!("README.md shows {part} not once: {commands:#?}");
    };
    line.replace(SHOWN_SOCKET, &node.path("run/api.sock").display().to_string())
}

/// Runs it to its end, and tells what it prints.
fn run(node: &Node, part: &str) -> Value {
    let line = one(node, part);
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    let told = text(&output.stderr);
    assert_ne!(output.status.code(), Some(127), "{told}: README.md needs curl, install it");
    assert!(output.status.success(), "{line}: {told}{}", text(&output.stdout));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs the command that follows changes until its first event, and tells the name of that.
fn followed(node: &Node) -> String {
    let line = format!("exec {}", one(node, "/v1/watch\n"));
    let mut curl = Command::new("sh").args(["-c", &line]).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(curl.stdout.take().unwrap());
    let mut name = String::new();
    while !name.starts_with("event: ") {
        name.clear();
        assert!(told.read_line(&mut name).unwrap() > 0, "it ended without an event");
    }
    curl.kill().unwrap();
    curl.wait().unwrap();
    name
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_lines_of_the_readme_read_a_secret_and_the_state_and_put_a_report() {
    let plane = fixture().await;
    let node = Node::new(
        &plane.url(),
        "[health]\nenabled = false\n[local_api]\ndebounce_period = \"10ms\"\n",
    );
    let _agent = node.start();
    until("the state is pulled", || node.run(&["state", "metadata", "region"]).status.success())
        .await;
    let secret = run(&node, "/v1/state/secrets/");
    assert_eq!(secret["value"], site::LOCAL_BEARER);
    assert_eq!(run(&node, "/v1/state\n")["metadata"]["region"], "mock-region-1");
    let report = run(&node, " -X PUT ");
    assert_eq!((&report["payload"], &report["version"]), (&json!({"ok": true}), &json!(1)));
    let kept = node.run(&["report", "get", report["key"].as_str().unwrap()]);
    assert_eq!(text(&kept.stdout), "{\"ok\":true}\n");
    let delivered = || get(&plane, "/test/last-request/report")["value"].clone();
    until("the control plane has it", || delivered() == json!("{\"ok\":true}")).await;
    assert_eq!(followed(&node), "event: hello\n");
    assert_eq!(shown().len(), 4, "each is run here: {:#?}", shown());
}
