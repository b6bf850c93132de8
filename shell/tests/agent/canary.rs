//! Secrets with marks of their own go through a whole life of an agent, and stand nowhere but where they are kept.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use meshward_core::plane::site;
use meshward_fixture::Running;
use serde_json::json;

use crate::{
    hooks::{folder, order, put},
    hooks_place::is_root,
    local::ask,
    node::{Agent, Node, TOKEN, counter, get, later, post, read, text, until},
    voice::{append, both, endpoint, tell_of_a_file, until_followed},
};

/// Files that hold a secret because it is kept there, all closed to others.
const KEPT: [&str; 5] =
    ["data/private_key", "data/node_secret_key", "data/rotation_pending_key", "token", "api-token"];

/// The bearer of the TCP listener.
const API_TOKEN: &str = "canary-api-token-canary-api-token";

/// What a hook is given.
const PARAMETER: &str = "canary-parameter-canary-parameter";

/// A secret with what it is called where it is found.
struct Mark {
    name: &'static str,
    bytes: Vec<u8>,
}

impl Mark {
    fn new(name: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        assert!(bytes.len() >= 16, "{name} is too short to be told from chance");
        Self { name, bytes }
    }

    /// A key that is kept as base64; it may be printed as that or as what it stands for.
    fn key(name: &'static str, file: &Path) -> Self {
        let kept = fs::read_to_string(file).unwrap();
        Self::new(name, STANDARD.decode(kept.trim()).unwrap())
    }

    /// Every way in which these bytes may have been written.
    fn spellings(&self) -> Vec<Vec<u8>> {
        let hex: String = self.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let listed = format!("{:?}", self.bytes);
        let engines = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
        let mut all: Vec<Vec<u8>> =
            engines.map(|engine| engine.encode(&self.bytes).into_bytes()).into();
        all.extend([
            self.bytes.clone(),
            hex.to_uppercase().into_bytes(),
            hex.into_bytes(),
            listed.trim_matches(['[', ']']).as_bytes().to_vec(),
        ]);
        all
    }

    fn stands_in(&self, text: &[u8]) -> bool {
        self.spellings().iter().any(|spelled| text.windows(spelled.len()).any(|at| at == spelled))
    }
}

/// What others may see of an agent, piece by piece, with where it was seen.
#[derive(Default)]
struct Seen(Vec<(String, Vec<u8>)>);

impl Seen {
    fn note(&mut self, place: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push((place.into(), bytes.into()));
    }

    fn command(&mut self, node: &Node, arguments: &[&str]) {
        let output = node.run(arguments);
        self.note(format!("standard error of {arguments:?}"), output.stderr);
        if arguments.first() != Some(&"secret") {
            self.note(format!("output of {arguments:?}"), output.stdout);
        }
    }

    /// The arguments alone: a hook has its parameters in its environment.
    fn arguments(&mut self, pid: u32) {
        for (pid, what) in family(pid) {
            let bytes = fs::read(format!("/proc/{pid}/cmdline"));
            self.note(format!("cmdline of {what}"), bytes.unwrap_or_default());
        }
    }

    /// The arguments of a process and of all that it started.
    fn processes(&mut self, pid: u32) {
        for (pid, what) in family(pid) {
            for file in ["cmdline", "environ"] {
                if let Ok(bytes) = fs::read(format!("/proc/{pid}/{file}")) {
                    self.note(format!("{file} of {what}"), bytes);
                }
            }
        }
    }

    /// Every file that others may read, and every file at all but those that keep a secret.
    fn files(&mut self, home: &Path) {
        for path in walk(home) {
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            let kept = KEPT.iter().any(|name| path == home.join(name));
            assert!(!kept || mode & 0o077 == 0, "{} is open to others", path.display());
            if !kept {
                self.note(path.display().to_string(), fs::read(&path).unwrap_or_default());
            }
        }
    }
}

fn family(pid: u32) -> Vec<(u32, String)> {
    let mut found = vec![(pid, "the agent".to_owned())];
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    for child in children.unwrap_or_default().split_whitespace() {
        found.push((child.parse().unwrap(), format!("child {child}")));
    }
    found
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            files.extend(walk(&path));
        } else if kind.is_file() {
            files.push(path);
        }
    }
    files
}

