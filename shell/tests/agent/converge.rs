//! Faults of HTTP on every route at once: when they end, the agent brings about what is configured, by itself.

use std::time::{Duration, Instant};

use meshward_fixture::{Fixture, Options, Running};
use serde_json::{Value, json};

use crate::{
    node::{Agent, Node, Plane, counter, delete, fixture, get, later, post},
    reports::{ask, open, put, times_told},
    way::{Mode, Way},
};

const QUICK: &str = "[health]\nenabled = false\n[local_api]\ndebounce_period = \"100ms\"\n";

/// How long convergence may take on a busy machine: a report that was not taken is sent again after 30 s.
const LIMIT: Duration = Duration::from_secs(90);

/// Routes with how they are told in a journal, and how often the fault meets the first two requests or all.
const ROUTES: [(&str, &str, u32); 4] = [
    ("/v1/nodes/*/heartbeat", "/heartbeat", 10_000),
    // The execution has to be seen for its callbacks to meet the fault.
    ("/v1/nodes/*/state", "/state", 2),
    ("/v1/nodes/*/executions/*", "/executions/run-1", 10_000),
    ("/v1/nodes/*/state/reports/*", "/reports/app.build", 10_000),
];

/// How often it is looked: the control planes of a test share its threads, and looking holds them up.
const GLANCE: Duration = Duration::from_millis(250);

async fn within(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    let mut glance = tokio::time::interval(GLANCE);
    while !condition() {
        assert!(Instant::now() < end, "in vain: {what}");
        glance.tick().await;
    }
}

fn node(url: &str) -> Node {
    let node = Node::new(url, QUICK);
    node.amend("[registration]", "request_timeout = \"2s\"\n[registration]");
    node
}

fn configure(plane: &Running, value: &str, execution: Option<&str>) {
    let execution = execution.map(|id| {
        json!({
            "execution_id": id, "action": "diagnostics.collect", "type": "builtin", "status": "pending",
            "parameters": {"include_processes": false, "include_network": false},
            "requested_at": later(Duration::ZERO), "expires_at": later(Duration::from_secs(600)),
        })
    });
    let executions: Vec<_> = execution.into_iter().collect();
    let metadata = json!([{"key": "region", "value": value}]);
    let state = json!({"state": {"metadata": metadata}, "executions": executions});
    post(plane, "/test/configure-state", &state);
}

fn region(node: &Node) -> Value {
    ask(node, "GET", "/v1/state/metadata", "", "")
        .map_or(Value::Null, |(_, metadata)| metadata["region"].clone())
}

/// How often a route was asked, as its journal tells, with any answer or with this one.
fn asked(plane: &Running, end: &str, status: Option<u64>) -> usize {
    let journal = get(plane, "/test/requests");
    let entries = journal["requests"].as_array().into_iter().flatten();
    let met = entries.filter(|entry| {
        let path = entry["path"].as_str().unwrap_or_default();
        path.ends_with(end) && status.is_none_or(|status| entry["status"] == status)
    });
    met.count()
}

/// All that is configured is there, on either side, and the execution has come to one of these ends.
async fn converged(name: &str, plane: &Running, node: &Node, ends: &[&str]) {
    let beats = counter(plane, "heartbeat_count");
    within(&format!("{name}: the metadata are served"), || region(node) == "two").await;
    within(&format!("{name}: the execution settles"), || {
        let status = get(plane, "/test/executions")["run-1"].clone();
        ends.contains(&status.as_str().unwrap_or_default())
    })
    .await;
    within(&format!("{name}: a heartbeat is accepted"), || {
        counter(plane, "heartbeat_count") > beats
    })
    .await;
    within(&format!("{name}: the report is delivered"), || {
        asked(plane, "/reports/app.build", Some(200)) > 0
    })
    .await;
    assert_eq!(counter(plane, "registration_count"), 1, "{name}: no new registration");
}

async fn begun(plane: &Running, node: &Node) -> Agent {
    configure(plane, "one", None);
    let agent = node.start();
    open(node).await;
    within("the first pull", || region(node) == "one").await;
    agent
}

/// Spoils every route so, until each was met, and looks whether the agent comes back.
async fn recovers(fault: Value, ends: &'static [&'static str]) {
    let plane = fixture().await;
    let node = node(&plane.url());
    let _agent = begun(&plane, &node).await;
    let name = fault.to_string();
    let before = ROUTES.map(|(_, end, _)| asked(&plane, end, None));
    for (path, _, times) in ROUTES {
        let mut rule = fault.clone();
        rule["path"] = json!(path);
        rule["times"] = json!(times);
        post(&plane, "/test/faults", &rule);
    }
    configure(&plane, "two", Some("run-1"));
    within(&format!("{name}: the report is written"), || put(&node, "app.build", "1").is_some())
        .await;
    for ((_, end, _), before) in ROUTES.into_iter().zip(before) {
        within(&format!("{name}: {end} is spoilt"), || asked(&plane, end, None) > before).await;
    }
    for path in ["/test/faults", "/test/requests"] {
        assert!(plane.request(delete(path)).is_success());
    }
    converged(&name, &plane, &node, ends).await;
}

