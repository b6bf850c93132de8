//! Faults: every rule that is refused, what each does to a request, and that nothing else is touched.

use core::time::Duration;

use meshward_core::{
    ids::{CallId, CorrelationId},
    plane::{
        Arrival, Drawn, Effect, Input, Listener,
        faults::{Faults, RULES_MAX, SILENCE, STALE, Sent, rule},
        manner::{Cut, Ending, Manner},
        stream::{Audience, Opening},
    },
    time::Now,
    wire::{
        http::{Body, Headers, Method, Request, Response},
        sse::Frame,
    },
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    desk::{Desk, NOON, bearer, node, request, text, verdict},
    journal::requests,
    support,
};

const HOUR: u64 = 3_600_000;

impl Desk {
    fn rule(&mut self, body: &Value) -> Response {
        self.ask(Method::Post, "/test/faults", &body.to_string())
    }

    fn ruled(&mut self, body: &Value) {
        let answer = self.rule(body);
        assert_eq!(answer.status, 201, "{body}: {}", text(&answer));
    }

    /// Every effect of one request.
    fn effects(&mut self, request: Request) -> Vec<Effect> {
        let drawn = Drawn { correlation: CorrelationId(7), ..Drawn::default() };
        let arrival = Arrival { listener: Listener::Main, request, begun: self.now.mono, drawn };
        let input = Input::Requested { call: CallId(1), arrival };
        let step = core::mem::take(&mut self.plane).step(&self.settings, self.now, input);
        self.plane = step.state;
        step.effects
    }

    fn asked(&mut self, method: Method, target: &str, body: &str) -> Vec<Effect> {
        self.effects(authorized(method, target, body))
    }

    fn brought(&mut self, method: Method, target: &str, body: &str) -> (Response, Manner) {
        let effects = self.asked(method, target, body);
        let [Effect::Reply { response, manner, .. }] = effects.as_slice() else {
            panic!("one answer was due and not {effects:?}");
        };
        (response.clone(), *manner)
    }
}

fn authorized(method: Method, target: &str, body: &str) -> Request {
    let headers = Headers::new().with("authorization", &bearer());
    Request { headers, ..request(method, target, Body::Whole(body.into())) }
}

fn with(members: &[(&str, Value)]) -> Value {
    let mut rule = json!({ "path": "/v1/health" });
    for (name, value) in members {
        rule[*name] = value.clone();
    }
    rule
}

#[test]
fn every_slip_in_one_member_is_refused_with_what_mends_it() {
    let mut desk = Desk::open();
    for (members, said) in [
        (vec![("delay_ms", json!("1"))], "not a fault rule"),
        (vec![("delay", json!(1))], "not a fault rule"),
        (vec![("status", json!(503.5))], "not a fault rule"),
        (vec![("path", json!(null)), ("drop", json!(true))], "path is missing"),
        (vec![("path", json!("v1")), ("drop", json!(true))], "slash"),
        (vec![("path", json!("/v1/**/x")), ("drop", json!(true))], "at its end"),
        (vec![("path", json!("/test/bearer")), ("drop", json!(true))], "/test/"),
        (vec![("path", json!("/%74est/*")), ("drop", json!(true))], "/test/"),
        (vec![("method", json!("PATCH")), ("drop", json!(true))], "method must be"),
        (vec![("times", json!(0)), ("drop", json!(true))], "times must be"),
        (vec![("times", json!(1_000_001)), ("drop", json!(true))], "times must be"),
        (vec![("probability", json!(0)), ("drop", json!(true))], "probability"),
        (vec![("probability", json!(-0.5)), ("drop", json!(true))], "probability"),
        (vec![("probability", json!(1.001)), ("drop", json!(true))], "probability"),
        (vec![("probability", json!("1")), ("drop", json!(true))], "probability"),
        (vec![("seed", json!(1)), ("drop", json!(true))], "seed does nothing alone"),
        (vec![("delay_ms", json!(600_001))], "delay_ms goes up to 600000"),
        (vec![("dribble_ms", json!(0))], "dribble_ms must be"),
        (vec![("dribble_ms", json!(10_001))], "dribble_ms must be"),
        (vec![("status", json!(199))], "status must be"),
        (vec![("status", json!(600))], "status must be"),
        (vec![("code", json!("x"))], "code does nothing alone"),
        (vec![("code", json!("x")), ("status", json!(204))], "code does nothing alone"),
        (vec![("code", json!("")), ("status", json!(500))], "code must be"),
        (vec![("code", json!("a\nb")), ("status", json!(500))], "code must be"),
        (vec![("retry_after", json!(1))], "retry_after does nothing alone"),
        (vec![("retry_after", json!("")), ("status", json!(503))], "retry_after must be"),
        (vec![("retry_after", json!(-1)), ("status", json!(503))], "retry_after must be"),
        (vec![("retry_after", json!(1.5)), ("status", json!(503))], "retry_after must be"),
        (vec![("retry_after", json!("a\r\nb")), ("status", json!(503))], "retry_after must be"),
        (vec![("content_type", json!("a\0"))], "content_type must be"),
        (vec![("content_type", json!("a".repeat(257)))], "content_type must be"),
        (vec![("truncate_after", json!((1_u64 << 30) + 1))], "truncate_after goes up to"),
        (vec![("clock_offset_ms", json!(366 * 24 * HOUR + 1))], "clock_offset_ms goes up to"),
        (vec![("clock_offset_ms", json!(i64::MIN))], "clock_offset_ms goes up to"),
        (vec![("reset", json!("now"))], "reset must be"),
        (vec![("stream", json!("BOM"))], "stream must be one of"),
        (vec![], "says nothing to do"),
        (vec![("drop", json!(false)), ("never", json!(false))], "says nothing to do"),
        (vec![("times", json!(3)), ("method", json!("GET"))], "says nothing to do"),
        // Of two slips the first member tells.
        (vec![("method", json!("x")), ("path", json!("y")), ("times", json!(0))], "method must be"),
        (vec![("path", json!("y")), ("times", json!(0))], "slash"),
        (vec![("times", json!(0)), ("probability", json!(2))], "times must be"),
        (
            vec![("probability", json!(2)), ("drop", json!(true)), ("never", json!(true))],
            "probability",
        ),
    ] {
        let answer = desk.rule(&with(&members));
        assert_eq!(verdict(&answer), (400, String::new()), "{members:?}");
        assert!(text(&answer).contains(said), "{members:?}: {}", text(&answer));
    }
    assert_eq!(desk.ask_with(Method::Post, "/test/faults", Body::Oversized).status, 413);
    assert_eq!(desk.ask_with(Method::Post, "/test/faults", Body::Unreadable).status, 400);
    assert_eq!(text(&desk.ask(Method::Get, "/test/faults", "")), "{\"faults\":[]}\n");
}

