//! Records on the wire: each row of the reaction table against the fixture with faults, both legs, and what a kill or a
//! stop leaves behind.
//!
//! The Kubernetes audit log is their source here: its pipeline may be asked every second.

use std::{fs, io::Write as _};

use meshward_core::plane::site;
use meshward_fixture::{Fixture, Options};
use serde_json::{Value, json};

use crate::node::{Node, Plane, counter, delete, fixture, get, post, read, text, until};

const ROUTE: &str = "/v1/nodes/*/audit";

/// A node that tells of the lines of one file, with the rest of `[audit]` as given.
fn node(url: &str, rest: &str) -> Node {
    let node = Node::new(url, "[health]\nenabled = false\n[audit]\n");
    tell_of_a_file(&node, rest);
    node
}

/// The same for a node whose configuration has an empty `[audit]`.
pub(crate) fn tell_of_a_file(node: &Node, rest: &str) {
    fs::write(node.path("k8s.log"), "").unwrap();
    let file = node.path("k8s.log");
    let audit = format!(
        "[audit]\ncollect_interval = \"1s\"\nreport_interval = \"1s\"\nauditd = false\nk8s_audit_file = {file:?}\n{rest}"
    );
    node.amend("[audit]\n", &audit);
}

fn line(verb: &str) -> String {
    let event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata",
        "auditID": "0", "stage": "ResponseComplete", "verb": verb,
        "user": {"username": "system:admin", "groups": ["system:masters"]},
        "objectRef": {"resource": "pods", "namespace": "default", "name": "web"},
        "responseStatus": {"code": 200},
        "stageTimestamp": "2026-03-01T10:00:00.000000Z",
    });
    format!("{event}\n")
}

pub(crate) fn append(node: &Node, verbs: &[&str]) {
    let mut file = fs::File::options().append(true).open(node.path("k8s.log")).unwrap();
    let lines: String = verbs.iter().map(|verb| line(verb)).collect();
    file.write_all(lines.as_bytes()).unwrap();
}

/// The actions of each batch that was sent, with the status that it earned.
fn batches(plane: &Plane) -> Vec<(u64, Vec<String>)> {
    let requests = get(plane, "/test/requests");
    let of = |request: &Value| {
        let body = request["body"].as_str().unwrap_or_default();
        let action = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["action"].as_str().unwrap().to_owned()
        };
        (request["status"].as_u64().unwrap_or_default(), body.lines().map(action).collect())
    };
    let is_audit = |request: &&Value| {
        let path = request["path"].as_str().unwrap();
        path.starts_with("/v1/") && path.ends_with("/audit")
    };
    requests["requests"].as_array().unwrap().iter().filter(is_audit).map(of).collect()
}

/// What was accepted, in its order.
fn accepted(plane: &Plane) -> Vec<String> {
    batches(plane)
        .into_iter()
        .filter(|(status, _)| *status == 202)
        .flat_map(|(_, all)| all)
        .collect()
}

fn spoil(plane: &Plane, fault: &Value) {
    let mut rule = json!({"method": "POST", "path": ROUTE});
    rule.as_object_mut().unwrap().extend(fault.as_object().unwrap().clone());
    post(plane, "/test/faults", &rule);
}

/// The source has looked at the file, which is read from its end on first sight.
pub(crate) async fn until_followed(node: &Node) {
    until("the file is followed", || {
        fs::read_to_string(node.data("state/positions.json"))
            .is_ok_and(|text| text.contains("k8s.log"))
    })
    .await;
}

async fn until_accepted(plane: &Plane, verbs: &[&str]) {
    let what = format!("{verbs:?} are accepted");
    until(&what, || accepted(plane) == verbs).await;
}

/// A batch is answered in this way once, and the next one as ever; the answers that batches of these actions earned.
async fn once(fault: &Value) -> (Vec<(u64, Vec<String>)>, String) {
    let plane = fixture().await;
    let node = node(&plane.url(), "");
    spoil(&plane, fault);
    let agent = node.start();
    until_followed(&node).await;
    append(&node, &["first"]);
    until("the fault has acted", || get(&plane, "/test/faults")["faults"][0]["left"] == 0).await;
    append(&node, &["second"]);
    until("the second is accepted", || accepted(&plane).contains(&"second".to_owned())).await;
    drop(agent);
    (batches(&plane), node.log())
}

