//! Integrity through the binary: hooks, the program and the host key are changed, and the control plane is told.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use meshward_core::wire::grammar::Checksum;
use meshward_fixture::Running;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::{
    hooks::{folder, order, outcome, put, scene},
    hooks_place::{chmod, digest},
    manifest::declared,
    node::{Agent, Node, Plane, counter, delete, fixture, get, post, until, until_within},
    reports::{ask, times_told},
};

const GOOD: &str = "#!/bin/sh\necho good\n";
const BAD: &str = "#!/bin/sh\necho bad\n";
const ROUTE: &str = "/v1/nodes/*/integrity-violations";

/// Keys that were made for the tests, by the names of their files.
fn key(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/host_key").join(name)
}

const FIRST_KEY: &str = "SHA256:G2E/0Hn/l6704YOUTouzTgxXlmKwYHmBymdXSGI3czs";
const SECOND_KEY: &str = "SHA256:Fx7NyGQjbTrR/NYJgpvjJt2xWJH571gdXZKAPyLXY4s";

/// Every batch that was taken, in their order.
fn batches(plane: &Running) -> Vec<Vec<Value>> {
    let journal = get(plane, "/test/requests");
    let rows = journal["requests"].as_array().cloned().unwrap_or_default();
    let taken = rows.iter().filter(|row| {
        let path = row["path"].as_str().unwrap_or_default();
        path.ends_with("/integrity-violations") && row["status"] == 200
    });
    let body = |row: &Value| {
        let body: Value = serde_json::from_str(row["body"].as_str().unwrap()).unwrap();
        body["violations"].as_array().cloned().unwrap()
    };
    taken.map(body).collect()
}

fn violations(plane: &Running) -> Vec<Value> {
    batches(plane).concat()
}

fn of_hook(name: &str, (observed, expected): (&str, &str), detected_by: &str) -> Value {
    json!({
        "kind": "hook_checksum", "detected_by": detected_by, "artifact_id": name,
        "observed_checksum": digest(observed).to_string(), "expected_checksum": digest(expected).to_string(),
    })
}

fn known(node: &Node) -> Value {
    let bytes = fs::read(node.data("state/checksums.json")).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or(Value::Null)
}

async fn knows(node: &Node, name: &str) {
    until("the hook is known", || !known(node)["hooks"][name].is_null()).await;
}

fn configure(node: &Node, integrity: &str) {
    node.amend("[node]", &format!("[integrity]\n{integrity}\n[node]"));
}

/// A node with one good hook.
async fn hooked() -> Option<(Plane, Node)> {
    let (plane, node) = scene().await?;
    folder(&node);
    put(&node, "deploy", GOOD);
    Some((plane, node))
}