/// Each member that concerns answers, in a form that is good alone or with what it needs.
fn members() -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    vec![
        ("delay_ms", vec![("delay_ms", json!(1))]),
        ("status", vec![("status", json!(503))]),
        ("code", vec![("status", json!(503)), ("code", json!("x"))]),
        ("retry_after", vec![("status", json!(503)), ("retry_after", json!(1))]),
        ("content_type", vec![("content_type", json!("a/b"))]),
        ("drop", vec![("drop", json!(true))]),
        ("before", vec![("reset", json!("before_headers"))]),
        ("after", vec![("reset", json!("after_headers"))]),
        ("never", vec![("never", json!(true))]),
        ("truncate_after", vec![("truncate_after", json!(1))]),
        ("dribble_ms", vec![("dribble_ms", json!(1))]),
        ("malformed_chunk", vec![("malformed_chunk", json!(true))]),
        ("clock_offset_ms", vec![("clock_offset_ms", json!(1))]),
    ]
}

#[test]
fn members_that_contradict_each_other_are_refused_and_all_others_go_together() {
    let lost = ["drop", "before", "never"];
    let unseen = [
        "status",
        "code",
        "retry_after",
        "content_type",
        "truncate_after",
        "dribble_ms",
        "malformed_chunk",
        "clock_offset_ms",
    ];
    let bodiless = ["truncate_after", "dribble_ms", "malformed_chunk"];
    let contradicts = |one: &str, other: &str| {
        let ends = |name: &str| lost.contains(&name) || name == "after";
        ends(one) && ends(other)
            || lost.contains(&one) && unseen.contains(&other)
            || one == "after" && bodiless.contains(&other)
            || one == "never" && other == "delay_ms"
            || one == "malformed_chunk" && ["truncate_after", "dribble_ms"].contains(&other)
            || one == "clock_offset_ms" && ["status", "code", "retry_after"].contains(&other)
    };
    for (one, first) in members() {
        for (other, second) in members() {
            if one == other
                || [one, other] == ["before", "after"]
                || [one, other] == ["after", "before"]
            {
                continue;
            }
            let mut desk = Desk::open();
            let answer = desk.rule(&with(&[first.clone(), second].concat()));
            let clash = contradicts(one, other) || contradicts(other, one);
            assert_eq!(answer.status == 400, clash, "{one} with {other}: {}", text(&answer));
            assert_eq!(text(&answer).contains("contradicts"), clash, "{one} with {other}");
        }
    }
}