fn actions(batches: &[(u64, Vec<String>)]) -> Vec<&str> {
    let good = batches.iter().filter(|(status, _)| *status == 202);
    good.flat_map(|(_, all)| all.iter().map(String::as_str)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_file_tells_is_sent_once_it_is_written() {
    let plane = fixture().await;
    let node = node(&plane.url(), "");
    let _agent = node.start();
    until_followed(&node).await;
    append(&node, &["create", "delete"]);
    until_accepted(&plane, &["create", "delete"]).await;
    assert_eq!(counter(&plane, "audit_count"), 1);
    let body = plane.request(read("/test/last-request/audit")).body;
    let event: Value = serde_json::from_str(text(&body).lines().next().unwrap()).unwrap();
    let expected = json!({
        "source": "k8s", "action": "create", "outcome": "success", "timestamp": "2026-03-01T10:00:00Z",
    });
    assert_eq!(event, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_batch_is_dropped() {
    let (batches, _) = once(&json!({"status": 400, "code": "ingest_batch_malformed"})).await;
    assert_eq!(actions(&batches), ["second"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_time_of_sending_was_refused_is_sent_again() {
    let (batches, _) = once(&json!({"status": 400, "code": "ingest_sent_at_invalid"})).await;
    assert_eq!(actions(&batches), ["first", "second"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_record_that_is_too_large_is_dropped() {
    let (batches, _) = once(&json!({"status": 413, "code": "ingest_body_too_large"})).await;
    assert_eq!(actions(&batches), ["second"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_encoding_was_refused_is_sent_again() {
    let (batches, _) = once(&json!({"status": 415, "code": "ingest_encoding_unsupported"})).await;
    assert_eq!(actions(&batches), ["first", "second"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_control_plane_is_not_set_up_for_is_dropped_quietly() {
    let fault = json!({"status": 501, "code": "observability_ingest_not_provisioned"});
    let (batches, log) = once(&fault).await;
    assert_eq!(actions(&batches), ["second"]);
    let loud = |line: &&str| line.contains("WARN") && line.contains("audit");
    assert_eq!(log.lines().filter(loud).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_failed_in_any_other_way_is_sent_again() {
    for fault in [
        json!({"status": 500}),
        json!({"status": 503, "code": "ingest_buffer_unavailable"}),
        json!({"status": 429, "code": "per_node_rate_limited", "retry_after": 1}),
        json!({"status": 400, "code": "nobody_knows_this"}),
        json!({"status": 404}),
        json!({"drop": true}),
    ] {
        let (batches, _) = once(&fault).await;
        assert_eq!(actions(&batches), ["first", "second"], "{fault}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_too_large_is_sent_in_halves() {
    let plane = fixture().await;
    let node = node(&plane.url(), "");
    spoil(&plane, &json!({"status": 413, "code": "ingest_body_too_large", "times": 2}));
    let _agent = node.start();
    until_followed(&node).await;
    append(&node, &["a", "b", "c", "d"]);
    until("all are accepted", || accepted(&plane).len() == 4).await;
    assert_eq!(accepted(&plane), ["a", "b", "c", "d"]);
    let sizes: Vec<(u64, usize)> =
        batches(&plane).into_iter().map(|(status, all)| (status, all.len())).collect();
    assert_eq!(sizes[..2], [(413, 4), (413, 2)], "{sizes:?}");
    assert!(sizes[2..].iter().all(|(_, size)| *size == 1), "{sizes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_is_packed_on_its_way() {
    let plane = fixture().await;
    let node = node(&plane.url(), "");
    let _agent = node.start();
    until_followed(&node).await;
    append(&node, &["get"; 100]);
    until("all are accepted", || accepted(&plane).len() == 100).await;
    let requests = get(&plane, "/test/requests");
    let all = requests["requests"].as_array().unwrap();
    let sent: u64 = all
        .iter()
        .filter(|request| request["path"].as_str().unwrap().ends_with("/audit"))
        .map(|request| request["request_bytes"].as_u64().unwrap())
        .sum();
    let whole = 100 * json!({"source": "k8s", "action": "get", "outcome": "success", "timestamp": "2026-03-01T10:00:00Z"}).to_string().len();
    assert!(sent < whole as u64 / 4, "{sent} bytes of {whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_at_a_stop_is_sent_before_the_end() {
    let plane = fixture().await;
    let node = node(&plane.url(), "");
    node.amend("report_interval = \"1s\"", "report_interval = \"1h\"");
    let agent = node.start();
    until_followed(&node).await;
    append(&node, &["last"]);
    until("the line is held", || {
        let status = node.run(&["--output", "json", "status"]);
        let told: Value = serde_json::from_slice(&status.stdout).unwrap_or_default();
        told["queues"]["audit"].as_u64().is_some_and(|held| held > 0)
    })
    .await;
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    assert_eq!(accepted(&plane), ["last"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_agent_goes_on_behind_what_was_accepted() {
    let plane = fixture().await;
    let node = node(&plane.url(), "");
    let agent = node.start();
    until_followed(&node).await;
    append(&node, &["before"]);
    until_accepted(&plane, &["before"]).await;
    let offset = || fs::read_to_string(node.data("state/positions.json")).unwrap();
    let end = fs::metadata(node.path("k8s.log")).unwrap().len();
    until("the offset is kept", || offset().contains(&format!("\"offset\":{end}"))).await;
    agent.kill();
    append(&node, &["meanwhile"]);
    let _agent = node.start();
    until_accepted(&plane, &["before", "meanwhile"]).await;
}

/// A control plane that is also the local endpoint of its node.
pub(crate) async fn both() -> (Plane, String) {
    let tls_addr = Some("127.0.0.1:0".parse().unwrap());
    let running = Fixture::start(Options { tls_addr, ..Options::default() }).await.unwrap();
    let local = format!("https://{}/local/audit?tenant=one", running.tls_addr().unwrap());
    (Plane::of(running), local)
}

pub(crate) fn endpoint(url: &str) -> String {
    format!(
        "[audit.local_endpoint]\nurl = {url:?}\nsecret_key = \"local-token\"\ntls_insecure_skip_verify = true\n"
    )
}

fn local_actions(plane: &Plane) -> Vec<String> {
    let body = plane.request(read("/test/last-request/local_audit")).body;
    let all: Value = serde_json::from_slice(&body).unwrap_or_default();
    let action = |entry: &Value| entry["action"].as_str().unwrap_or_default().to_owned();
    all.as_array().map(|all| all.iter().map(action).collect()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_endpoint_is_given_the_same_records_under_the_token_of_a_secret() {
    let (plane, local) = both().await;
    let node = node(&plane.url(), &endpoint(&local));
    let _agent = node.start();
    until_followed(&node).await;
    append(&node, &["patch"]);
    until_accepted(&plane, &["patch"]).await;
    until("the copy has arrived", || local_actions(&plane).contains(&"patch".to_owned())).await;
    let body = plane.request(read("/test/last-request/local_audit")).body;
    let all: Value = serde_json::from_slice(&body).unwrap();
    let entries = all.as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["action"] == "patch").unwrap();
    assert_eq!(entry["source"], "k8s-audit");
    assert_eq!(entry["result"], "success");
    assert_eq!(entry["object"], "default/pods/web");
    assert_eq!(entry["subject"]["username"], "system:admin");
    assert_eq!(counter(&plane, "secrets_count"), 1);
    let log = node.log();
    assert!(!log.contains(site::LOCAL_BEARER) && log.contains("tls_insecure_skip_verify"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_endpoint_that_fails_holds_up_nothing_and_is_not_asked_again() {
    let (plane, local) = both().await;
    let node = node(&plane.url(), &endpoint(&local.replace("/local/audit", "/local/nowhere")));
    let _agent = node.start();
    until_followed(&node).await;
    append(&node, &["one"]);
    until_accepted(&plane, &["one"]).await;
    append(&node, &["two"]);
    until_accepted(&plane, &["one", "two"]).await;
    until("it is warned of", || {
        node.log().lines().any(|line| line.contains("WARN") && line.contains("local endpoint"))
    })
    .await;
    assert_eq!(counter(&plane, "local_audit_count"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_nothing_is_sent_to_a_local_endpoint() {
    let (plane, local) = both().await;
    let refused = json!({"path": "/v1/nodes/*/secrets/*", "status": 500, "times": 1_000});
    post(&plane, "/test/faults", &refused);
    let node = node(&plane.url(), &endpoint(&local));
    let _agent = node.start();
    until_followed(&node).await;
    append(&node, &["one"]);
    until_accepted(&plane, &["one"]).await;
    assert_eq!(local_actions(&plane), Vec::<String>::new());
    plane.request(delete("/test/faults"));
    until("a token can be had again", || {
        append(&node, &["again"]);
        local_actions(&plane).contains(&"again".to_owned())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_on_the_disk_outlive_a_kill_and_an_absent_control_plane() {
    let plane = fixture().await;
    let node = node(&plane.url(), "spool_max_bytes = 1048576\n");
    spoil(&plane, &json!({"status": 503, "times": 1_000_000}));
    let agent = node.start();
    until_followed(&node).await;
    append(&node, &["kept"]);
    let folder = node.data("spool/audit");
    let is_kept = || {
        let files = fs::read_dir(&folder).into_iter().flatten().flatten();
        files
            .map(|entry| fs::read(entry.path()).unwrap_or_default())
            .any(|bytes| text(&bytes).contains("kept"))
    };
    until("the record is on the disk", is_kept).await;
    agent.kill();
    // Even the file is gone that it was read from.
    fs::remove_file(node.path("k8s.log")).unwrap();
    plane.request(delete("/test/faults"));
    let _agent = node.start();
    until("the record is sent", || accepted(&plane).contains(&"kept".to_owned())).await;
    assert_eq!(accepted(&plane), ["kept"]);
    until("it is gone from the disk", || !is_kept()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_wait_where_no_disk_is_to_be_used_are_told_at_the_start() {
    let plane = fixture().await;
    let node = node(&plane.url(), "");
    let told =
        || node.log().contains("are not sent: set audit.spool_max_bytes until they are gone");
    let agent = node.start();
    until_followed(&node).await;
    agent.kill();
    assert!(!told());
    fs::create_dir_all(node.data("spool/audit")).unwrap();
    fs::write(node.data("spool/audit/00000000000000000000.spool"), "records").unwrap();
    let _agent = node.start();
    until("it is told", told).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_tells_how_it_is() {
    let plane = fixture().await;
    let metrics = "[health]\nenabled = false\n[metrics]\ncollect_interval = \"5s\"\nreport_interval = \"10s\"\n";
    let node = Node::new(&plane.url(), metrics);
    let _agent = node.start();
    until("metrics are accepted", || counter(&plane, "metrics_count") > 0).await;
    let body = plane.request(read("/test/last-request/metrics")).body;
    let samples: Value = serde_json::from_slice(&body).unwrap();
    let named = |name: &str| {
        samples.as_array().unwrap().iter().find(|sample| sample["name"] == name).cloned()
    };
    for name in ["memory_used_bytes", "memory_total_bytes", "load_avg_1", "disk_total_bytes"] {
        let sample = named(name).unwrap_or_else(|| panic!("{name} in {samples}"));
        assert_eq!(sample["group"], "node_resources", "{name}");
        assert!(sample.get("labels").is_none(), "{name}");
    }
    let uptime = named("uptime_seconds").unwrap();
    assert_eq!(uptime["group"], "agent_stats");
    assert!(uptime["value"].as_f64().is_some_and(|seconds| seconds < 60.0));
    assert!(named("reconnect_count").is_some() && named("gc_num_gc").is_none());
}
