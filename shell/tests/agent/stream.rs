//! The event stream of the running agent against the fixture: what an event leads to, and every way in which the stream
//! goes wrong, after which the agent comes back to the configured state by the stream alone.

use std::time::Duration;

use meshward_core::plane::site;
use meshward_fixture::{Fixture, Options};
use serde_json::{Value, json};

use crate::{
    node::{
        Agent, Node, Plane, counter, delete, fixture, get, later, post, text, until, until_within,
    },
    reports::ask,
};

/// As long as it may take a node to come back that has taken its control plane for away.
const AWAY: Duration = Duration::from_secs(150);

pub(crate) const EVENTS: &str = "/v1/nodes/*/events";

/// A node whose pulls come from the stream and nothing else, and that gives a silent stream up after two seconds.
pub(crate) fn node(url: &str) -> Node {
    let node = Node::new(url, "[health]\nenabled = false\n");
    node.amend("[heartbeat]\ninterval = \"1s\"", "[heartbeat]\ninterval = \"1h\"");
    node.amend("[reconcile]\ninterval = \"1s\"", "[reconcile]\ninterval = \"1h\"");
    let stream = "sse_idle_timeout = \"2s\"\nsse_reprobe_interval = \"1s\"\nrequest_timeout = \"2s\"\n[registration]";
    node.amend("[registration]", stream);
    node
}

/// A control plane whose streams say often that they are alive.
pub(crate) async fn lively() -> Plane {
    let keep_alive = Duration::from_millis(200);
    Plane::of(Fixture::start(Options { keep_alive, ..Options::default() }).await.unwrap())
}

pub(crate) fn metadatum(node: &Node, key: &str) -> Option<String> {
    let (_, body) = ask(node, "GET", &format!("/v1/state/metadata/{key}"), "", "")?;
    body["value"].as_str().map(str::to_owned)
}

pub(crate) async fn until_mode(node: &Node, mode: &str) {
    let what = format!("the mode is {mode}");
    until_within(AWAY, &what, || metadatum(node, "delivery_mode").as_deref() == Some(mode)).await;
}

/// Gives the node's metadata this value, which it learns by a pull.
pub(crate) fn configure(plane: &Plane, value: &str) {
    let state = json!({"state": {"metadata": [{"key": "zone", "value": value}]}});
    post(plane, "/test/configure-state", &state);
}

pub(crate) async fn until_pulled(node: &Node, value: &str) {
    let what = format!("{value} is pulled");
    until_within(AWAY, &what, || metadatum(node, "zone").as_deref() == Some(value)).await;
}

pub(crate) fn inject(plane: &Plane, kind: &str) {
    post(plane, "/test/inject-event", &json!({"id": "e", "type": kind}));
}

pub(crate) fn scope(plane: &Plane, mode: &str) {
    post(plane, "/test/configure-events", &json!({"mode": mode}));
}

/// Has the open stream end, in order, and lets another be opened.
fn cut(plane: &Plane) {
    scope(plane, "descoped");
    scope(plane, "streaming");
}

fn spoil(plane: &Plane, fault: &Value) {
    let mut rule = json!({"path": EVENTS, "times": 100_000});
    let members = rule.as_object_mut().unwrap();
    members.extend(fault.as_object().unwrap().clone());
    post(plane, "/test/faults", &rule);
}

/// How often the rule that is in force has acted.
fn struck(plane: &Plane) -> u64 {
    let rules = get(plane, "/test/faults");
    let left = rules["faults"][0]["left"].as_u64().expect("a rule");
    100_000 - left
}

fn mend(plane: &Plane) {
    assert!(plane.request(delete("/test/faults")).is_success());
}

