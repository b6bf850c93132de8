//! NAT endpoint reports: every row of the checks, their order, and the TTL of the answer.

use core::time::Duration;

use meshward_core::{
    plane::endpoint::{Effect, Endpoints, Input, TTL},
    time::{Now, Wall},
    wire::{
        endpoint::EndpointResponse,
        http::{Body, Method},
        timestamp::Timestamp,
    },
};
use proptest::{collection::vec, prelude::*};

use crate::{
    desk::{Desk, node, text, verdict},
    support,
};

fn inputs() -> impl Strategy<Value = (u64, Input)> {
    let ttls = prop_oneof![1..1000_u64, Just(31_536_000)].prop_map(Duration::from_secs);
    let input = prop_oneof![
        2 => Just(Input::Reported),
        1 => ttls.prop_map(|ttl| Input::Configured { ttl }),
    ];
    (0..1_000_000_000_u64, input)
}

fn at(seconds: u64) -> Now {
    Now { wall: Wall::from_origin(Duration::from_secs(seconds)), ..Now::default() }
}

proptest! {
    #![proptest_config(support::seeds_in("endpoint"))]
    /// The model is the list of TTLs so far: the last one counts, and five minutes before the first.
    #[test]
    fn a_report_goes_stale_after_the_ttl_that_was_configured_last(inputs in vec(inputs(), 0..40)) {
        let mut ttls = vec![TTL];
        let mut endpoints = Endpoints::default();
        for (seconds, input) in inputs {
            let step = endpoints.step(at(seconds), input);
            endpoints = step.state;
            match input {
                Input::Configured { ttl } => {
                    ttls.push(ttl);
                    prop_assert_eq!(step.effects, []);
                }
                Input::Reported => {
                    let ttl = ttls.last().expect("the first is the default").as_secs();
                    let answer = EndpointResponse {
                        accepted_at: Timestamp::from(at(seconds).wall),
                        stale_after: Timestamp::from(at(seconds + ttl).wall),
                    };
                    prop_assert_eq!(step.effects, [Effect::Answer(answer)]);
                }
            }
        }
    }

    #[test]
    fn the_same_reports_give_the_same_answers(inputs in vec(inputs(), 0..40)) {
        support::replays(&Endpoints::default(), &inputs, |state, (seconds, input)| {
            state.step(at(seconds), input)
        });
    }
}

const NOW: &str = "\"2026-01-15T10:30:00Z\"";
const LATE: &str = "\"2026-01-15T11:30:00Z\"";
const ADDR: &str = "\"198.51.100.7:40000\"";
const MALFORMED: &str = "malformed_endpoint_request";
const SKEW: &str = "endpoint_clock_skew";
const UNPARSEABLE: &str = "endpoint_unparseable";
const NAT_TYPES: [&str; 5] = ["full_cone", "restricted", "port_restricted", "symmetric", "unknown"];