#[test]
fn a_rule_for_streams_says_nothing_about_answers_and_is_one_by_itself() {
    let mut desk = Desk::open();
    let stream = [("stream", json!("bom")), ("corrupt_signature", json!(true))];
    for (name, member) in members() {
        for member_of_stream in &stream {
            let answer =
                desk.rule(&with(&[member.clone(), vec![member_of_stream.clone()]].concat()));
            assert_eq!(answer.status, 400, "{name}");
            assert!(text(&answer).contains("make it two"), "{}", text(&answer));
        }
    }
    assert!(text(&desk.rule(&with(&stream))).contains("by itself"));
    let posted = with(&[("stream", json!("cr")), ("method", json!("POST"))]);
    assert!(text(&desk.rule(&posted)).contains("opened by GET"));
    for name in [
        "bom",
        "cr",
        "crlf",
        "split",
        "stall",
        "stale_issued_at",
        "bad_signature",
        "duplicate",
        "missing",
    ] {
        desk.ruled(&with(&[("stream", json!(name)), ("method", json!("GET"))]));
    }
}

#[test]
fn rules_are_served_as_they_came_with_their_names_and_taken_away() {
    let mut desk = Desk::open();
    let rule = json!({"method": "GET", "path": "/v1/health", "probability": 0.50, "seed": 7,
        "status": 503, "code": "pool_exhausted", "retry_after": 3, "delay_ms": 0});
    let answer = desk.rule(&rule);
    let mut served = rule.clone();
    served["id"] = json!(1);
    served["left"] = json!(1);
    served["times"] = json!(1);
    let told: Value = serde_json::from_slice(&answer.body).expect("the rule is JSON");
    assert_eq!((answer.status, &told), (201, &served));
    desk.ruled(&with(&[("drop", json!(true)), ("times", json!(2)), ("never", json!(false))]));
    let listed: Value =
        serde_json::from_slice(&desk.ask(Method::Get, "/test/faults", "").body).unwrap();
    let second =
        json!({"id": 2, "left": 2, "times": 2, "path": "/v1/health", "drop": true, "never": false});
    assert_eq!(listed, json!({ "faults": [served, second] }));
    for id in ["0", "3", "x", "-1", "18446744073709551616"] {
        let target = format!("/test/faults/{id}");
        assert_eq!(verdict(&desk.ask(Method::Delete, &target, "")), (404, String::new()), "{id}");
    }
    assert_eq!(desk.ask(Method::Delete, "/test/faults/1", "").status, 204);
    assert_eq!(desk.ask(Method::Delete, "/test/faults/1", "").status, 404);
    desk.ruled(&with(&[("never", json!(true))]));
    let listed = text(&desk.ask(Method::Get, "/test/faults", ""));
    assert!(
        listed.contains("\"id\":2") && listed.contains("\"id\":3") && !listed.contains("\"id\":1,")
    );
    assert_eq!(desk.ask(Method::Delete, "/test/faults", "").status, 204);
    assert_eq!(text(&desk.ask(Method::Get, "/test/faults", "")), "{\"faults\":[]}\n");
    assert_eq!(desk.ask(Method::Get, "/v1/health", "").status, 200);
}

#[test]
fn spent_rules_make_room_and_without_any_there_is_a_limit() {
    let mut desk = Desk::open();
    desk.ruled(&with(&[("status", json!(503))]));
    for _ in 1..RULES_MAX {
        desk.ruled(&json!({"path": "/v1/other", "status": 500}));
    }
    assert_eq!(desk.rule(&with(&[("status", json!(500))])).status, 400);
    assert_eq!(desk.ask(Method::Get, "/v1/health", "").status, 503);
    desk.ruled(&with(&[("status", json!(501))]));
    assert_eq!(desk.rule(&with(&[("status", json!(500))])).status, 400);
    assert_eq!(desk.ask(Method::Get, "/v1/health", "").status, 501);
}

#[test]
fn the_first_rule_with_times_left_acts_before_the_gate_and_moves_nothing() {
    let mut desk = Desk::open();
    desk.ruled(&json!({"path": "/v1/nodes/*/state", "status": 500, "times": 2}));
    desk.ruled(&json!({"path": "/v1/nodes/**", "method": "GET", "status": 503, "code": "odd"}));
    let state = node("state");
    let bare = || request(Method::Get, &state, Body::EMPTY);
    assert_eq!(verdict(&desk.send(Listener::Main, bare())), (500, String::new()));
    assert_eq!(verdict(&desk.ask(Method::Get, &state, "")), (500, String::new()));
    assert_eq!(verdict(&desk.send(Listener::Main, bare())), (503, "odd".into()));
    assert_eq!(desk.count("unauthorized_count") + desk.count("state_count"), 0);
    assert_eq!(desk.send(Listener::Main, bare()).status, 401);
    assert_eq!(desk.ask(Method::Get, &state, "").status, 200);
    assert_eq!((desk.count("unauthorized_count"), desk.count("state_count")), (1, 1));
    let rows = requests(&mut desk, "");
    let told: Vec<_> =
        rows.iter().map(|row| (&row["status"], &row["code"], &row["rule"])).collect();
    let null = Value::Null;
    assert_eq!(
        told,
        [
            (&json!(500), &null, &json!("fault.1")),
            (&json!(500), &null, &json!("fault.1")),
            (&json!(503), &json!("odd"), &json!("fault.2")),
            (&json!(401), &json!("unauthorized"), &json!("gate.bearer")),
            (&json!(200), &null, &null),
        ]
    );
}

