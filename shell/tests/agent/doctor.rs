//! `doctor` and `completions` of the real binary: each check against the world that it looks at, and nothing changed by it.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
    time::SystemTime,
};

use serde_json::Value;

use crate::node::{Node, PATIENCE, TOKEN, fixture, text, until};

pub(crate) const REST: &str = "[tunnel]\nbackend = \"none\"\n[audit]\nenabled = false\n[logs]\nenabled = false\n[actions]\nenabled = false\n";

fn quiet() -> String {
    format!("[health]\nenabled = false\n{REST}")
}

/// The states with their words and mends by name, the worst of each, and the exit code.
pub(crate) fn examined(node: &Node) -> (BTreeMap<String, (String, String)>, Option<i32>) {
    let output = node.run(&["--output", "json", "doctor"]);
    let told: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    let mut rows = BTreeMap::new();
    for row in told["findings"].as_array().unwrap() {
        let part = |name: &str| row[name].as_str().unwrap().to_owned();
        let words = format!("{} / {}", part("words"), part("mend"));
        let kept = rows.entry(part("name")).or_insert_with(|| (part("state"), words.clone()));
        if part("state") != "good" {
            *kept = (part("state"), words);
        }
    }
    assert_eq!(told["good"], output.status.code() == Some(0));
    (rows, output.status.code())
}

pub(crate) fn check(node: &Node, name: &str) -> (String, String) {
    let (mut rows, _) = examined(node);
    rows.remove(name).unwrap_or_else(|| panic!("{name} in {rows:?}"))
}

/// Answers one request after another with these bytes.
pub(crate) fn answering(bytes: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; 1024];
            if stream.read(&mut asked).unwrap_or(0) > 0 {
                // Who only tries to connect reads nothing.
                let _ = stream.write_all(bytes.as_bytes());
            }
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_can_be_started_is_good_in_every_row_and_is_not_changed() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), &quiet());
    node.closed("token", TOKEN);
    let (rows, code) = examined(&node);
    assert_eq!(code, Some(0), "{rows:?}");
    for name in
        ["configuration", "connect", "tls", "control plane", "clock", "identity", "token", "socket"]
    {
        assert!(rows.contains_key(name), "{name} in {rows:?}");
    }
    assert!(!node.path("data").exists() && !node.path("run").exists());
    let output = node.run(&["doctor"]);
    let lines = text(&output.stdout);
    assert!(lines.lines().all(|line| line.starts_with("good  ")), "{lines}");
    assert!(!lines.contains(TOKEN));
}

