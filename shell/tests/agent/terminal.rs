//! What others said reaches no terminal as it came: tables, values, errors and the log.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixListener,
    process::Stdio,
    thread,
};

use meshward_core::legible::{self, steers};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::node::{Node, fixture, post, text, until};

/// Clears a screen in two ways, erases, forges a line and turns the rest around.
const STEERING: &str = "a\u{1b}[2J\u{9b}2J\u{7f}\r\nmeshward: b\u{202e}c";

fn assert_legible(shown: &str) {
    let bad = |one: &char| *one != '\n' && steers(*one);
    assert_eq!(shown.chars().find(bad), None, "{shown:?}");
}

fn steering_state() -> Value {
    let entry = json!([{"key": STEERING, "value": STEERING}, {"key": "plain", "value": STEERING}]);
    json!({
        "state": {"metadata": entry, "data": entry},
        "peers": [{"node_id": STEERING, "mesh_ip": STEERING, "public_key": STEERING, "fallback_endpoint": STEERING}],
        "policy": {"revision_id": STEERING, "fingerprint": "f", "rules": [{
            "action": STEERING, "protocol": STEERING, "source_cidr": STEERING, "destination_cidr": STEERING}]},
    })
}

/// Runs a command whose standard output is a terminal, and tells what that is sent.
fn on_a_terminal(node: &Node, arguments: &[&str]) -> String {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap().into_string().unwrap();
    let far = File::options().read(true).write(true).open(name).unwrap();
    let mut child = node.command(arguments).stdout(Stdio::from(far)).spawn().unwrap();
    assert!(child.wait().unwrap().success(), "{arguments:?}");
    let mut shown = Vec::new();
    // The far end is closed, which a terminal tells as an error behind what it holds.
    let _ = File::from(near).read_to_end(&mut shown);
    // A terminal adds a return to each line feed.
    text(&shown).replace("\r\n", "\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn names_and_values_of_a_control_plane_steer_no_terminal_and_stay_exact_for_programs() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let _agent = node.start();
    post(&plane, "/test/configure-state", &steering_state());
    let value = || node.run(&["state", "metadata", "plain"]);
    until("the state is pulled", || value().status.success()).await;
    let shown = legible::line(STEERING);
    for arguments in
        [&["state"][..], &["peers"], &["policies"], &["state", "metadata"], &["state", "data"]]
    {
        let printed = text(&node.run(arguments).stdout);
        assert!(printed.contains(&*shown) || printed.contains("\\u202e"), "{printed}");
        assert_legible(&printed);
        let exact = text(&node.run(&[&["--output", "json"], arguments].concat()).stdout);
        let told: Value = serde_json::from_str(&exact).unwrap();
        assert!(told.to_string().contains(&json!(STEERING).to_string()), "{exact}");
        if arguments.len() > 1 {
            assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), told);
        }
    }
    for part in ["metadata", "data"] {
        let exact = text(&node.run(&["state", part, "plain"]).stdout);
        assert_eq!(exact, format!("{STEERING}\n"), "a program is given what was sent");
        let seen = on_a_terminal(&node, &["state", part, "plain"]);
        assert_eq!(seen, format!("{}\n", legible::lines(STEERING)));
        assert_legible(&seen);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_report_steers_no_terminal_and_stays_exact_for_programs() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let _agent = node.start();
    let payload = json!(STEERING).to_string();
    let put = ["report", "put", "app", "--payload", &payload, "--content-type", STEERING];
    until("the report is written", || node.run(&put).status.success()).await;
    assert_eq!(text(&node.run(&["report", "get", "app"]).stdout), format!("{STEERING}\n"));
    assert_legible(&on_a_terminal(&node, &["report", "get", "app"]));
}

/// Answers each request on the node's socket in the same way.
fn answering(node: &Node, status: &'static str, body: &Value) {
    std::fs::create_dir(node.path("run")).unwrap();
    let listener = UnixListener::bind(node.path("run/api.sock")).unwrap();
    let (body, length) = (body.to_string(), body.to_string().len());
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut line = String::new();
            while line != "\r\n" {
                line.clear();
                stream.read_line(&mut line).unwrap();
            }
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
}

#[test]
fn the_words_of_whoever_answers_on_the_socket_steer_no_terminal() {
    let node = Node::new("http://127.0.0.1:9", "");
    answering(&node, "400 Bad Request", &json!({"error": STEERING}));
    let output = node.run(&["peers"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), format!("meshward: {}\n", legible::line(STEERING)));
    let output = node.run(&["--output", "json", "peers"]);
    assert!(serde_json::from_slice::<Value>(&output.stderr).unwrap()["error"].is_string());
}

#[test]
fn a_secret_steers_no_terminal_and_goes_to_a_program_byte_for_byte() {
    let node = Node::new("http://127.0.0.1:9", "");
    answering(&node, "200 OK", &json!({"key": "app", "value": STEERING, "version": 1}));
    let arguments = ["secret", "get", "app"];
    assert_eq!(text(&node.run(&arguments).stdout), STEERING);
    assert_eq!(on_a_terminal(&node, &arguments), legible::lines(STEERING));
}