/// Registers, rotates, runs, reads secrets, reports, is refused and fails, with all of it noted.
async fn live(plane: &Running, node: &Node, seen: &mut Seen) -> Vec<Mark> {
    let mut marks = vec![
        Mark::new("the bootstrap token", TOKEN),
        Mark::new("the secret's value", site::LOCAL_BEARER),
        Mark::new("the token of the TCP listener", API_TOKEN),
        Mark::new("the bearer", plane.bearer()),
    ];
    let agent = node.start();
    until("the agent is ready", || node.run(&["status"]).status.success()).await;
    marks.push(Mark::key("the first private key", &node.data("private_key")));
    marks.push(Mark::key("the node secret key", &node.data("node_secret_key")));
    post(plane, "/test/configure-state", &execution());
    post(plane, "/test/configure-heartbeat", &json!({"reconcile": true, "rotate_keys": true}));
    until("a key is rotated", || counter(plane, "key_rotate_count") == 1).await;
    until("a run is settled", || {
        seen.processes(agent.id());
        node.log().contains("Finished")
    })
    .await;
    marks.extend(hook(plane, node, seen, agent.id()).await);
    marks.push(Mark::key("the second private key", &node.data("private_key")));
    commands(node, seen);
    tell(plane, node, seen).await;
    // The control plane echoes what it was sent, and fails.
    let spoil = json!({"path": "/v1/nodes/*/heartbeat", "times": 2, "status": 401});
    post(plane, "/test/faults", &spoil);
    let refused = counter(plane, "heartbeat_count");
    until("heartbeats go on", || counter(plane, "heartbeat_count") > refused).await;
    seen.processes(agent.id());
    agent.kill();
    restart(node, seen).await;
    marks
}

/// Sends records, to a local endpoint too, whose token is a secret.
async fn tell(plane: &Running, node: &Node, seen: &mut Seen) {
    until_followed(node).await;
    append(node, &["create"]);
    until("both receivers have a record", || {
        ["audit_count", "local_audit_count"].iter().all(|name| counter(plane, name) > 0)
    })
    .await;
    for what in ["metrics", "logs", "audit", "local_audit"] {
        let path = format!("/test/last-request/{what}");
        let told = plane.request(read(&path));
        seen.note(format!("the last {what} that were sent"), told.body.to_vec());
    }
    let figures = ask(node, "/metrics");
    assert!(figures.contains("meshward_local_records_total"), "{figures}");
    seen.note("the figures", figures);
}

/// Gives a secret to a hook, which prints so much that its output is brought under a presigned URL.
async fn hook(plane: &Running, node: &Node, seen: &mut Seen, pid: u32) -> Vec<Mark> {
    if !is_root() {
        return Vec::new();
    }
    folder(node);
    put(node, "canary", "#!/bin/sh\nset -eu\n[ -n \"$AGENT_PARAM_SECRET\" ]\nseq 6000\n");
    // Before that it is an unknown action.
    let listed = || text(&node.run(&["hooks", "list"]).stdout).contains("canary ");
    until("the hook is discovered", listed).await;
    order(plane, "canary-2", "canary", &json!({"secret": PARAMETER}));
    until("the hook has run and its output was brought", || {
        seen.arguments(pid);
        get(plane, "/test/executions")["canary-2"] == "succeeded"
    })
    .await;
    assert!(counter(plane, "execution_upload_count") >= 1, "its output was brought");
    vec![
        Mark::new("the value of a parameter", PARAMETER),
        // What the fixture mints for the first uploads; on a busy host the action before prints as much.
        Mark::new("the token of an upload", "exec-upload-0001"),
        Mark::new("the token of another upload", "exec-upload-0002"),
    ]
}

fn execution() -> serde_json::Value {
    json!({"executions": [{
        "execution_id": "canary-1",
        "action": "diagnostics.collect",
        "type": "builtin",
        "status": "pending",
        "requested_at": later(std::time::Duration::ZERO),
        "expires_at": later(std::time::Duration::from_secs(600)),
    }]})
}