fn body(endpoint: &str, nat_type: &str, reported_at: &str) -> String {
    format!(r#"{{"endpoint":{endpoint},"nat_type":{nat_type},"reported_at":{reported_at}}}"#)
}

fn put(desk: &mut Desk, body: &str) -> (u16, String) {
    let response = desk.ask(Method::Put, &node("endpoint"), body);
    match response.status {
        200 => (200, text(&response)),
        _ => verdict(&response),
    }
}

#[test]
fn every_row_of_the_endpoint_checks_earns_its_code() {
    let nat = "\"symmetric\"";
    let whole = body(ADDR, nat, NOW);
    let rows = [
        (String::new(), MALFORMED),
        ("{".into(), MALFORMED),
        ("null".into(), MALFORMED),
        ("[]".into(), MALFORMED),
        ("{}".into(), MALFORMED),
        (format!("{whole}{{}}"), MALFORMED),
        (whole.replace('}', ",\"node_id\":\"x\"}"), MALFORMED),
        (whole.replace('}', ",\"nat_type\":\"symmetric\"}"), MALFORMED),
        (body("5", nat, NOW), MALFORMED),
        (body(ADDR, nat, "5"), MALFORMED),
        (body(ADDR, nat, "\"\""), MALFORMED),
        (body(ADDR, nat, "\"2026-01-15 10:30:00Z\""), MALFORMED),
        (body(ADDR, nat, "\"2026-01-15t10:30:00Z\""), MALFORMED),
        (body(ADDR, "null", NOW), MALFORMED),
        (body(ADDR, "1", NOW), MALFORMED),
        (body(ADDR, "[]", NOW), MALFORMED),
        (body(ADDR, "{\"symmetric\":null}", NOW), MALFORMED),
        (body(ADDR, "\"\"", NOW), MALFORMED),
        (body(ADDR, "\"Symmetric\"", NOW), MALFORMED),
        (body(ADDR, "\"none\"", NOW), MALFORMED),
        (format!(r#"{{"endpoint":{ADDR},"nat_type":{nat}}}"#), SKEW),
        (body(ADDR, nat, "null"), SKEW),
        (body(ADDR, nat, "\"0001-01-01T00:00:00Z\""), SKEW),
        (body(ADDR, nat, "\"2026-01-15T10:31:00.000000001Z\""), SKEW),
        (body(ADDR, nat, "\"2026-01-15T10:28:59.999999999Z\""), SKEW),
        (body("null", nat, NOW), UNPARSEABLE),
        (body("\"\"", nat, NOW), UNPARSEABLE),
        (format!(r#"{{"nat_type":{nat},"reported_at":{NOW}}}"#), UNPARSEABLE),
    ];
    let mut desk = Desk::open();
    for (text, code) in rows {
        assert_eq!(put(&mut desk, &text), (400, code.to_owned()), "{text}");
    }
    let oversized = desk.ask_with(Method::Put, &node("endpoint"), Body::Oversized);
    assert_eq!(verdict(&oversized), (413, "endpoint_body_too_large".into()));
    let cut = desk.ask_with(Method::Put, &node("endpoint"), Body::Unreadable);
    assert_eq!(verdict(&cut), (400, MALFORMED.into()));
    assert_eq!(desk.count("endpoint_count"), 0);
}

/// Everything that is no `ip:port` at which another node could reach this one.
const UNREACHABLE: [&str; 33] = [
    "203.0.113.9",
    "203.0.113.9:",
    "203.0.113.9:0",
    "203.0.113.9:65536",
    "203.0.113.9:00005",
    "203.0.113.9:080",
    "203.0.113.9:+80",
    "203.0.113.9:80 ",
    "203.0.113.09:80",
    "node.example:80",
    "localhost:80",
    "2001:db8::1:80",
    "[2001:db8::1]",
    "[2001:db8::1]:0",
    "[fe80::1%eth0]:80",
    "127.0.0.1:80",
    "127.255.255.255:80",
    "[::1]:80",
    "169.254.0.1:80",
    "[fe80::1]:80",
    "[febf:ffff::1]:80",
    "224.0.0.1:80",
    "224.0.0.255:80",
    "[ff02::1]:80",
    "[ff12::1]:80",
    "0.0.0.0:80",
    "[::]:80",
    "[::ffff:127.0.0.1]:80",
    "[::ffff:7f00:1]:80",
    "[::ffff:169.254.9.9]:80",
    "[::ffff:224.0.0.7]:80",
    "[::ffff:0.0.0.0]:80",
    "203.0.113.9:80\\u0000",
];

/// Private and other odd ranges pass.
const REACHABLE: [&str; 16] = [
    "203.0.113.9:1",
    "203.0.113.9:65535",
    "10.0.0.1:80",
    "192.168.1.1:80",
    "100.64.0.1:80",
    "169.253.255.255:80",
    "224.0.1.0:80",
    "239.1.2.3:80",
    "255.255.255.255:80",
    "[2001:db8::1]:80",
    "[fec0::1]:80",
    "[fd00::1]:80",
    "[ff01::1]:80",
    "[ff05::1]:80",
    "[::ffff:203.0.113.9]:80",
    "[::ffff:cb00:7109]:80",
];

#[test]
fn every_host_and_port_that_no_node_can_reach_is_unparseable() {
    let mut desk = Desk::open();
    for endpoint in UNREACHABLE {
        let text = body(&format!("\"{endpoint}\""), "\"unknown\"", NOW);
        assert_eq!(put(&mut desk, &text), (400, UNPARSEABLE.into()), "{endpoint}");
    }
    for (at, endpoint) in REACHABLE.iter().enumerate() {
        let text = body(&format!("\"{endpoint}\""), "\"unknown\"", NOW);
        assert_eq!(put(&mut desk, &text).0, 200, "{endpoint}");
        assert_eq!(desk.count("endpoint_count"), at as u64 + 1);
    }
}

/// Breaks one check after the other, last one first: the earliest broken check always decides.
#[test]
fn the_first_endpoint_check_that_fails_decides() {
    let mut desk = Desk::open();
    let rows = [
        (body("\"x\"", "\"symmetric\"", NOW), UNPARSEABLE),
        (body("\"x\"", "\"symmetric\"", LATE), SKEW),
        (body("\"x\"", "\"odd\"", LATE), MALFORMED),
        (body("5", "\"odd\"", LATE), MALFORMED),
    ];
    for (text, code) in rows {
        assert_eq!(put(&mut desk, &text), (400, code.to_owned()), "{text}");
    }
}

#[test]
fn every_nat_type_and_a_skew_of_exactly_sixty_seconds_are_accepted() {
    let mut desk = Desk::open();
    let answer =
        "{\"accepted_at\":\"2026-01-15T10:30:00Z\",\"stale_after\":\"2026-01-15T10:35:00Z\"}\n";
    for nat_type in NAT_TYPES {
        let text = body(ADDR, &format!("\"{nat_type}\""), NOW);
        assert_eq!(put(&mut desk, &text), (200, answer.into()), "{nat_type}");
    }
    for reported_at in [
        "\"2026-01-15T10:31:00Z\"",
        "\"2026-01-15T10:29:00.000Z\"",
        "\"2026-01-15T09:29:00-01:00\"",
    ] {
        let text = body(ADDR, "\"unknown\"", reported_at);
        assert_eq!(put(&mut desk, &text), (200, answer.into()), "{reported_at}");
    }
    let response = desk.ask(Method::Put, "/v1/nodes/any/endpoint", &body(ADDR, "\"unknown\"", NOW));
    assert_eq!(response.status, 200, "the route has no node-id guard");
    assert_eq!(desk.count("endpoint_count"), 9);
}

#[test]
fn stale_after_is_exactly_the_ttl_later_also_with_fractions() {
    let mut desk = Desk::open();
    desk.now = desk.now.after(Duration::from_nanos(120_000_000));
    let answer = |stale: &str| {
        format!("{{\"accepted_at\":\"2026-01-15T10:30:00.12Z\",\"stale_after\":\"{stale}\"}}\n")
    };
    let rows = [
        ("1", "2026-01-15T10:30:01.12Z"),
        ("90", "2026-01-15T10:31:30.12Z"),
        ("31536000", "2027-01-15T10:30:00.12Z"),
    ];
    for (seconds, stale) in rows {
        let configured = format!("{{\"ttl_seconds\":{seconds},\"unknown\":[1]}}");
        let response = desk.ask(Method::Post, "/test/configure-endpoint", &configured);
        assert_eq!((response.status, response.body.len()), (204, 0));
        let text = body(ADDR, "\"unknown\"", NOW);
        assert_eq!(put(&mut desk, &text), (200, answer(stale)), "{seconds}");
    }
    assert_eq!(desk.ask(Method::Post, "/test/reset", "").status, 204);
    let text = body(ADDR, "\"unknown\"", NOW);
    assert_eq!(put(&mut desk, &text), (200, answer("2026-01-15T10:35:00.12Z")));
}

#[test]
fn a_ttl_outside_its_range_is_400_without_code_and_changes_nothing() {
    let mut desk = Desk::open();
    let path = "/test/configure-endpoint";
    assert_eq!(desk.ask(Method::Post, path, "{\"ttl_seconds\":60}").status, 204);
    let refused = [
        "",
        "{",
        "null",
        "[]",
        "[60]",
        "{}",
        "{\"ttl_seconds\":null}",
        "{\"ttl_seconds\":0}",
        "{\"ttl_seconds\":-0}",
        "{\"ttl_seconds\":-1}",
        "{\"ttl_seconds\":31536001}",
        "{\"ttl_seconds\":4294967296}",
        "{\"ttl_seconds\":18446744073709551616}",
        "{\"ttl_seconds\":1.0}",
        "{\"ttl_seconds\":1e0}",
        "{\"ttl_seconds\":\"60\"}",
        "{\"ttl_seconds\":60,\"ttl_seconds\":60}",
        "{\"ttl_seconds\":60}{}",
    ];
    for text in refused {
        assert_eq!(verdict(&desk.ask(Method::Post, path, text)), (400, String::new()), "{text}");
        let seen = desk.ask(Method::Get, "/test/last-request/configure_endpoint", "");
        assert_eq!(crate::desk::text(&seen), text);
    }
    let oversized = desk.ask_with(Method::Post, path, Body::Oversized);
    assert_eq!(verdict(&oversized), (413, String::new()));
    let cut = desk.ask_with(Method::Post, path, Body::Unreadable);
    assert_eq!(verdict(&cut), (400, String::new()));
    let (_, answer) = put(&mut desk, &body(ADDR, "\"unknown\"", NOW));
    assert!(answer.contains("\"stale_after\":\"2026-01-15T10:31:00Z\""), "{answer}");
}

#[test]
fn a_refused_report_is_captured_and_not_counted_and_an_oversized_one_neither() {
    let mut desk = Desk::open();
    let refused = body("\"x\"", "\"unknown\"", NOW);
    assert_eq!(put(&mut desk, &refused).0, 400);
    desk.ask_with(Method::Put, &node("endpoint"), Body::Oversized);
    let captured = desk.ask(Method::Get, "/test/last-request/endpoint", "");
    assert_eq!(text(&captured), refused);
    assert_eq!(desk.count("endpoint_count"), 0);
}