/// A node with an open stream over which something has come, so that it knows where it is.
async fn followed(plane: &Plane) -> (Node, Agent) {
    let node = node(&plane.url());
    let agent = node.start();
    until_mode(&node, "streaming").await;
    configure(plane, "first");
    inject(plane, "node_state_updated");
    until_pulled(&node, "first").await;
    (node, agent)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_event_leads_to_a_pull_and_each_further_one_to_another() {
    let plane = fixture().await;
    let (node, _agent) = followed(&plane).await;
    for kind in ["node_state_updated", "policy_updated", "action_request", "peer_added"] {
        configure(&plane, kind);
        inject(&plane, kind);
        until_pulled(&node, kind).await;
    }
    let status: Value =
        serde_json::from_slice(&node.run(&["--output", "json", "status"]).stdout).unwrap();
    assert_eq!((&status["delivery_mode"], &status["ready"]), (&json!("streaming"), &json!(true)));
    let printed = text(&node.run(&["status"]).stdout);
    assert!(printed.contains("delivery mode:  streaming"), "{printed}");
    let read = node.run(&["state", "metadata", "delivery_mode"]);
    assert_eq!(text(&read.stdout), "streaming\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_rotation_of_the_mesh_key_is_asked_for_by_an_event() {
    let plane = fixture().await;
    let (_node, _agent) = followed(&plane).await;
    inject(&plane, "rotate_keys");
    until("the key is rotated", || counter(&plane, "key_rotate_count") == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_came_while_the_stream_was_gone_is_replayed_from_the_cursor() {
    let plane = fixture().await;
    let (node, _agent) = followed(&plane).await;
    scope(&plane, "descoped");
    until_mode(&node, "pull_only").await;
    // A rotation is told by its event alone, so that it shows that this very event came.
    inject(&plane, "rotate_keys");
    configure(&plane, "meanwhile");
    scope(&plane, "streaming");
    until_mode(&node, "streaming").await;
    until_pulled(&node, "meanwhile").await;
    until("the key is rotated", || counter(&plane, "key_rotate_count") == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn more_events_than_the_control_plane_keeps_are_a_gap_and_the_state_is_pulled() {
    let plane = fixture().await;
    let (node, _agent) = followed(&plane).await;
    scope(&plane, "descoped");
    until_mode(&node, "pull_only").await;
    for _ in 0..100 {
        inject(&plane, "a_type_of_another_version");
    }
    configure(&plane, "overrun");
    let requests = counter(&plane, "events_request_count");
    scope(&plane, "streaming");
    until_pulled(&node, "overrun").await;
    assert!(counter(&plane, "events_request_count") <= requests + 3, "and the cursor is kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_event_that_was_left_out_is_missed_by_its_number() {
    let plane = fixture().await;
    let (node, _agent) = followed(&plane).await;
    spoil(&plane, &json!({"stream": "missing"}));
    configure(&plane, "missed");
    inject(&plane, "node_state_updated");
    until("it is left out", || struck(&plane) == 1).await;
    mend(&plane);
    // Of a type that leads to nothing by itself.
    inject(&plane, "a_type_of_another_version");
    until_pulled(&node, "missed").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_control_plane_that_begins_anew_is_followed_from_its_own_beginning() {
    let plane = fixture().await;
    let (node, _agent) = followed(&plane).await;
    for _ in 0..5 {
        inject(&plane, "a_type_of_another_version");
    }
    let reset = json!({});
    post(&plane, "/test/reset", &reset);
    configure(&plane, "anew");
    inject(&plane, "node_state_updated");
    until_pulled(&node, "anew").await;
}

/// Spoils the opening of streams in this way and mends it, again and again; each time the node comes back by itself.
async fn openings(faults: &[(&str, Value)]) {
    let plane = lively().await;
    let (node, _agent) = followed(&plane).await;
    for (name, fault) in faults {
        spoil(&plane, fault);
        cut(&plane);
        until(&format!("{name} is met"), || struck(&plane) > 0).await;
        configure(&plane, name);
        inject(&plane, "node_state_updated");
        mend(&plane);
        until_pulled(&node, name).await;
        until_mode(&node, "streaming").await;
        // A verified event forgets the failures.
        let sound = format!("{name}, and goes on");
        configure(&plane, &sound);
        inject(&plane, "node_state_updated");
        until_pulled(&node, &sound).await;
    }
    let status = node.run(&["status"]);
    assert!(status.status.success(), "{}", text(&status.stdout));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_node_comes_back_from_connections_that_break_or_say_nothing() {
    openings(&[
        ("dropped", json!({"drop": true})),
        ("reset before its head", json!({"reset": "before_headers"})),
        ("reset behind its head", json!({"reset": "after_headers"})),
        ("cut off", json!({"truncate_after": 7})),
        ("broken chunks", json!({"malformed_chunk": true})),
        ("never answered", json!({"never": true})),
        ("silent", json!({"stream": "stall"})),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_node_comes_back_from_answers_that_are_no_stream() {
    openings(&[
        ("another type", json!({"content_type": "text/html"})),
        ("503", json!({"status": 503, "code": "pool_exhausted"})),
        ("500", json!({"status": 500})),
        ("429", json!({"status": 429, "retry_after": 1})),
        ("400", json!({"status": 400, "code": "invalid_cursor"})),
        ("409", json!({"status": 409})),
        ("501", json!({"status": 501})),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_node_comes_back_from_refusals_which_the_readiness_tells_meanwhile() {
    let plane = lively().await;
    let (node, _agent) = followed(&plane).await;
    for status in [401, 403, 404] {
        spoil(&plane, &json!({"status": status}));
        cut(&plane);
        until("it is not ready", || {
            let status = node.run(&["status"]);
            let told = text(&status.stdout);
            status.status.code() == Some(1) && told.contains("not ready: event delivery refused")
        })
        .await;
        let value = format!("after {status}");
        configure(&plane, &value);
        mend(&plane);
        until_pulled(&node, &value).await;
        until("it is ready", || node.run(&["status"]).status.success()).await;
    }
    assert_eq!(counter(&plane, "registration_count"), 1, "nothing of this is about the identity");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_node_follows_streams_that_are_slow_or_oddly_spelled() {
    let plane = lively().await;
    let (node, _agent) = followed(&plane).await;
    let faults = [
        ("late", json!({"delay_ms": 300})),
        ("byte by byte", json!({"dribble_ms": 1})),
        ("marked", json!({"stream": "bom"})),
        ("returns", json!({"stream": "cr"})),
        ("returns and feeds", json!({"stream": "crlf"})),
        ("pieces", json!({"stream": "split"})),
        ("twice", json!({"stream": "duplicate"})),
    ];
    for (name, fault) in faults {
        spoil(&plane, &fault);
        let opened = counter(&plane, "events_request_count");
        cut(&plane);
        until("it is open again", || {
            counter(&plane, "events_request_count") > opened && node_follows(&node)
        })
        .await;
        configure(&plane, name);
        inject(&plane, "node_state_updated");
        until_pulled(&node, name).await;
        until("the rule has acted", || struck(&plane) > 0).await;
        mend(&plane);
    }
}

fn node_follows(node: &Node) -> bool {
    metadatum(node, "delivery_mode").as_deref() == Some("streaming")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn events_that_are_not_well_signed_lead_to_nothing_and_the_stream_goes_on() {
    let plane = lively().await;
    let (node, _agent) = followed(&plane).await;
    let faults = [
        json!({"corrupt_signature": true}),
        json!({"stream": "bad_signature"}),
        json!({"stream": "stale_issued_at"}),
    ];
    for (number, fault) in faults.iter().enumerate() {
        spoil(&plane, fault);
        let opened = counter(&plane, "events_request_count");
        // It would rotate the mesh key, were it believed.
        inject(&plane, "rotate_keys");
        until("the rule has acted", || struck(&plane) > 0).await;
        mend(&plane);
        let value = format!("behind {number}");
        configure(&plane, &value);
        inject(&plane, "node_state_updated");
        until_pulled(&node, &value).await;
        assert_eq!(counter(&plane, "events_request_count"), opened, "it is the same stream");
    }
    assert_eq!(counter(&plane, "key_rotate_count"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_control_plane_without_a_stream_is_told_as_such_and_found_out_when_it_has_one() {
    let plane = fixture().await;
    scope(&plane, "descoped");
    let node = node(&plane.url());
    let _agent = node.start();
    until("it has asked twice", || counter(&plane, "events_request_count") > 1).await;
    assert_eq!(metadatum(&node, "delivery_mode").as_deref(), Some("pull_only"));
    assert!(node.run(&["status"]).status.success(), "that is no fault");
    let told = node.log();
    let told = told
        .lines()
        .filter(|line| line.contains("INFO") && line.contains("has no stream of events"));
    assert_eq!(told.count(), 1, "it is told once");
    configure(&plane, "found");
    scope(&plane, "streaming");
    until_mode(&node, "streaming").await;
    until_pulled(&node, "found").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_does_not_wait_for_a_stream_however_far_it_is() {
    for fault in [json!({"never": true}), json!({"stream": "stall"})] {
        let plane = fixture().await;
        spoil(&plane, &fault);
        let node = node(&plane.url());
        node.amend("request_timeout = \"2s\"", "request_timeout = \"1h\"");
        node.amend("sse_idle_timeout = \"2s\"", "sse_idle_timeout = \"1h\"");
        let agent = node.start();
        until("it is asked for", || struck(&plane) > 0).await;
        agent.signal("-TERM");
        assert_eq!(agent.ended(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_signing_key_is_replaced_by_an_event_with_its_grace_which_outlives_a_kill() {
    let plane = fixture().await;
    let (node, agent) = followed(&plane).await;
    // The fixture goes on to sign with the key of the registration, which has an hour left then.
    let replace = |previous: &str, key: &str| {
        let payload = json!({
            "key_id": key,
            "public_key": "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
            "previous_key_id": previous,
            "transition_expires": later(Duration::from_secs(3600)),
        });
        let event = json!({"id": "e", "type": "signing_key_rotated", "payload": payload});
        post(&plane, "/test/inject-event", &event);
    };
    replace(site::SIGNING_KEY_ID, "the second");
    configure(&plane, "in its grace");
    inject(&plane, "node_state_updated");
    until_pulled(&node, "in its grace").await;
    until("the keys are kept", || {
        let kept = std::fs::read_to_string(node.data("state/signing_keys.json"));
        kept.is_ok_and(|kept| kept.contains("the second"))
    })
    .await;
    agent.kill();
    let _again = node.start();
    until_mode(&node, "streaming").await;
    configure(&plane, "after a kill");
    inject(&plane, "node_state_updated");
    until_pulled(&node, "after a kill").await;
    // Without a grace the former keys are worth nothing at once.
    replace("", "the third");
    inject(&plane, "rotate_keys");
    until("it is refused", || node.log().contains("unknown signing key id")).await;
    assert_eq!(counter(&plane, "key_rotate_count"), 0);
}
