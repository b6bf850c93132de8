//! Verification through the front, with a clock that is moved, and against a list of what was requested.

use core::time::Duration;

use meshward_core::{
    ids::{CallId, CorrelationId},
    plane::{
        Arrival, Drawn, Effect, Input, Listener,
        verify::{COUNT_MAX, WAITING_MAX, WITHIN_MAX},
    },
    wire::{
        http::{Body, Headers, Method, Request, Response},
        json,
        problem::ProblemSeen,
    },
};
use proptest::prelude::*;

use crate::{
    desk::{Desk, bearer, node, request, text},
    support,
};

impl Desk {
    /// Steps on one input and gives every answer with its call, in order.
    pub(crate) fn step(&mut self, input: Input) -> Vec<(u64, Response)> {
        let step = core::mem::take(&mut self.plane).step(&self.settings, self.now, input);
        self.plane = step.state;
        let answers = step.effects.into_iter().map(|effect| match effect {
            Effect::Reply { call, response, .. } => (call.0, response),
            other @ (Effect::Open { .. }
            | Effect::Cut { .. }
            | Effect::Send { .. }
            | Effect::Close
            | Effect::Sign { .. }) => panic!("an answer was due and not {other:?}"),
        });
        answers.collect()
    }

    pub(crate) fn call(
        &mut self,
        call: u64,
        method: Method,
        target: &str,
        body: &str,
    ) -> Vec<(u64, Response)> {
        let headers = Headers::new().with("authorization", &bearer());
        let request = Request { headers, ..request(method, target, Body::Whole(body.into())) };
        let drawn = Drawn { correlation: CorrelationId(u128::from(call)), ..Drawn::default() };
        let arrival = Arrival { listener: Listener::Main, request, begun: self.now.mono, drawn };
        self.step(Input::Requested { call: CallId(call), arrival })
    }

    fn verify(&mut self, call: u64, body: &str) -> Vec<(u64, Response)> {
        self.call(call, Method::Post, "/test/verify", body)
    }

    fn health(&mut self, call: u64) -> Vec<(u64, u16)> {
        statuses(self.call(call, Method::Get, "/v1/health", ""))
    }

    fn tick(&mut self) -> Vec<(u64, Response)> {
        self.step(Input::Ticked)
    }
}

fn statuses(answers: Vec<(u64, Response)>) -> Vec<(u64, u16)> {
    answers.into_iter().map(|(call, response)| (call, response.status)).collect()
}

fn detail(answers: &[(u64, Response)]) -> String {
    let [(_, response)] = answers else { panic!("one answer was due and not {answers:?}") };
    assert_eq!(response.headers.first("content-type"), Some("application/problem+json"));
    json::decode_tolerant::<ProblemSeen>(&response.body).expect("a problem").detail
}