fn commands(node: &Node, seen: &mut Seen) {
    let all = [
        &["secret", "get", "db-password"][..],
        &["secret", "get", "db-password", "--version", "99"],
        &["secret", "list"],
        &["report", "put", "canary", "--payload", "1"],
        &["report", "list"],
        &["state"],
        &["peers"],
        &["status", "--output", "json"],
        &["config", "show"],
        &["config", "show", "--output", "json"],
        &["config", "check"],
        &["doctor"],
        &["doctor", "--output", "json"],
        &["register"],
    ];
    for arguments in all {
        seen.command(node, arguments);
    }
}

/// Starts again, and once more with an identity that is damaged.
async fn restart(node: &Node, seen: &mut Seen) {
    let agent: Agent = node.start();
    until("the agent is ready again", || node.run(&["status"]).status.success()).await;
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    let kept = fs::read(node.data("node_secret_key")).unwrap();
    fs::write(node.data("node_secret_key"), &kept[..kept.len() - 3]).unwrap();
    seen.command(node, &["register"]);
    fs::write(node.data("node_secret_key"), kept).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_secret_stands_anywhere_but_where_it_is_kept_through_a_whole_life() {
    let (plane, local) = both().await;
    let node = Node::new(
        &plane.url(),
        "[health]\nenabled = false\n[metrics]\n[logs]\n[audit]\n[local_api]\ndebounce_period = \"10ms\"\nhttp_enabled = true\nhttp_listen = \"127.0.0.1:0\"\n",
    );
    tell_of_a_file(&node, &endpoint(&local));
    node.closed("api-token", API_TOKEN);
    node.closed("token", TOKEN);
    node.amend(
        "http_enabled = true",
        &format!("http_enabled = true\nhttp_token_file = {:?}", node.path("api-token")),
    );
    node.amend("[node]", &format!("[actions]\nhooks_dir = {:?}\n[node]", node.path("hooks")));
    let mut seen = Seen::default();
    let marks = live(&plane, &node, &mut seen).await;
    seen.files(&node.path(""));
    assert!(node.log().contains("Restarted") && node.log().contains("Send"), "the recorder is on");
    let found: Vec<String> = marks
        .iter()
        .flat_map(|mark| {
            let places = seen.0.iter().filter(|(_, bytes)| mark.stands_in(bytes));
            places.map(|(place, _)| format!("{} stands in {place}", mark.name))
        })
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_mark_is_found_in_every_spelling() {
    let mark = Mark::new("a mark", [0xfb; 16]);
    let spelled = [
        "fbfbfbfbfbfbfbfbfbfbfbfbfbfbfbfb",
        "FBFBFBFBFBFBFBFBFBFBFBFBFBFBFBFB",
        "-_v7-_v7-_v7-_v7-_v7-w",
        "+/v7+/v7+/v7+/v7+/v7+w==",
        "251, 251, 251, 251, 251, 251, 251, 251, 251, 251, 251, 251, 251, 251, 251, 251",
    ];
    for text in spelled {
        assert!(mark.stands_in(format!("before {text} behind").as_bytes()), "{text}");
    }
    assert!(!mark.stands_in(b"fbfbfbfb"));
}

#[test]
fn what_others_see_of_a_test_is_really_looked_at() {
    let node = Node::new("http://127.0.0.1:9", "");
    node.closed("token", TOKEN);
    fs::write(node.path("left-behind"), TOKEN).unwrap();
    let mut seen = Seen::default();
    seen.command(&node, &["config", "show"]);
    seen.processes(std::process::id());
    seen.files(&node.path(""));
    let mark = Mark::new("the bootstrap token", TOKEN);
    let places: Vec<&str> = seen
        .0
        .iter()
        .filter(|(_, bytes)| mark.stands_in(bytes))
        .map(|(place, _)| place.as_str())
        .collect();
    assert_eq!(places, [node.path("left-behind").display().to_string()]);
    assert!(
        text(&seen.0.iter().find(|(place, _)| place.starts_with("cmdline")).unwrap().1)
            .contains("agent")
    );
}
