//! SIGHUP at the real agent: what changes at once, what waits for a restart, and what changes nothing.

use std::fs;

use crate::{
    node::{Agent, Node, Plane, counter, fixture, text, until},
    stream::{self, lively, scope, until_mode},
};

const HOUR: &str = "[heartbeat]\ninterval = \"1h\"";
const SECOND: &str = "[heartbeat]\ninterval = \"1s\"";

/// An agent that beats once and then rests.
async fn resting(extra: &str) -> (Plane, Node, Agent) {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), &format!("[health]\nenabled = false\n{extra}"));
    node.amend(SECOND, HOUR);
    let agent = start(&node);
    until("it beats and pulls", || {
        counter(&plane, "heartbeat_count") == 1
            && node.run(&["state", "metadata", "region"]).status.success()
    })
    .await;
    (plane, node, agent)
}

/// Starts it with the log level of its file.
fn start(node: &Node) -> Agent {
    let log = fs::File::options().create(true).append(true).open(node.path("log")).unwrap();
    Agent::of(node.command(&["run"]).stderr(log).spawn().unwrap())
}

async fn told(node: &Node, words: &str) {
    until(words, || node.log().contains(words)).await;
}

fn dump(node: &Node) -> String {
    text(&node.run(&["actions", "run", "config.dump"]).stdout)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_shorter_interval_and_another_log_level_hold_at_once() {
    let (plane, node, agent) = resting("[log]\nlevel = \"info\"\n").await;
    node.amend(HOUR, SECOND);
    node.amend("level = \"info\"", "level = \"debug\"");
    agent.signal("-HUP");
    told(&node, "SIGHUP: the configuration is read again: heartbeat.interval, log.level changed")
        .await;
    until("it beats by the new interval", || counter(&plane, "heartbeat_count") >= 3).await;
    told(&node, "heartbeat accepted at").await;
    let dumped = dump(&node);
    assert!(dumped.contains("[heartbeat]\ninterval = \"1s\""), "{dumped}");
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_needs_a_restart_is_listed_while_the_rest_of_the_file_holds() {
    let (plane, node, agent) = resting("").await;
    node.amend(HOUR, "[heartbeat]\ninterval = \"1s\"\n[sessions]\nenabled = false");
    node.amend("resource_handle = \"node-1\"", "resource_handle = \"node-2\"");
    agent.signal("-HUP");
    told(&node, "heartbeat.interval changed").await;
    told(
        &node,
        "SIGHUP: these settings stay as they are until the agent is restarted: \
         registration.resource_handle, sessions.enabled",
    )
    .await;
    until("it beats by the new interval", || counter(&plane, "heartbeat_count") >= 3).await;
    assert!(dump(&node).contains("resource_handle = \"node-1\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_that_is_broken_or_gone_changes_nothing_and_all_its_faults_are_told() {
    let (plane, node, agent) = resting("").await;
    let sound = fs::read_to_string(node.path("config.toml")).unwrap();
    let broken = sound.replace(HOUR, "[heartbeat]\ninterval = \"1s\"\nintervall = \"1s\"");
    fs::write(node.path("config.toml"), broken + "[tunnel]\nmtu = -1\n").unwrap();
    agent.signal("-HUP");
    told(&node, "SIGHUP: nothing is changed: the configuration is wrong: ").await;
    let log = node.log();
    let line = log.lines().find(|line| line.contains("SIGHUP")).unwrap();
    assert!(line.contains("heartbeat.intervall") && line.contains("tunnel.mtu"), "{line}");
    fs::remove_file(node.path("config.toml")).unwrap();
    agent.signal("-HUP");
    told(&node, "cannot read it").await;
    fs::write(node.path("config.toml"), sound).unwrap();
    agent.signal("-HUP");
    told(&node, "the configuration is read again, and no setting that a reload takes has changed")
        .await;
    assert_eq!(counter(&plane, "heartbeat_count"), 1, "it rests as before");
    assert!(dump(&node).contains("[heartbeat]\ninterval = \"1h\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_pipe_in_the_place_of_a_file_holds_up_neither_a_reload_nor_the_stop() {
    let (_plane, node, agent) = resting("").await;
    let config = node.path("config.toml");
    let sound = fs::read_to_string(&config).unwrap();
    let pipe = |path: &std::path::Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    };
    fs::remove_file(&config).unwrap();
    pipe(&config);
    agent.signal("-HUP");
    told(&node, "config.toml: cannot read it: it is not a regular file").await;
    fs::remove_file(&config).unwrap();
    let certificates = node.path("ca.pem");
    pipe(&certificates);
    let named = format!("[control_plane]\nca_file = {certificates:?}\n");
    let secure = sound.replace("url = \"http://", "url = \"https://");
    fs::write(&config, secure.replace("[control_plane]\n", &named)).unwrap();
    agent.signal("-HUP");
    told(&node, "ca.pem: cannot read it: it is not a regular file").await;
    fs::write(&config, sound.replace(HOUR, SECOND)).unwrap();
    agent.signal("-HUP");
    told(&node, "heartbeat.interval changed").await;
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_configuration_that_no_start_would_take_changes_nothing() {
    let (plane, node, agent) = resting("").await;
    node.amend(HOUR, SECOND);
    node.amend("[control_plane]\n", "[control_plane]\nca_file = \"/does/not/exist\"\n");
    let secure = plane.url().replace("http://", "https://");
    node.amend(&format!("url = {:?}", plane.url()), &format!("url = {secure:?}"));
    agent.signal("-HUP");
    told(
        &node,
        "SIGHUP: nothing is changed: control_plane.ca_file /does/not/exist: cannot read it",
    )
    .await;
    assert!(dump(&node).contains("[heartbeat]\ninterval = \"1h\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_agent_that_waits_for_its_registration_hears_a_reload_too() {
    let node = Node::new("http://127.0.0.1:9", "[health]\nenabled = false\n");
    let agent = start(&node);
    told(&node, "starting").await;
    node.amend(SECOND, "[heartbeat]\ninterval = \"2s\"");
    agent.signal("-HUP");
    told(&node, "heartbeat.interval changed").await;
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
}

/// The wait for the next try is under way, and would last an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stream_that_was_not_to_be_had_is_asked_for_at_a_shorter_pace_at_once() {
    let plane = lively().await;
    scope(&plane, "descoped");
    let node = stream::node(&plane.url());
    let (second, hour) =
        ["1s", "1h"].map(|pace| format!("sse_reprobe_interval = \"{pace}\"")).into();
    node.amend(&second, &hour);
    let agent = start(&node);
    told(&node, "the control plane has no stream of events").await;
    scope(&plane, "streaming");
    node.amend(&hour, &second);
    agent.signal("-HUP");
    told(&node, "control_plane.sse_reprobe_interval changed").await;
    until_mode(&node, "streaming").await;
}