/// Lets it live for a while: two more heartbeats.
async fn lives_on(plane: &Running) {
    let beats = counter(plane, "heartbeat_count");
    until("it lives on", || counter(plane, "heartbeat_count") > beats + 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_hook_that_is_changed_while_the_agent_is_down_is_found_at_its_start_until_it_is_accepted()
{
    let Some((plane, node)) = hooked().await else { return };
    let agent = node.start();
    knows(&node, "deploy").await;
    assert_eq!(known(&node)["hooks"]["deploy"], digest(GOOD).to_hex());
    lives_on(&plane).await;
    assert_eq!(violations(&plane), [Value::Null; 0]);
    agent.kill();
    put(&node, "deploy", BAD);
    let expected = of_hook("deploy", (BAD, GOOD), "startup_scan");
    let agent = node.start();
    until("it is told", || violations(&plane) == [expected.clone()]).await;
    lives_on(&plane).await;
    assert_eq!(violations(&plane).len(), 1, "it is told once");
    assert_eq!(counter(&plane, "integrity_violation_count"), 1);
    assert!(node.log().contains("integrity violation: the hook \"deploy\" is "));
    agent.kill();
    let agent = node.start();
    until("the next process tells it again", || violations(&plane).len() == 2).await;
    agent.kill();
    // As operating.md says: what is accepted is removed from the file.
    let mut accepted = known(&node);
    accepted["hooks"].as_object_mut().unwrap().remove("deploy");
    fs::write(node.data("state/checksums.json"), accepted.to_string()).unwrap();
    let _agent = node.start();
    until("it is learnt anew", || known(&node)["hooks"]["deploy"] == digest(BAD).to_hex()).await;
    lives_on(&plane).await;
    assert_eq!(violations(&plane).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_hook_that_is_changed_under_the_agents_eyes_is_told_as_seen_by_the_watch() {
    let Some((plane, node)) = hooked().await else { return };
    let _agent = node.start();
    knows(&node, "deploy").await;
    until("it is registered", || counter(&plane, "heartbeat_count") > 0).await;
    put(&node, "deploy", BAD);
    let expected = of_hook("deploy", (BAD, GOOD), "inotify");
    until("it is told", || violations(&plane) == [expected.clone()]).await;
    assert_eq!(get(&plane, "/test/last-request/integrity_violations")["violations"][0], expected);
    put(&node, "deploy", GOOD);
    put(&node, "deploy", BAD);
    fs::remove_file(node.path("hooks/deploy")).unwrap();
    put(&node, "deploy", "#!/bin/sh\necho third\n");
    until("another content is told", || violations(&plane).len() == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_hook_that_is_changed_before_its_run_is_told_by_that_where_the_watch_tells_nothing() {
    let Some((plane, node)) = hooked().await else { return };
    configure(&node, "watch_enabled = false");
    let _agent = node.start();
    knows(&node, "deploy").await;
    until("it is registered", || counter(&plane, "heartbeat_count") > 0).await;
    put(&node, "deploy", BAD);
    order(&plane, "run-1", "deploy", &json!({}));
    let error = "integrity check failed for hook: deploy";
    assert_eq!(outcome(&plane, "run-1").await["error"], error);
    let expected = of_hook("deploy", (BAD, GOOD), "pre_dispatch");
    until("it is told", || violations(&plane) == [expected.clone()]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn where_integrity_is_off_nothing_is_told_or_kept_and_a_changed_hook_does_not_run() {
    let Some((plane, node)) = hooked().await else { return };
    configure(&node, "enabled = false");
    let _agent = node.start();
    until("it is declared", || declared(&plane)["declared_hooks"][0]["name"] == "deploy").await;
    put(&node, "deploy", BAD);
    order(&plane, "run-1", "deploy", &json!({}));
    let error = "integrity check failed for hook: deploy";
    assert_eq!(outcome(&plane, "run-1").await["error"], error);
    lives_on(&plane).await;
    assert_eq!(violations(&plane), [Value::Null; 0]);
    assert!(!node.data("state/checksums.json").exists());
}

/// Starts a copy of the binary, which may be replaced.
fn start_copy(node: &Node, copy: &Path) -> Agent {
    let log = fs::File::options().create(true).append(true).open(node.path("log")).unwrap();
    let mut command = Command::new(copy);
    command.arg("--config").arg(node.path("config.toml")).args(["--log-level", "debug", "run"]);
    command.env_remove("AGENT_BOOTSTRAP_TOKEN").stdin(Stdio::null()).stdout(Stdio::null());
    Agent::of(command.stderr(log).spawn().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_program_that_is_replaced_is_told_with_its_path_and_runs_on() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let copy = node.path("meshward");
    fs::copy(env!("CARGO_BIN_EXE_meshward"), &copy).unwrap();
    let agent = start_copy(&node, &copy);
    until("the program is known", || known(&node)["binary"]["path"] == json!(copy)).await;
    assert_eq!(known(&node)["binary"]["version"], env!("CARGO_PKG_VERSION"));
    lives_on(&plane).await;
    assert_eq!(violations(&plane), [Value::Null; 0]);
    agent.kill();
    // Another build of the same version, in the place of the first; what stands behind a program changes nothing of it.
    let mut other = fs::read(env!("CARGO_BIN_EXE_meshward")).unwrap();
    let was = Checksum::from_bytes(sha2::Sha256::digest(&other).into());
    other.extend_from_slice(b"another build");
    let is = Checksum::from_bytes(sha2::Sha256::digest(&other).into());
    fs::remove_file(&copy).unwrap();
    fs::write(&copy, other).unwrap();
    chmod(&copy, 0o755);
    let _agent = start_copy(&node, &copy);
    let expected = json!({
        "kind": "binary_checksum", "detected_by": "startup_scan", "artifact_id": copy,
        "observed_checksum": is.to_string(), "expected_checksum": was.to_string(),
    });
    until("it is told", || violations(&plane) == [expected.clone()]).await;
    assert!(node.log().contains("ERROR"), "the operator is told, too");
    lives_on(&plane).await;
    assert_eq!(known(&node)["binary"]["checksum"], was.to_hex(), "the baseline stays");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_host_key_is_declared_and_another_one_is_told_and_declared() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let file = node.path("ssh_host_key");
    configure(&node, &format!("ssh_host_key_file = {file:?}"));
    let agent = node.start();
    until("it is declared", || counter(&plane, "capabilities_count") == 1).await;
    assert_eq!(declared(&plane)["ssh_host_key_fingerprint"], Value::Null, "there is none");
    until("that is told", || times_told(&node, "(integrity.ssh_host_key_file) is not there") == 1)
        .await;
    agent.kill();
    fs::copy(key("ed25519"), &file).unwrap();
    let agent = node.start();
    until("it is declared", || declared(&plane)["ssh_host_key_fingerprint"] == FIRST_KEY).await;
    until("it is known", || known(&node)["ssh_host_key"]["fingerprint"] == FIRST_KEY).await;
    agent.kill();
    assert_eq!(violations(&plane), [Value::Null; 0]);
    fs::copy(key("ecdsa"), &file).unwrap();
    let _agent = node.start();
    let expected = json!({
        "kind": "ssh_host_key", "detected_by": "startup_scan", "artifact_id": file,
        "observed_fingerprint": SECOND_KEY, "expected_fingerprint": FIRST_KEY,
    });
    until("it is told", || violations(&plane) == [expected.clone()]).await;
    until("it is declared", || declared(&plane)["ssh_host_key_fingerprint"] == SECOND_KEY).await;
    let text = fs::read_to_string(key("ed25519")).unwrap();
    let secret = text.lines().nth(3).unwrap();
    assert!(!node.log().contains(secret), "the private half is in no log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn hundreds_of_violations_come_in_batches_once_the_control_plane_takes_them() {
    let Some((plane, node)) = hooked().await else { return };
    let name = |at: usize| format!("hook-{at:03}");
    let all = |content: &dyn Fn(usize) -> String| {
        (0..200).for_each(|at| put(&node, &name(at), &content(at)));
    };
    all(&|_| GOOD.to_owned());
    let agent = node.start();
    until("they are known", || {
        known(&node)["hooks"].as_object().is_some_and(|all| all.len() == 201)
    })
    .await;
    agent.kill();
    all(&|_| BAD.to_owned());
    post(&plane, "/test/faults", &json!({"path": ROUTE, "times": 1000, "status": 503}));
    let _agent = node.start();
    until("they are not taken", || node.log().contains("integrity violations were not taken"))
        .await;
    // Of the lines about them only the first of a minute are written.
    let waiting = async |count: u64| {
        let found = || {
            let status = ask(&node, "GET", "/v1/status", "", "").map(|(_, status)| status);
            let all = status.and_then(|status| status["queues"]["violations_waiting"].as_u64());
            all >= Some(count)
        };
        until_within(Duration::from_secs(60), "all are found", found).await;
    };
    // A file that is written twice before it is looked at is one finding.
    waiting(200).await;
    // A hundred more, which the watch sees while nothing is taken.
    (0..100).for_each(|at| put(&node, &name(at), &format!("{BAD}# {at}\n")));
    waiting(300).await;
    assert_eq!(violations(&plane), [Value::Null; 0]);
    assert!(plane.request(delete("/test/faults")).is_success());
    // The wait behind the refusals may be a minute and a quarter by then.
    until_within(Duration::from_secs(120), "all are told", || violations(&plane).len() == 300)
        .await;
    let batches = batches(&plane);
    assert!(batches.len() >= 3 && batches.iter().all(|batch| batch.len() <= 128));
    let mut told = violations(&plane);
    let by = |detector: &str| told.iter().filter(|one| one["detected_by"] == detector).count();
    // What was written right before the start is left alone by the first look.
    let (first, later) = (by("startup_scan"), by("inotify"));
    assert!(first + later == 300 && later >= 100, "{first} and {later}");
    told.sort_by_key(ToString::to_string);
    told.dedup();
    assert_eq!(told.len(), 300, "each once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_batch_that_is_refused_is_told_in_parts() {
    let Some((plane, node)) = hooked().await else { return };
    put(&node, "other", GOOD);
    let agent = node.start();
    knows(&node, "deploy").await;
    knows(&node, "other").await;
    agent.kill();
    put(&node, "deploy", BAD);
    put(&node, "other", BAD);
    let rule = json!({"path": ROUTE, "times": 1, "status": 413, "code": "integrity_violations_body_too_large"});
    post(&plane, "/test/faults", &rule);
    let _agent = node.start();
    until("all are told", || violations(&plane).len() == 2).await;
    assert_eq!(batches(&plane)[0].len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_violation_that_is_refused_alone_is_dropped_counted_and_told_once() {
    let Some((plane, node)) = hooked().await else { return };
    let agent = node.start();
    knows(&node, "deploy").await;
    agent.kill();
    put(&node, "deploy", BAD);
    let rule = json!({"path": ROUTE, "times": 9, "status": 413, "code": "integrity_violations_body_too_large"});
    post(&plane, "/test/faults", &rule);
    let _agent = node.start();
    let line = "does not take the integrity violation of \"deploy\", which is dropped: 413";
    until("it is dropped", || node.log().contains(line)).await;
    let status = node.run(&["status"]);
    let text = String::from_utf8(status.stdout).unwrap();
    assert!(text.contains("violations:     0 to deliver, 1 dropped\n"), "{text}");
    lives_on(&plane).await;
    assert_eq!(times_told(&node, line), 1);
    assert_eq!(violations(&plane), [Value::Null; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_damaged_file_of_baselines_is_kept_beside_and_everything_is_learnt_anew() {
    let Some((plane, node)) = hooked().await else { return };
    let agent = node.start();
    knows(&node, "deploy").await;
    agent.kill();
    fs::write(node.data("state/checksums.json"), "{\"hooks\":").unwrap();
    put(&node, "deploy", BAD);
    let _agent = node.start();
    until("it is learnt anew", || known(&node)["hooks"]["deploy"] == digest(BAD).to_hex()).await;
    let names = fs::read_dir(node.data("state")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let aside = names.filter(|name| name.starts_with("checksums.json.damaged-"));
    assert_eq!(aside.count(), 1);
    assert!(node.log().contains("does not tell what the files of this node were"));
    lives_on(&plane).await;
    assert_eq!(violations(&plane), [Value::Null; 0]);
}