#[test]
fn a_rule_for_get_also_meets_a_head_and_one_for_head_nothing_else() {
    for (method, [get, head, post]) in [
        (json!("GET"), [true, true, false]),
        (json!("HEAD"), [false, true, false]),
        (json!("POST"), [false, false, true]),
        (json!(null), [true, true, true]),
    ] {
        for (asked, met) in [(Method::Get, get), (Method::Head, head), (Method::Post, post)] {
            let mut desk = Desk::open();
            desk.ruled(&with(&[("method", method.clone()), ("status", json!(503))]));
            let answer = desk.ask(asked, "/v1/health", "");
            assert_eq!(answer.status == 503, met, "{method} and {asked:?}");
            assert_eq!(answer.body.is_empty(), asked == Method::Head, "{method} and {asked:?}");
        }
    }
}

#[test]
fn a_replaced_answer_leaves_counters_and_captures_and_one_brought_otherwise_does_not() {
    for (member, value, acts) in [
        ("status", json!(503), 0),
        ("drop", json!(true), 0),
        ("never", json!(true), 0),
        ("reset", json!("before_headers"), 0),
        ("reset", json!("after_headers"), 1),
        ("delay_ms", json!(9), 1),
        ("dribble_ms", json!(9), 1),
        ("truncate_after", json!(0), 1),
        ("malformed_chunk", json!(true), 1),
        ("content_type", json!("a/b"), 1),
        ("clock_offset_ms", json!(1), 1),
    ] {
        let mut desk = Desk::open();
        desk.ruled(&json!({"path": "/v1/register", member: value}));
        desk.asked(Method::Post, "/v1/register", "{}");
        assert_eq!(desk.count("registration_count"), acts, "{member}");
        let captured = desk.ask(Method::Get, "/test/last-request/register", "");
        assert_eq!(captured.status == 200, acts == 1, "{member}");
    }
}

#[test]
fn a_rule_for_everything_leaves_the_routes_under_test_alone() {
    let mut desk = Desk::open();
    desk.ruled(&json!({"path": "/**", "status": 500, "times": 9}));
    assert_eq!(desk.ask(Method::Get, "/test/bearer", "").status, 200);
    assert_eq!(desk.ask(Method::Get, "/%74est/bearer", "").status, 200);
    assert_eq!(desk.ask(Method::Get, "/", "").status, 500);
    let local = request(Method::Post, "/local/logs", Body::EMPTY);
    assert_eq!(desk.send(Listener::Tls, local).status, 500);
    assert_eq!(desk.ask(Method::Delete, "/test/faults", "").status, 204);
}

#[test]
fn a_replaced_answer_is_a_problem_from_400_on_and_empty_below() {
    let mut desk = Desk::open();
    let date = "Thu, 15 Jan 2026 10:31:00 GMT";
    for (members, status, retry_after) in [
        (vec![("status", json!(429)), ("retry_after", json!(7))], 429, Some("7")),
        (vec![("status", json!(503)), ("retry_after", json!(date))], 503, Some(date)),
        (vec![("status", json!(503)), ("retry_after", json!("7"))], 503, Some("7")),
        (vec![("status", json!(302))], 302, None),
        (vec![("status", json!(204))], 204, None),
        (vec![("status", json!(200)), ("content_type", json!("text/html"))], 200, None),
        (vec![("status", json!(400)), ("content_type", json!("text/html"))], 400, None),
    ] {
        desk.ruled(&with(&members));
        let answer = desk.ask(Method::Get, "/v1/health", "");
        assert_eq!(answer.status, status);
        assert_eq!(answer.headers.first("retry-after"), retry_after);
        assert_eq!(answer.body.is_empty(), status < 400);
        let html = members.iter().any(|(name, _)| *name == "content_type");
        let types: Vec<_> = answer.headers.all("content-type").collect();
        match (html, status) {
            (true, _) => assert_eq!(types, ["text/html"]),
            (false, 400..) => assert_eq!(types, ["application/problem+json"]),
            (false, _) => assert!(types.is_empty()),
        }
    }
}