#[test]
fn every_slip_in_a_condition_is_refused_with_what_mends_it() {
    let mut desk = Desk::open();
    let over = COUNT_MAX + 1;
    let within = WITHIN_MAX.as_millis() + 1;
    for (body, said) in [
        ("", "not a verification"),
        ("[]", "not a verification"),
        (r#"{"path":"/a","count":1,"times":1}"#, "not a verification"),
        (r#"{"path":"/a","count":-1}"#, "not a verification"),
        (r#"{"count":1}"#, "path is missing"),
        (r#"{"path":"a","count":1}"#, "slash"),
        (r#"{"path":"/a?b","count":1}"#, "query"),
        (r#"{"path":"/**/a","count":1}"#, "at its end"),
        (r#"{"path":"/a*","count":1}"#, "alone in its segment"),
        (r#"{"path":"/test/verify","count":1}"#, "/test/"),
        (r#"{"path":"/a","method":"get","count":1}"#, "method must be"),
        (r#"{"path":"/a"}"#, "exactly one"),
        (r#"{"path":"/a","count":1,"at_most":1}"#, "exactly one"),
        (r#"{"path":"/a","count":1,"at_least":1}"#, "exactly one"),
        (r#"{"path":"/a","at_least":1,"at_most":1}"#, "exactly one"),
        (&format!(r#"{{"path":"/a","count":{over}}}"#), "1000"),
        (&format!(r#"{{"path":"/a","at_least":{over}}}"#), "1000"),
        (&format!(r#"{{"path":"/a","at_most":{over}}}"#), "1000"),
        (&format!(r#"{{"path":"/a","count":1,"within_ms":{within}}}"#), "60000"),
        // Each of two slips is told by the first of its members.
        (r#"{"path":"a","method":"get","count":9999}"#, "method must be"),
        (r#"{"path":"a","count":9999}"#, "slash"),
        (r#"{"path":"/a","count":9999,"within_ms":70000}"#, "1000"),
    ] {
        let answers = desk.verify(1, body);
        assert!(detail(&answers).contains(said), "{body}: {}", detail(&answers));
        assert_eq!(answers[0].1.status, 400, "{body}");
    }
    assert_eq!(desk.ask_with(Method::Post, "/test/verify", Body::Oversized).status, 413);
    assert_eq!(desk.ask_with(Method::Post, "/test/verify", Body::Unreadable).status, 400);
    let long = format!(r#"{{"path":"/{}","count":1}}"#, "a".repeat(2048));
    assert!(detail(&desk.verify(1, &long)).contains("2048"));
    let longest = format!(r#"{{"path":"/{}","count":0,"within_ms":60000}}"#, "a".repeat(2047));
    assert!(desk.verify(1, &longest).is_empty());
}

#[test]
fn without_time_to_wait_the_journal_decides_at_once() {
    let mut desk = Desk::open();
    desk.health(1);
    desk.health(2);
    for (goal, status) in [
        (r#""count":2"#, 200),
        (r#""count":1"#, 409),
        (r#""count":3"#, 409),
        (r#""at_least":2"#, 200),
        (r#""at_least":0"#, 200),
        (r#""at_least":3"#, 409),
        (r#""at_most":2"#, 200),
        (r#""at_most":1"#, 409),
        (r#""count":2,"within_ms":0"#, 200),
        (r#""count":3,"within_ms":0"#, 409),
        (r#""count":2,"within_ms":null,"at_most":null"#, 200),
    ] {
        let answers = desk.verify(3, &format!(r#"{{"path":"/v1/health",{goal}}}"#));
        assert_eq!(answers[0].1.status, status, "{goal}");
        if status == 200 {
            assert_eq!(text(&answers[0].1), "{\"matched\":2}\n");
        }
        assert_eq!(desk.plane.wakeup(), None);
    }
}

#[test]
fn at_least_is_answered_with_the_request_that_fulfils_it() {
    let mut desk = Desk::open();
    desk.health(1);
    assert!(
        desk.verify(2, r#"{"method":"GET","path":"/v1/*","at_least":3,"within_ms":500}"#)
            .is_empty()
    );
    assert_eq!(desk.plane.wakeup(), Some(desk.now.mono.after(Duration::from_millis(500))));
    assert_eq!(desk.health(3), [(3, 200)]);
    assert_eq!(statuses(desk.call(4, Method::Head, "/v1/health", "")), [(4, 200)]);
    assert_eq!(statuses(desk.call(5, Method::Get, "/v1/nothing", "")), [(5, 404), (2, 200)]);
    assert_eq!(desk.plane.wakeup(), None);
    assert!(desk.tick().is_empty());
}

#[test]
fn count_and_at_most_wait_to_the_end_and_fail_as_soon_as_they_are_exceeded() {
    for goal in ["count", "at_most"] {
        let mut desk = Desk::open();
        let body = format!(r#"{{"path":"/v1/health","{goal}":1,"within_ms":100}}"#);
        assert!(desk.verify(1, &body).is_empty());
        assert_eq!(desk.health(2), [(2, 200)]);
        assert_eq!(desk.health(3), [(3, 200), (1, 409)], "{goal}");

        assert!(desk.call(4, Method::Delete, "/test/requests", "").len() == 1);
        assert!(desk.verify(5, &body).is_empty());
        assert_eq!(desk.health(6), [(6, 200)]);
        desk.now = desk.now.after(Duration::from_millis(99));
        assert!(desk.tick().is_empty());
        desk.now = desk.now.after(Duration::from_millis(1));
        let answers = desk.tick();
        assert_eq!((answers[0].0, text(&answers[0].1).as_str()), (5, "{\"matched\":1}\n"));
    }
}

#[test]
fn what_comes_after_the_time_is_over_counts_no_more() {
    let mut desk = Desk::open();
    let body = r#"{"path":"/v1/health","at_least":1,"within_ms":100}"#;
    assert!(desk.verify(1, body).is_empty());
    desk.now = desk.now.after(Duration::from_millis(101));
    assert_eq!(desk.health(2), [(1, 409), (2, 200)]);
}

#[test]
fn a_failure_tells_the_closest_misses_and_answers_as_the_route_that_was_asked() {
    let mut desk = Desk::open();
    let none = desk.verify(1, r#"{"path":"/v1/health","count":1}"#);
    assert_eq!(detail(&none), "0 requests matched, exactly 1 expected; nothing else was requested");
    for target in ["/v1/health/x", "/other/y/z", "/v1/healthz", "/v1/healthz", "/v1/register"] {
        desk.call(1, Method::Get, target, "");
    }
    desk.call(1, Method::Head, "/v1/health", "");
    let answers = desk.verify(9, r#"{"method":"GET","path":"/v1/health","at_least":1}"#);
    assert_eq!(
        detail(&answers),
        "0 requests matched, at least 1 expected; closest: #6 HEAD /v1/health (200), \
         #5 GET /v1/register (405), #4 GET /v1/healthz (404)"
    );
    let (_, response) = &answers[0];
    assert!(text(response).contains(r#""instance":"/test/verify""#));
    assert_eq!(response.headers.first("x-correlation-id"), Some(&*format!("{:032x}", 9)));
    let answers = desk.verify(1, r#"{"path":"/v1/*","at_most":2}"#);
    assert_eq!(
        detail(&answers),
        "4 requests matched, at most 2 expected; the last: #6 HEAD /v1/health (200), \
         #5 GET /v1/register (405), #4 GET /v1/healthz (404)"
    );
}

#[test]
fn only_so_many_wait_at_once_and_who_leaves_makes_room() {
    let mut desk = Desk::open();
    let body = r#"{"path":"/v1/health","at_least":1,"within_ms":60000}"#;
    let most = WAITING_MAX as u64;
    for call in 1..=most {
        assert!(desk.verify(call, body).is_empty());
    }
    assert_eq!(statuses(desk.verify(most + 1, body)), [(most + 1, 400)]);
    assert_eq!(
        statuses(desk.verify(most + 1, r#"{"path":"/v1/health","count":0}"#)),
        [(most + 1, 200)]
    );
    assert!(desk.step(Input::Left { call: CallId(2) }).is_empty());
    assert!(desk.verify(most + 2, body).is_empty());
    let answered: Vec<u64> = desk.health(99).into_iter().map(|(call, _)| call).collect();
    let due: Vec<u64> = [99, 1].into_iter().chain(3..=most).chain([most + 2]).collect();
    assert_eq!(answered, due);
}

#[test]
fn a_deletion_and_a_reset_leave_who_waits_waiting_from_none() {
    for (method, target) in [(Method::Delete, "/test/requests"), (Method::Post, "/test/reset")] {
        let mut desk = Desk::open();
        desk.health(1);
        let body = r#"{"path":"/v1/health","at_least":2,"within_ms":100}"#;
        assert!(desk.verify(2, body).is_empty());
        assert_eq!(desk.ask(method, target, "").status, 204);
        assert_eq!(desk.health(3), [(3, 200)]);
        assert_eq!(desk.health(4), [(4, 200), (2, 200)], "{target}");
    }
}

#[test]
fn a_request_that_a_fault_lost_counts_as_one_that_was_made() {
    let mut desk = Desk::open();
    desk.ask(Method::Post, "/test/faults", r#"{"path":"/v1/health","never":true}"#);
    assert!(desk.verify(1, r#"{"path":"/v1/health","at_least":1,"within_ms":100}"#).is_empty());
    assert_eq!(desk.health(2), [(1, 200)]);
    let answers = desk.verify(3, r#"{"path":"/v1/register","count":1}"#);
    assert!(detail(&answers).ends_with("#1 GET /v1/health (no answer)"), "{}", detail(&answers));
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Ask { path: usize },
    Verify { goal: usize, wanted: u64, within: u64 },
    Pass { millis: u64 },
    Leave { waiting: usize },
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        4 => (0..2_usize).prop_map(|path| Move::Ask { path }),
        2 => (0..3_usize, 0..5_u64, 0..30_u64)
            .prop_map(|(goal, wanted, within)| Move::Verify { goal, wanted, within }),
        2 => (0..15_u64).prop_map(|millis| Move::Pass { millis }),
        1 => (0..4_usize).prop_map(|waiting| Move::Leave { waiting }),
    ];
    prop::collection::vec(one, 0..60)
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    call: u64,
    goal: usize,
    wanted: u64,
    until: u64,
}

/// What the specification says of a waiter at a time, when so many have matched.
fn expected(waiter: Waiter, now: u64, matched: u64) -> Option<u16> {
    let over = now >= waiter.until;
    let (more, equal) = (matched > waiter.wanted, matched == waiter.wanted);
    match waiter.goal {
        0 if more => Some(409),
        0 if over => Some(if equal { 200 } else { 409 }),
        1 if more || equal => Some(200),
        1 if over => Some(409),
        2 if more => Some(409),
        2 if over => Some(200),
        _ => None,
    }
}

proptest! {
    #![proptest_config(support::seeds_in("verify"))]
    #[test]
    fn every_waiter_is_answered_once_and_when_it_is_decided(moves in moves()) {
        let mut desk = Desk::open();
        let (mut now, mut matched, mut waiters) = (0_u64, 0_u64, Vec::<Waiter>::new());
        for (at, one) in moves.into_iter().enumerate() {
            let call = at as u64 + 1;
            let mut due = Vec::new();
            let answered = match one {
                Move::Ask { path } => {
                    matched += u64::from(path == 0);
                    due.push((call, [200, 404][path]));
                    statuses(desk.call(call, Method::Get, ["/v1/health", "/v1/x"][path], ""))
                }
                Move::Verify { goal, wanted, within } => {
                    waiters.push(Waiter { call, goal, wanted, until: now + within });
                    let goal = ["count", "at_least", "at_most"][goal];
                    statuses(desk.verify(call, &format!(
                        r#"{{"path":"/v1/health","{goal}":{wanted},"within_ms":{within}}}"#
                    )))
                }
                Move::Pass { millis } => {
                    now += millis;
                    desk.now = desk.now.after(Duration::from_millis(millis));
                    statuses(desk.tick())
                }
                Move::Leave { waiting } => {
                    let gone = (waiting < waiters.len()).then(|| waiters.remove(waiting).call);
                    statuses(desk.step(Input::Left { call: CallId(gone.unwrap_or(0)) }))
                }
            };
            waiters.retain(|waiter| match expected(*waiter, now, matched) {
                Some(status) => {
                    due.push((waiter.call, status));
                    false
                }
                None => true,
            });
            prop_assert_eq!(answered, due);
            let next = waiters.iter().map(|waiter| waiter.until).min();
            let start = Desk::open().now.mono;
            prop_assert_eq!(desk.plane.wakeup(), next.map(|at| start.after(Duration::from_millis(at))));
        }
    }
}

#[test]
fn a_path_of_any_node_is_meant_by_a_star() {
    let mut desk = Desk::open();
    desk.call(1, Method::Get, &node("state"), "");
    for (path, count) in [
        ("/v1/nodes/*/state", 1),
        ("/v1/nodes/**", 1),
        ("/**", 1),
        ("/*/*/*/*", 1),
        ("/%76%31/nodes/*/st%61te", 1),
        ("/v1/nodes/*", 0),
        ("/v1/nodes/*/state/**", 0),
        ("/v1/nodes/*/state/", 0),
        ("/V1/nodes/*/state", 0),
    ] {
        let body = format!(r#"{{"path":"{path}","count":{count}}}"#);
        assert_eq!(statuses(desk.verify(2, &body)), [(2, 200)], "{path}");
    }
}
