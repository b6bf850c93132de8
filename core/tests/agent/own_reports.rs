//! What the agent reports of itself: exact texts, at the cadence of heartbeats, put back where others change them.

use meshward_core::agent::{Input, own_reports::own_reports};

use crate::{
    bench::{responded, seconds, sent_to},
    counter::Counter,
};

const TEXTS: [(&str, &str); 5] = [
    ("status.mesh", r#"{"interface":"","peer_count":0,"listen_port":0}"#),
    (
        "status.bridge",
        r#"{"enabled":false,"access_interface":"","active_routes":0,"relay_enabled":false,"active_relay_sessions":0,"ingress_enabled":false,"active_ingress_rules":0,"site_to_site_enabled":false,"active_site_to_site_tunnels":0}"#,
    ),
    (
        "status.user-access",
        r#"{"enabled":false,"interface_name":"","peer_count":0,"listen_port":0}"#,
    ),
    (
        "status.ingress",
        r#"{"enabled":false,"rule_count":0,"connection_count":0,"acme_enabled":false}"#,
    ),
    ("status.site-to-site", r#"{"enabled":false,"tunnel_count":0}"#),
];

#[test]
fn each_report_has_its_members_in_their_order_and_tells_that_nothing_is_built() {
    for ((key, draft), (name, text)) in own_reports().into_iter().zip(TEXTS) {
        assert_eq!((key.as_str(), draft.payload.text()), (name, text));
        assert_eq!(draft.content_type, "application/json");
    }
}

fn version(counter: &mut Counter, name: &str) -> Option<u64> {
    let (status, text) = counter.get(&format!("/v1/state/report/{name}"));
    let version = text.split("\"version\":").nth(1)?.split(',').next()?.parse().ok()?;
    (status == 200).then_some(version)
}

/// The next heartbeat goes out.
fn beat(counter: &mut Counter) {
    let (call, _) = sent_to(&std::mem::take(&mut counter.orders), "/heartbeat");
    let body = r#"{"accepted_at":"2027-01-15T08:00:00Z","reconcile":false,"rotate_keys":false}"#;
    let jitter = meshward_core::backoff::Jitter::NONE;
    counter.give(Input::Answered { call, answer: responded(200, body), jitter });
    counter.bench.pass(seconds(30));
    counter.give(Input::Ticked);
}

#[test]
fn they_stand_with_the_first_heartbeat_and_are_not_written_again_while_they_do() {
    let mut unregistered = Counter::new();
    assert_eq!(unregistered.get("/v1/state/report").1, "[]\n");
    let mut counter = Counter::armed();
    for _ in 0..3 {
        for (name, text) in TEXTS {
            assert_eq!(version(&mut counter, name), Some(1), "{name}");
            assert!(counter.get(&format!("/v1/state/report/{name}")).1.contains(text));
        }
        beat(&mut counter);
    }
    let mut restarted = counter.restarted();
    assert_eq!(version(&mut restarted, "status.mesh"), Some(1), "nor by the next process");
}

#[test]
fn what_others_overwrite_or_delete_is_put_back_with_the_next_heartbeat() {
    let mut counter = Counter::armed();
    assert_eq!(counter.put("status.mesh", "7").0, 200, "it may be written by others");
    assert_eq!(counter.delete("status.bridge").0, 204);
    counter.orders.retain(|order| !matches!(order, meshward_core::agent::Effect::Tell(_)));
    assert_eq!(version(&mut counter, "status.mesh"), Some(2));
    assert_eq!(version(&mut counter, "status.bridge"), None);
    beat(&mut counter);
    assert_eq!(version(&mut counter, "status.mesh"), Some(3));
    assert_eq!(version(&mut counter, "status.bridge"), Some(1));
    assert!(counter.get("/v1/state/report/status.mesh").1.contains(TEXTS[0].1));
}

#[test]
fn a_disk_that_refuses_one_is_asked_again_with_the_next_heartbeat() {
    let mut counter = Counter::armed();
    counter.put("status.mesh", "7");
    counter.full = true;
    beat(&mut counter);
    assert_eq!(version(&mut counter, "status.mesh"), Some(2));
    counter.full = false;
    beat(&mut counter);
    assert_eq!(version(&mut counter, "status.mesh"), Some(3));
}
