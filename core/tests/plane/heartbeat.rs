//! Every row of the heartbeat checks, in their order, and the configurable answer.

use meshward_core::wire::http::{Body, Method};

use crate::desk::{Desk, node, text, verdict};

const CHECKSUM: &str = "\"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\"";

fn body(now: &str, checksum: &str, version: &str, nat: &str) -> String {
    format!(
        r#"{{"client_now":{now},"binary_checksum":{checksum},"binary_version":{version},"nat_summary":{nat}}}"#
    )
}

fn beat(desk: &mut Desk, body: &str) -> (u16, String) {
    verdict(&desk.ask(Method::Post, &node("heartbeat"), body))
}

const NOW: &str = "\"2026-01-15T10:30:00Z\"";
const MALFORMED: &str = "malformed_heartbeat_request";

#[test]
fn every_row_of_the_heartbeat_checks_earns_its_code() {
    let upper = format!("\"{}\"", "A".repeat(64));
    let rows = [
        (body("\"2026-01-15 10:30:00Z\"", CHECKSUM, "\"1\"", "{}"), MALFORMED),
        (body(NOW, "5", "\"1\"", "{}"), MALFORMED),
        (body(NOW, CHECKSUM, "\"1\"", "{},\"extra\":1"), MALFORMED),
        ("null".into(), MALFORMED),
        ("{}".into(), MALFORMED),
        (body(NOW, CHECKSUM, "\"1\"", "null"), MALFORMED),
        (body(NOW, CHECKSUM, "\"1\"", "[]"), MALFORMED),
        (body(NOW, CHECKSUM, "\"1\"", "\"{}\""), MALFORMED),
        (body("null", CHECKSUM, "\"1\"", "{}"), "clock_skew"),
        (body("\"2026-01-15T10:31:00.000000001Z\"", CHECKSUM, "\"1\"", "{}"), "clock_skew"),
        (body("\"2026-01-15T10:28:59.999999999Z\"", CHECKSUM, "\"1\"", "{}"), "clock_skew"),
        (body(NOW, "\"\"", "\"1\"", "{}"), "binary_checksum_empty"),
        (body(NOW, &upper, "\"1\"", "{}"), "binary_checksum_empty"),
        (body(NOW, CHECKSUM, "\" \\t\"", "{}"), "binary_version_empty"),
        (body(NOW, CHECKSUM, "null", "{}"), "binary_version_empty"),
    ];
    let mut desk = Desk::open();
    for (text, code) in rows {
        assert_eq!(beat(&mut desk, &text), (400, code.to_owned()), "{text}");
    }
    let cut = desk.ask_with(Method::Post, &node("heartbeat"), Body::Unreadable);
    assert_eq!(verdict(&cut), (400, MALFORMED.into()));
    let oversized = desk.ask_with(Method::Post, &node("heartbeat"), Body::Oversized);
    assert_eq!(verdict(&oversized), (413, String::new()));
    assert_eq!(desk.count("heartbeat_count"), 0);
}

#[test]
fn the_first_heartbeat_check_that_fails_decides() {
    let mut desk = Desk::open();
    let late = "\"2026-01-15T11:30:00Z\"";
    let codes = [
        (body(NOW, "\"\"", "\"\"", "{}"), "binary_checksum_empty"),
        (body(late, "\"\"", "\"\"", "{}"), "clock_skew"),
        (body(late, "\"\"", "\"\"", "1"), MALFORMED),
    ];
    for (text, code) in codes {
        assert_eq!(beat(&mut desk, &text), (400, code.to_owned()), "{text}");
    }
}

#[test]
fn exactly_sixty_seconds_and_a_free_form_nat_summary_are_accepted() {
    let mut desk = Desk::open();
    let hex = format!("\"{}\"", "0f".repeat(32));
    let nat = r#"{"anything":{"at":["all"]},"nat_type":"odd"}"#;
    for now in ["\"2026-01-15T10:31:00Z\"", "\"2026-01-15T11:29:00+01:00\""] {
        let response =
            desk.ask(Method::Post, "/v1/nodes/any/heartbeat", &body(now, &hex, "\"1\"", nat));
        let answer =
            "{\"accepted_at\":\"2026-01-15T10:30:00Z\",\"reconcile\":true,\"rotate_keys\":false}\n";
        assert_eq!((response.status, text(&response).as_str()), (200, answer));
    }
    assert_eq!(desk.count("heartbeat_count"), 2);
}

#[test]
fn the_answer_is_replaced_as_a_whole_and_only_by_an_object() {
    let mut desk = Desk::open();
    let path = "/test/configure-heartbeat";
    for bad in ["", "[]", "null", "{\"reconcile\":1}"] {
        assert_eq!(verdict(&desk.ask(Method::Post, path, bad)), (400, String::new()), "{bad}");
    }
    let configured = r#"{"rotate_keys":true,"accepted_at":"ignored"}"#;
    assert_eq!(desk.ask(Method::Post, path, configured).status, 204);
    let response = desk.ask(Method::Post, &node("heartbeat"), &body(NOW, CHECKSUM, "\"1\"", "{}"));
    assert!(text(&response).contains("\"reconcile\":false,\"rotate_keys\":true"));
    let seen = desk.ask(Method::Get, "/test/last-request/configure_heartbeat", "");
    assert_eq!(text(&seen), configured);
}