#[test]
fn a_lost_request_gets_no_answer_and_no_route_hears_of_it() {
    let cut = |delay, reset| vec![Effect::Cut { call: CallId(1), cut: Cut { delay, reset } }];
    let soon = Duration::from_millis(5);
    for (members, effects) in [
        (vec![("drop", json!(true))], cut(Duration::ZERO, false)),
        (vec![("drop", json!(true)), ("delay_ms", json!(5))], cut(soon, false)),
        (vec![("reset", json!("before_headers"))], cut(Duration::ZERO, true)),
        (vec![("reset", json!("before_headers")), ("delay_ms", json!(5))], cut(soon, true)),
        (vec![("never", json!(true))], vec![]),
    ] {
        let mut desk = Desk::open();
        let mut rule = with(&members);
        rule["path"] = json!("/v1/register");
        desk.ruled(&rule);
        assert_eq!(desk.asked(Method::Post, "/v1/register", "{}"), effects);
        assert_eq!(desk.count("registration_count"), 0);
        assert_eq!(desk.ask(Method::Get, "/test/last-request/register", "").status, 404);
        let rows = requests(&mut desk, "");
        assert_eq!(rows.len(), 1);
        assert_eq!((&rows[0]["status"], &rows[0]["rule"]), (&Value::Null, &json!("fault.1")));
        assert_eq!(rows[0]["body"], json!("{}"));
    }
}

#[test]
fn an_answer_that_is_only_brought_otherwise_is_the_routes_own() {
    let manner = |delay, dribble, ending| Manner {
        delay: Duration::from_millis(delay),
        dribble: Duration::from_millis(dribble),
        ending,
    };
    for (members, expected) in [
        (vec![("delay_ms", json!(9))], manner(9, 0, Ending::Whole)),
        (vec![("dribble_ms", json!(9))], manner(0, 9, Ending::Whole)),
        (vec![("truncate_after", json!(0))], manner(0, 0, Ending::Truncated { after: 0 })),
        (vec![("reset", json!("after_headers"))], manner(0, 0, Ending::Reset)),
        (vec![("malformed_chunk", json!(true))], manner(0, 0, Ending::MalformedChunk)),
        (
            vec![("delay_ms", json!(1)), ("dribble_ms", json!(2)), ("truncate_after", json!(3))],
            manner(1, 2, Ending::Truncated { after: 3 }),
        ),
        (vec![("clock_offset_ms", json!(0))], Manner::PROMPT),
    ] {
        let mut plain = Desk::open();
        let mut desk = Desk::open();
        let mut rule = with(&members);
        rule["path"] = json!("/v1/register");
        desk.ruled(&rule);
        let (response, brought) = desk.brought(Method::Post, "/v1/register", "{}");
        assert_eq!(plain.brought(Method::Post, "/v1/register", "{}"), (response, Manner::PROMPT));
        assert_eq!(brought, expected, "{members:?}");
        assert_eq!(desk.count("registration_count"), 1);
        assert_eq!(requests(&mut desk, ""), requests(&mut plain, ""));
    }
}

#[test]
fn another_content_type_is_the_only_one() {
    let mut desk = Desk::open();
    desk.ruled(&with(&[("content_type", json!("text/html; charset=x"))]));
    let (response, _) = desk.brought(Method::Get, "/v1/health", "");
    let types: Vec<_> = response.headers.all("content-type").collect();
    assert_eq!(types, ["text/html; charset=x"]);
    assert!(text(&response).contains("mock"));
}

#[test]
fn a_clock_set_apart_is_seen_by_the_route_and_not_by_the_journal() {
    let beat = |at: &str| {
        format!(
            r#"{{"client_now":"{at}","binary_checksum":"{}","binary_version":"1","nat_summary":{{}}}}"#,
            "0".repeat(64)
        )
    };
    let mut desk = Desk::open();
    for (offset, at) in
        [(HOUR as i64, "2026-01-15T11:30:00Z"), (-(HOUR as i64), "2026-01-15T09:30:00Z")]
    {
        let rule = json!({"path": "/v1/nodes/*/heartbeat", "clock_offset_ms": offset, "times": 2});
        desk.ruled(&rule);
        let now = desk.ask(Method::Post, &node("heartbeat"), &beat("2026-01-15T10:30:00Z"));
        assert_eq!(verdict(&now), (400, "clock_skew".into()));
        let then = desk.ask(Method::Post, &node("heartbeat"), &beat(at));
        assert_eq!(then.status, 200);
        let hour = &at[11..13];
        let date = format!("Thu, 15 Jan 2026 {hour}:30:00 GMT");
        for answer in [&now, &then] {
            assert_eq!(
                answer.headers.first("date"),
                Some(date.as_str()),
                "the date is of that clock"
            );
        }
        let plain = desk.ask(Method::Post, &node("heartbeat"), &beat("2026-01-15T10:30:00Z"));
        assert_eq!((plain.status, plain.headers.first("date")), (200, None));
        assert!(text(&then).contains(at), "{}", text(&then));
    }
    assert!(requests(&mut desk, "").iter().all(|row| row["time"] == json!("2026-01-15T10:30:00Z")));
}