async fn all_recover(faults: Vec<Value>, ends: &'static [&'static str]) {
    let running = faults.into_iter().map(|fault| tokio::spawn(recovers(fault, ends)));
    let running: Vec<_> = running.collect();
    for one in running {
        one.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_agent_whose_calls_are_refused_converges_when_they_are_taken_again() {
    let refused = [400, 401, 403, 404, 413, 429, 500, 501, 503];
    let faults = refused.map(|status| match status {
        400 => json!({"status": 400, "code": "clock_skew"}),
        429 => json!({"status": 429, "code": "rate_limited", "retry_after": 1}),
        503 => json!({"status": 503, "code": "of_the_future", "retry_after": "3600"}),
        _ => json!({"status": status}),
    });
    all_recover(faults.to_vec(), &["succeeded"]).await;
}

/// Where the answer to its beginning is lost a run is never begun, and reported as such.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_agent_whose_answers_are_lost_late_or_cut_off_converges_when_they_come_again() {
    let mut faults =
        vec![json!({"drop": true}), json!({"delay_ms": 5_000}), json!({"reset": "after_headers"})];
    faults.extend([0, 1, 20].map(|at| json!({"truncate_after": at})));
    all_recover(faults, &["succeeded", "failed"]).await;
}

/// The answer breaks off within its head, at several bytes, then no byte comes at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_agent_behind_a_network_that_cuts_or_swallows_converges_when_it_carries_again() {
    let plane = fixture().await;
    let way = Way::to(plane.addr()).await;
    let node = node(&way.url());
    let _agent = begun(&plane, &node).await;
    let modes = [0, 1, 9, 17, 60, 200].map(Mode::Cut).into_iter().chain([Mode::Silent]);
    for (round, mode) in modes.enumerate() {
        let (value, before) = (format!("round {round}"), way.taken());
        way.set(mode);
        configure(&plane, &value, None);
        within("it is tried in vain", || way.taken() >= before + 3).await;
        assert_ne!(region(&node), value, "{mode:?} lets nothing through");
        way.set(Mode::Open);
        within(&format!("after {mode:?}"), || region(&node) == value.as_str()).await;
    }
    way.set(Mode::Silent);
    configure(&plane, "two", Some("run-1"));
    within("the report is written", || put(&node, "app.build", "1").is_some()).await;
    let before = way.taken();
    within("it is tried in vain", || way.taken() >= before + 3).await;
    way.set(Mode::Open);
    converged("after a silence", &plane, &node, &["succeeded"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_agent_goes_on_with_a_control_plane_that_was_restarted_and_has_forgotten_everything() {
    let plane = Fixture::start(Options::default()).await.unwrap();
    let way = Way::to(plane.addr()).await;
    let node = node(&way.url());
    let _agent = begun(&plane, &node).await;
    way.set(Mode::Shut);
    plane.shutdown().await;
    let before = way.taken();
    within("it is tried in vain", || {
        way.taken() >= before + 3
            && times_told(&node, "the heartbeat failed") > 0
            && times_told(&node, "the state pull failed") > 0
    })
    .await;
    assert_eq!(region(&node), "one", "what is known is served");
    let again: Plane = fixture().await;
    configure(&again, "two", Some("run-1"));
    way.lead_to(again.addr());
    way.set(Mode::Open);
    within("the metadata are served", || region(&node) == "two").await;
    within("the execution settles", || get(&again, "/test/executions")["run-1"] == "succeeded")
        .await;
    within("the report is written", || put(&node, "app.build", "1").is_some()).await;
    within("the report is delivered", || asked(&again, "/reports/app.build", Some(200)) > 0).await;
    assert_eq!(counter(&again, "registration_count"), 0, "the identity is kept");
    for part in ["heartbeats are accepted again, after", "the state is pulled again, after"] {
        within(part, || times_told(&node, part) == 1).await;
    }
    for part in ["the heartbeat failed", "the state pull failed"] {
        assert_eq!(times_told(&node, part), 1, "{part}: told once while it lasts");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_that_drifts_is_told_before_heartbeats_are_refused_and_once() {
    let plane = fixture().await;
    let node = node(&plane.url());
    let fault = json!({"path": "/v1/nodes/*/heartbeat", "times": 3, "clock_offset_ms": 45_000});
    post(&plane, "/test/faults", &fault);
    let _agent = begun(&plane, &node).await;
    let told = |part: &str| times_told(&node, part);
    within("the clock is right again", || told("agrees with the control plane's again") == 1).await;
    assert_eq!(told("s behind the control plane's, which refuses heartbeats from 1 min on"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_that_is_refused_is_told_with_what_the_date_of_the_refusal_says() {
    let plane = fixture().await;
    let node = node(&plane.url());
    let two_hours_and_more = 7_410_000;
    let fault = json!({
        "path": "/v1/nodes/*/heartbeat", "times": 3, "clock_offset_ms": two_hours_and_more,
    });
    post(&plane, "/test/faults", &fault);
    let _agent = begun(&plane, &node).await;
    let told = |part: &str| times_told(&node, part);
    within("heartbeats are accepted", || told("heartbeats are accepted again") == 1).await;
    assert_eq!(told("This node's clock is 2 h 3 min behind the control plane's"), 1);
}
