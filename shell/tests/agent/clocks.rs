//! The real agent under a wall clock that is a year off, or jumps by as much: libfaketime sets it apart, and leaves the
//! clock of its timers alone.

use std::{
    fs,
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use meshward_fixture::Running;
use serde_json::json;

use crate::{
    node::{Agent, Node, counter, fixture, get, post, until},
    reports::{ask, open, times_told},
};

const QUIET: &str = "[health]\nenabled = false\n";

/// Where the distributions have it.
fn library() -> PathBuf {
    let places = fs::read_dir("/usr/lib").unwrap().map(|place| place.unwrap().path());
    let mut found = places
        .chain([PathBuf::from("/usr/lib64"), PathBuf::from("/usr/lib")])
        .map(|place| place.join("faketime/libfaketimeMT.so.1"))
        .filter(|library| library.exists());
    found.next().expect("libfaketime is installed")
}

/// Sets the clock of a node's agent apart; a file in the place of another, so that none is read half-written.
fn set(node: &Node, offset: &str) {
    fs::write(node.path("clock.new"), format!("{offset}\n")).unwrap();
    fs::rename(node.path("clock.new"), node.path("clock")).unwrap();
}

fn start(node: &Node) -> Agent {
    let log = fs::File::options().create(true).append(true).open(node.path("log")).unwrap();
    let mut command = node.command(&["--log-level", "trace", "run"]);
    command
        .env("LD_PRELOAD", library())
        .env("FAKETIME_TIMESTAMP_FILE", node.path("clock"))
        .env("FAKETIME_NO_CACHE", "1")
        .env("DONT_FAKE_MONOTONIC", "1")
        .env("NO_FAKE_STAT", "1");
    Agent::of(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

/// How often a route was asked.
fn asked(plane: &Running, end: &str) -> u64 {
    let journal = get(plane, "/test/requests");
    let entries = journal["requests"].as_array().into_iter().flatten();
    let met =
        entries.filter(|entry| entry["path"].as_str().is_some_and(|path| path.ends_with(end)));
    met.count() as u64
}

/// Two more heartbeats were sent, whatever became of them.
async fn beats(plane: &Running) {
    let before = asked(plane, "/heartbeat");
    until("it beats", || asked(plane, "/heartbeat") >= before + 2).await;
}

/// The intervals are a second each, and each accepted heartbeat asks for a pull.
fn is_polite(plane: &Running, since: Instant) {
    let seconds = since.elapsed().as_secs() + 2;
    let (beats, pulls) = (asked(plane, "/heartbeat"), asked(plane, "/state"));
    assert!(beats <= seconds, "{beats} heartbeats in {seconds} s");
    assert!(pulls <= 2 * seconds, "{pulls} pulls in {seconds} s");
    assert!(seconds < 300, "the journal holds every request");
}

fn is_well(node: &Node) {
    let log = node.log();
    assert!(!log.contains("panicked"), "{log}");
    assert!(ask(node, "GET", "/v1/state", "", "").is_some(), "it answers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_wall_clock_that_jumps_by_a_year_either_way_costs_neither_identity_nor_calm() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), QUIET);
    set(&node, "+0d");
    let begun = Instant::now();
    let agent = start(&node);
    open(&node).await;
    until("a heartbeat is accepted", || counter(&plane, "heartbeat_count") > 0).await;
    for offset in ["+365d", "-365d", "+0d", "-365d", "+365d", "-30d", "+1d"] {
        set(&node, offset);
        beats(&plane).await;
        is_polite(&plane, begun);
        is_well(&node);
    }
    set(&node, "+0d");
    let accepted = counter(&plane, "heartbeat_count");
    let metadata = json!([{"key": "region", "value": "two"}]);
    post(&plane, "/test/configure-state", &json!({"state": {"metadata": metadata}}));
    until("heartbeats are accepted again", || counter(&plane, "heartbeat_count") > accepted + 1)
        .await;
    until("the state is pulled", || {
        ask(&node, "GET", "/v1/state/metadata", "", "")
            .is_some_and(|(_, all)| all["region"] == "two")
    })
    .await;
    is_polite(&plane, begun);
    assert_eq!(counter(&plane, "registration_count"), 1);
    // The first refusal of each row of refusals is told, of which there are two.
    assert_eq!(times_told(&node, "This node's clock is 365 d ahead of the control plane's"), 1);
    assert_eq!(times_told(&node, "This node's clock is 365 d behind the control plane's"), 1);
    assert_eq!(times_told(&node, "heartbeats are accepted again"), 2);
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_agent_that_starts_with_a_clock_a_year_off_registers_once_and_pulls() {
    for offset in ["+365d", "-365d"] {
        let plane = fixture().await;
        let node = Node::new(&plane.url(), QUIET);
        set(&node, offset);
        let begun = Instant::now();
        let _agent = start(&node);
        open(&node).await;
        until("it pulls", || counter(&plane, "state_count") > 2).await;
        until("its clock is refused", || times_told(&node, "check its time service (NTP)") == 1)
            .await;
        beats(&plane).await;
        assert_eq!(times_told(&node, "check its time service (NTP)"), 1, "told once");
        assert_eq!(counter(&plane, "registration_count"), 1);
        is_polite(&plane, begun);
        is_well(&node);
        // The time in the file of the last pull is of that clock: a right one counts it as an age, or as none.
        set(&node, "+0d");
        until("heartbeats are accepted", || counter(&plane, "heartbeat_count") > 0).await;
        assert!(begun.elapsed() < Duration::from_secs(300));
    }
}