fn falls(probability: f64, seed: Option<u64>, before: usize) -> Vec<bool> {
    let mut desk = Desk::open();
    for _ in 0..before {
        desk.ruled(&json!({"path": "/v1/other", "status": 500}));
    }
    let mut rule =
        json!({"path": "/v1/health", "status": 503, "times": 1000, "probability": probability});
    if let Some(seed) = seed {
        rule["seed"] = json!(seed);
    }
    desk.ruled(&rule);
    (0..400).map(|_| desk.ask(Method::Get, "/v1/health", "").status == 503).collect()
}

#[test]
fn a_seed_falls_the_same_way_at_every_run_and_as_often_as_it_should() {
    let fallen = |falls: &[bool]| falls.iter().filter(|fell| **fell).count();
    assert_eq!(falls(0.3, Some(7), 0), falls(0.3, Some(7), 3));
    assert_ne!(falls(0.3, Some(7), 0), falls(0.3, Some(8), 0));
    assert_ne!(falls(0.3, None, 0), falls(0.3, None, 1));
    assert_eq!(falls(0.3, None, 0), falls(0.3, None, 0));
    for seed in 0..5 {
        let count = fallen(&falls(0.3, Some(seed), 0));
        assert!((80..160).contains(&count), "{count} of 400");
    }
    assert_eq!(fallen(&falls(1.0, Some(0), 0)), 400);
    assert_eq!(fallen(&falls(1e-300, Some(0), 0)), 0);
}

#[test]
fn a_rule_whose_draw_falls_against_it_keeps_its_times_and_lets_the_next_one_act() {
    let mut desk = Desk::open();
    desk.ruled(&with(&[("status", json!(500)), ("probability", json!(1e-300))]));
    desk.ruled(&with(&[("status", json!(503))]));
    assert_eq!(desk.ask(Method::Get, "/v1/health", "").status, 503);
    let listed: Value =
        serde_json::from_slice(&desk.ask(Method::Get, "/test/faults", "").body).unwrap();
    assert_eq!(
        (&listed["faults"][0]["left"], &listed["faults"][1]["left"]),
        (&json!(1), &json!(0))
    );
}

/// A frame as the contract writes it, its signature the last member of the envelope.
const FRAME: &str = concat!(
    "id: 7\nevent: policy_updated\n",
    r#"data: {"id":"e,\"issued_at\":\"","type":"policy_updated","scope":"é","key_id":"k","#,
    r#""issued_at":"2026-01-15T10:30:00Z","payload":{"issued_at":"x","signature":"p"},"signature":"AbC="}"#,
    "\n\n"
);

struct Streams {
    faults: Faults,
    now: Now,
}

impl Streams {
    fn open(rules: &[Value]) -> Self {
        let mut faults = Faults::default();
        for rule in rules {
            let read = rule::read(&Body::Whole(rule.to_string().into())).expect("a good rule");
            faults.add(read).expect("room");
        }
        Self {
            faults,
            now: Now { wall: meshward_core::time::Wall::from_origin(NOON), ..Now::default() },
        }
    }

    fn opening(&mut self, call: u64, target: &str) -> (Vec<Vec<u8>>, Duration) {
        let keep_alive = Duration::from_secs(15);
        let replay = vec![Frame(FRAME.as_bytes().into())];
        let opening = Opening { response: Response::empty(200), replay, keep_alive };
        let opening = self.faults.open(CallId(call), target, opening);
        (opening.replay.iter().map(|frame| frame.0.to_vec()).collect(), opening.keep_alive)
    }

    /// What each of three streams gets of a frame for everyone, its pieces apart.
    fn sent(&mut self, audience: Audience) -> [Vec<String>; 3] {
        let mut got: [Vec<String>; 3] = Default::default();
        let mut orders: std::collections::VecDeque<Sent> =
            self.faults.send(self.now, audience, Frame(FRAME.as_bytes().into())).into();
        while let Some(order) = orders.pop_front() {
            match order {
                Sent::Send { audience, frame } => {
                    for (at, got) in got.iter_mut().enumerate() {
                        let meant = match &audience {
                            Audience::Everyone => true,
                            Audience::Only(calls) => calls.contains(&CallId(at as u64)),
                        };
                        if meant {
                            got.push(frame.0.iter().map(|byte| char::from(*byte)).collect());
                        }
                    }
                }
                Sent::Sign { call, bytes } => {
                    let signature = format!("signed {}", bytes.len());
                    orders.extend(self.faults.signed(call, &signature));
                    assert_eq!(self.faults.signed(call, &signature), None, "signed once");
                }
            }
        }
        got
    }
}

/// The frame with each byte as one character.
fn plain() -> String {
    FRAME.bytes().map(char::from).collect()
}