/// Every file below with its content, mode and time.
fn snapshot(folder: &Path) -> BTreeMap<String, (Vec<u8>, u32, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            found.extend(snapshot(&path));
        } else {
            let content = fs::read(&path).unwrap_or_default();
            let row = (content, meta.permissions().mode(), meta.modified().unwrap());
            found.insert(path.display().to_string(), row);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_running_agent_is_found_by_its_lock_its_socket_and_its_port_and_goes_on() {
    let plane = fixture().await;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let node = Node::new(&plane.url(), &format!("[health]\nlisten = \"{port}\"\n{REST}"));
    node.amend("[heartbeat]\ninterval = \"1s\"\n[reconcile]\ninterval = \"1s\"", "");
    let agent = node.start();
    until("it is ready", || node.run(&["status"]).status.success()).await;
    let (rows, _) = examined(&node);
    let words = |name: &str| rows[name].1.clone();
    assert!(words("agent").contains(&format!("process {} runs", agent.id())), "{rows:?}");
    assert!(words("identity").starts_with("node "), "{rows:?}");
    assert!(words("socket").contains("answers"), "{rows:?}");
    assert!(words("health listener").contains(&format!("{port} answers")), "{rows:?}");
    assert!(!rows.contains_key("token"), "it needs none any more: {rows:?}");
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    let before = snapshot(&node.path("data"));
    let (rows, _) = examined(&node);
    assert!(rows["agent"].1.contains("none runs"), "{rows:?}");
    assert!(snapshot(&node.path("data")) == before, "a look changes nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_wrong_on_the_disk_is_told_with_its_mend() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), &quiet());
    let mode = |path: &str, mode| {
        fs::set_permissions(node.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("token", 0o644);
    let (state, words) = check(&node, "token");
    assert_eq!(state, "bad");
    assert!(words.contains("mode 0644") && words.contains("chmod 0600 "), "{words}");
    fs::remove_file(node.path("token")).unwrap();
    let (state, words) = check(&node, "token");
    assert_eq!(state, "bad");
    assert!(words.contains("there is none: ") && words.contains("(missing)"), "{words}");
    fs::create_dir(node.path("data")).unwrap();
    mode("data", 0o755);
    let (state, words) = check(&node, "data directory");
    assert_eq!(state, "bad");
    assert!(words.contains("mode 0755") && words.contains("chmod 0700 "), "{words}");
    mode("data", 0o700);
    node.closed("data/identity.json", "{\"node_id\": ");
    let (state, words) = check(&node, "identity");
    assert_eq!(state, "bad");
    assert!(words.contains("identity.json is cut off"), "{words}");
}

#[test]
fn a_configuration_that_is_wrong_is_told_with_each_fault() {
    let node = Node::new("http://127.0.0.1:9", "[tunnel]\nmtu = -1\nmtuu = 1\n");
    let output = node.run(&["doctor"]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert_eq!(told.lines().count(), 2, "{told}");
    assert!(told.contains("bad   configuration: ") && told.contains("tunnel.mtuu"), "{told}");
}

#[test]
fn a_control_plane_that_is_none_is_told_by_how_far_the_way_to_it_goes() {
    let at = |url: &str, name: &str| check(&Node::new(url, &quiet()), name);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (state, words) = at(&format!("http://{closed}"), "connect");
    assert_eq!(state, "bad");
    assert!(words.contains(&format!("nobody answers at {closed}")), "{words}");
    let (state, words) = at("http://name.invalid", "dns");
    assert_eq!(state, "bad");
    assert!(words.contains("the name name.invalid"), "{words}");
    let absent = answering("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    let (state, words) = at(&absent, "control plane");
    assert_eq!(state, "bad");
    assert!(words.contains("reachable, but no control plane answers at this path"), "{words}");
    let other = answering("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    let (_, words) = at(&other, "control plane");
    assert!(words.contains("is no control plane"), "{words}");
    let plain = answering("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    let (state, words) = at(&plain.replace("http:", "https:"), "tls");
    assert_eq!(state, "bad");
    assert!(words.contains("speaks TLS"), "{words}");
}

#[test]
fn a_clock_that_is_off_is_told_by_the_date_of_the_answer() {
    let old = answering(
        "HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 2015 00:00:00 GMT\r\ncontent-length: 28\r\n\r\n\
         {\"status\":\"ok\",\"checks\":[]}  ",
    );
    let (state, words) = check(&Node::new(&old, &quiet()), "clock");
    assert_eq!(state, "bad");
    assert!(words.contains("ahead of the control plane's") && words.contains("NTP"), "{words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_port_that_another_program_has_is_told() {
    let plane = fixture().await;
    let url = answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
    let port = url.trim_start_matches("http://");
    let node = Node::new(&plane.url(), &format!("[health]\nlisten = \"{port}\"\n{REST}"));
    let (state, words) = check(&node, "health listener");
    assert_eq!(state, "bad");
    assert!(words.contains("another program listens at"), "{words}");
}

#[test]
fn a_control_plane_that_never_answers_holds_nobody_longer_than_ten_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let node = Node::new(&url, &quiet());
    let mut child = node.command(&["doctor"]).stdout(Stdio::piped()).spawn().unwrap();
    let until = std::time::Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        assert!(std::time::Instant::now() < until, "it does not end");
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let told = text(&child.wait_with_output().unwrap().stdout);
    assert!(told.contains("bad   control plane: GET /v1/health has no answer"), "{told}");
}

#[test]
fn completions_are_scripts_of_their_shell_that_know_the_commands() {
    let node = Node::new("http://127.0.0.1:9", "");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = node.run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let script = text(&output.stdout);
        assert!(script.contains("doctor") && script.contains("meshward"), "{shell}");
        if shell == "bash" {
            let behind =
                |option: &str| script.split(option).nth(1).unwrap().trim_start().to_owned();
            for option in ["--param)\n", "--wait)\n", "--payload)\n"] {
                let said = behind(option);
                assert!(
                    said.starts_with("COMPREPLY=(\"${cur}\")"),
                    "no files behind {option}: {said:.40}"
                );
            }
            let mut parser = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
            parser.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            assert!(parser.wait().unwrap().success());
        }
    }
    assert_eq!(node.run(&["completions", "csh"]).status.code(), Some(2));
}