fn bent(kind: &str) -> Vec<String> {
    let rule = json!({"path": "/v1/nodes/n/events", "stream": kind});
    let mut streams = Streams::open(&[rule]);
    streams.opening(0, "/v1/nodes/other/events");
    streams.opening(1, "/v1/nodes/n/events");
    streams.opening(2, "/v1/nodes/n/events");
    let [other, bent, next] = streams.sent(Audience::Everyone);
    assert_eq!(other, [plain()], "{kind}: a stream of another path");
    assert_eq!(next, [plain()], "{kind}: the times are used up");
    assert_eq!(streams.sent(Audience::Everyone), [[plain()], [plain()], [plain()]]);
    bent
}

#[test]
fn each_way_of_bending_a_frame_concerns_one_frame_of_a_matched_stream() {
    assert_eq!(bent("cr"), [plain().replace('\n', "\r")]);
    assert_eq!(bent("crlf"), [plain().replace('\n', "\r\n")]);
    assert_eq!(bent("duplicate"), [plain(), plain()]);
    assert_eq!(bent("missing"), Vec::<String>::new());
    assert_eq!(bent("bad_signature"), [plain().replace("AbC=", "BbC=")]);
    let pieces = bent("split");
    assert_eq!(pieces.concat(), plain());
    assert_eq!(pieces.len(), 4);
    assert!(pieces[1].ends_with('\u{c3}') && pieces[2].starts_with('\u{a9}'), "inside a character");
    assert_eq!((pieces[0].as_str(), pieces[3].as_str()), ("i", "\n"));
}

#[test]
fn a_stale_event_is_an_hour_old_and_signed_anew() {
    let data = FRAME.split_once("data: ").expect("data").1.trim_end();
    let unsigned = data.replace("T10:30", "T09:30").replace(r#","signature":"AbC="}"#, "}");
    let due =
        plain().replace("T10:30", "T09:30").replace("AbC=", &format!("signed {}", unsigned.len()));
    assert_eq!(bent("stale_issued_at"), [due]);
    assert_eq!(STALE, Duration::from_secs(3600));
}

#[test]
fn corrupt_signature_acts_on_the_next_frames_of_each_stream_in_turn() {
    let rule = json!({"path": "/v1/**", "corrupt_signature": true, "times": 3});
    let mut streams = Streams::open(&[rule]);
    for call in 0..2 {
        streams.opening(call, "/v1/nodes/n/events");
    }
    let bad = plain().replace("AbC=", "BbC=");
    let only = |call| Audience::Only(vec![CallId(call)]);
    assert_eq!(streams.sent(only(1)), [vec![], vec![bad.clone()], vec![]]);
    assert_eq!(streams.sent(Audience::Everyone)[..2], [[bad.clone()], [bad]]);
    assert_eq!(streams.sent(Audience::Everyone)[..2], [[plain()], [plain()]]);
}

#[test]
fn a_frame_without_what_is_to_be_bent_goes_as_it_is() {
    for kind in ["bad_signature", "stale_issued_at"] {
        let mut streams = Streams::open(&[json!({"path": "/a", "stream": kind})]);
        streams.opening(0, "/a");
        let frame = Frame(b": keep-alive\n\n"[..].into());
        let sent = streams.faults.send(streams.now, Audience::Only(vec![CallId(0)]), frame.clone());
        let audience = Audience::Only(vec![CallId(0)]);
        assert_eq!(sent.last(), Some(&Sent::Send { audience, frame }), "{kind}");
    }
}

#[test]
fn a_stream_may_begin_with_a_byte_order_mark_or_go_no_further() {
    let rules = [json!({"path": "/a", "stream": "bom"}), json!({"path": "/a", "stream": "stall"})];
    let mut streams = Streams::open(&rules);
    let frame = FRAME.as_bytes().to_vec();
    let alive = Duration::from_secs(15);
    assert_eq!(streams.opening(0, "/a"), (vec![b"\xef\xbb\xbf".to_vec(), frame.clone()], alive));
    assert_eq!(streams.opening(1, "/a"), (vec![], SILENCE));
    assert_eq!(streams.opening(2, "/a"), (vec![frame], alive));
    let got = || [vec![plain()], vec![], vec![plain()]];
    assert_eq!(streams.sent(Audience::Everyone), got());
    streams.faults.clear();
    assert_eq!(streams.sent(Audience::Everyone), got(), "a stalled stream stays so");
    streams.faults.left(CallId(1));
    streams.opening(1, "/a");
    assert_eq!(streams.sent(Audience::Everyone)[1], [plain()], "another stream of the same call");
    streams.faults.closed();
    assert_eq!(streams.faults.signed(CallId(1), "x"), None);
}

fn rules() -> impl Strategy<Value = Value> {
    let actions = prop_oneof![
        Just(json!({"status": 503, "code": "x", "retry_after": 1})),
        Just(json!({"drop": true})),
        Just(json!({"never": true})),
        Just(json!({"reset": "after_headers", "delay_ms": 5})),
        Just(json!({"clock_offset_ms": 7_200_000})),
        Just(json!({"dribble_ms": 1, "truncate_after": 3, "content_type": "x/y"})),
        Just(json!({"stream": "stall"})),
        Just(json!({"corrupt_signature": true})),
    ];
    let paths = prop_oneof![
        Just("/v1/register"),
        Just("/v1/nodes/*/heartbeat"),
        Just("/v1/nodes/**"),
        Just("/v1/*"),
        Just("/exec-output/*"),
        Just("/nothing"),
    ];
    let methods =
        prop_oneof![Just(None), Just(Some("GET")), Just(Some("HEAD")), Just(Some("POST")),];
    (actions, paths, methods, 1..4_u32, prop::option::of(0.01..1.0_f64)).prop_map(
        |(mut rule, path, method, times, probability)| {
            rule["path"] = json!(path);
            rule["times"] = json!(times);
            // A rule for streams that are opened by another method is refused.
            let streams = rule.get("stream").or_else(|| rule.get("corrupt_signature")).is_some();
            rule["method"] = json!(method.filter(|name| !streams || *name == "GET"));
            rule["probability"] = json!(probability);
            rule
        },
    )
}

/// Requests by the number of their kind.
fn kind(at: usize) -> Request {
    let execution = node("executions/e");
    let (method, target, body) = [
        (Method::Get, "/v1/health", ""),
        (Method::Post, "/v1/register", "{}"),
        (Method::Get, "/nothing/else", ""),
        (Method::Post, execution.as_str(), r#"{"status":"ack"}"#),
        (Method::Put, "/v1/keys/rotate", "{}"),
        (Method::Delete, "/v1/health", ""),
        (Method::Head, "/v1/health", ""),
    ][at];
    match at {
        2 => request(method, target, Body::EMPTY),
        _ => authorized(method, target, body),
    }
}

/// Whether a rule of the test means a request, in the plainest way.
fn means(rule: &Value, request: &Request) -> bool {
    let path: Vec<&str> = request.path.split('/').collect();
    let wanted: Vec<&str> = rule["path"].as_str().unwrap_or_default().split('/').collect();
    let same = match wanted.as_slice() {
        [front @ .., "**"] => path.len() > front.len() && path.starts_with(front),
        _ => {
            path.len() == wanted.len() && wanted.iter().zip(&path).all(|(w, p)| *w == "*" || w == p)
        }
    };
    let method = request.method.name();
    same && rule["method"]
        .as_str()
        .is_none_or(|name| name == method || (name, method) == ("GET", "HEAD"))
}

proptest! {
    #![proptest_config(support::seeds_in("faults"))]
    #[test]
    fn rules_never_change_what_a_request_gets_that_they_do_not_mean(
        rules in prop::collection::vec(rules(), 0..6),
        kinds in prop::collection::vec(0..7_usize, 1..20),
    ) {
        let (mut plain, mut desk) = (Desk::open(), Desk::open());
        for rule in &rules {
            desk.ruled(rule);
        }
        for kind in kinds.into_iter().map(kind) {
            if !rules.iter().any(|rule| means(rule, &kind)) {
                prop_assert_eq!(plain.effects(kind.clone()), desk.effects(kind));
            }
        }
        let assertions = |desk: &mut Desk| text(&desk.ask(Method::Get, "/test/assertions", ""));
        prop_assert_eq!(assertions(&mut plain), assertions(&mut desk));
        prop_assert_eq!(requests(&mut plain, ""), requests(&mut desk, ""));
    }

    #[test]
    fn the_first_rule_that_means_a_request_and_has_times_left_acts(
        wanted in prop::collection::vec((0..3_usize, 1..4_u32), 0..8),
        asked in prop::collection::vec(0..2_usize, 0..20),
    ) {
        let mut desk = Desk::open();
        let mut left: Vec<(usize, u32, u16)> = Vec::new();
        for (at, (path, times)) in wanted.into_iter().enumerate() {
            let status = 500 + at as u16;
            let path_text = ["/v1/health", "/v1/other", "/v1/*"][path];
            desk.ruled(&json!({"path": path_text, "times": times, "status": status}));
            left.push((path, times, status));
        }
        for path in asked {
            let acting = left.iter_mut().find(|(of, times, _)| (*of == path || *of == 2) && *times > 0);
            let due = match acting {
                Some((_, times, status)) => {
                    *times -= 1;
                    *status
                }
                None => [200, 404][path],
            };
            let answer = desk.ask(Method::Get, ["/v1/health", "/v1/other"][path], "");
            prop_assert_eq!(answer.status, due);
        }
    }

    #[test]
    fn reading_a_rule_is_total(body in prop::collection::vec(any::<u8>(), 0..80)) {
        let _read = rule::read(&Body::Whole(body));
    }
}
