//! The journal through the front, and its ring against a list that keeps everything.

use core::time::Duration;

use meshward_core::{
    plane::{
        Listener,
        journal::{BODIES_MAX, BODY_MAX, ENTRIES_MAX, Entry, Journal, Kept, Outcome, TARGET_MAX},
        mask,
    },
    time::Wall,
    wire::{
        http::{Body, Headers, Method, Request},
        json,
    },
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    desk::{Desk, bearer, node, request, text},
    support,
};

pub(crate) const TOKEN: &str = "psb_prod_abc234_node_abcdefghijklmnopqrst";

pub(crate) fn requests(desk: &mut Desk, query: &str) -> Vec<Value> {
    let answer = desk.ask(Method::Get, &format!("/test/requests{query}"), "");
    assert_eq!(answer.status, 200, "{}", text(&answer));
    let mut all: Value = serde_json::from_slice(&answer.body).expect("the journal is JSON");
    serde_json::from_value(all["requests"].take()).expect("the journal is an array")
}

fn last(desk: &mut Desk) -> Value {
    requests(desk, "").pop().expect("the journal holds something")
}

fn column(rows: &[Value], member: &str) -> Vec<Value> {
    rows.iter().map(|row| row[member].clone()).collect()
}

#[test]
fn an_entry_tells_how_a_request_was_answered_and_which_rule_refused_it() {
    let mut desk = Desk::open();
    assert_eq!(desk.ask(Method::Post, &node("heartbeat"), "{}").status, 400);
    let entry = json!({
        "seq": 1,
        "time": "2026-01-15T10:30:00Z",
        "method": "POST",
        "path": node("heartbeat"),
        "query": null,
        "status": 400,
        "code": "malformed_heartbeat_request",
        "rule": "heartbeat.nat_summary",
        "duration_ms": 0,
        "request_bytes": 2,
        "response_bytes": last(&mut desk)["response_bytes"],
        "body": "{}",
    });
    assert_eq!(requests(&mut desk, ""), [entry]);
    let health = desk.ask(Method::Get, "/v1/health?a=b", "");
    let entry = last(&mut desk);
    assert_eq!(entry["response_bytes"], json!(health.body.len()));
    assert_eq!((&entry["code"], &entry["rule"]), (&Value::Null, &Value::Null));
    assert_eq!((&entry["query"], &entry["body"]), (&json!("a=b"), &json!("")));
    let head = desk.ask(Method::Head, "/v1/health", "");
    assert!(head.body.is_empty());
    assert_eq!(last(&mut desk)["response_bytes"], json!(0));
}

#[test]
fn every_refusal_has_the_name_of_its_rule() {
    let mut desk = Desk::open();
    let beat = |now: &str, sum: &str| {
        format!(
            r#"{{"client_now":"{now}","binary_checksum":"{sum}","binary_version":"1","nat_summary":{{}}}}"#
        )
    };
    let now = "2026-01-15T10:30:00Z";
    let rows = [
        (Method::Post, node("heartbeat"), "[]".into(), "heartbeat.malformed"),
        (Method::Post, node("heartbeat"), beat("2026-01-15T10:31:01Z", ""), "heartbeat.clock_skew"),
        (Method::Post, node("heartbeat"), beat(now, "x"), "heartbeat.checksum"),
        (Method::Post, "/v1/register".into(), "{".into(), "register.malformed"),
        (Method::Post, "/v1/register".into(), "{}".into(), "register.empty"),
        (Method::Post, "/v1/keys/rotate".into(), "{}".into(), "rotation.key_invalid"),
        (Method::Get, "/v1/nothing".into(), String::new(), "route.not_found"),
        (Method::Put, "/v1/health".into(), String::new(), "route.method"),
        (Method::Put, "/exec-output/e?token=t".into(), String::new(), "upload.unknown"),
        (Method::Post, "/v1/nodes/x/executions/e".into(), "{}".into(), "guard.node_mismatch"),
    ];
    for (method, target, body, rule) in rows {
        desk.ask(method, &target, &body);
        assert_eq!(last(&mut desk)["rule"], json!(rule), "{target} {body}");
    }
    desk.ask(Method::Post, "/test/configure-state", r#"{"reachability":null}"#);
    desk.ask(Method::Get, &node("reachability"), "");
    assert_eq!(last(&mut desk)["rule"], json!("reachability.null"));
    desk.send(Listener::Main, request(Method::Get, &node("state"), Body::EMPTY));
    assert_eq!(last(&mut desk)["rule"], json!("gate.bearer"));
    for (token, rule) in [("other", "gate.local"), ("e2e-local-bearer-token", "local.body")] {
        let headers = Headers::new().with("authorization", &format!("Bearer {token}"));
        let local = request(Method::Post, "/local/logs", Body::Unreadable);
        desk.send(Listener::Tls, Request { headers, ..local });
        assert_eq!(last(&mut desk)["rule"], json!(rule));
    }
    for row in requests(&mut desk, "") {
        let refused = row["status"].as_u64().unwrap_or_default() >= 400;
        assert_eq!(row["rule"].is_string(), refused, "{row}");
    }
}

#[test]
fn the_routes_under_test_are_left_out_however_they_are_spelled() {
    let mut desk = Desk::open();
    for target in ["/test/bearer", "/test/nothing", "/%74est/bearer", "/test/", "/test/requests"] {
        desk.ask(Method::Get, target, "");
    }
    assert!(requests(&mut desk, "").is_empty());
    desk.ask(Method::Get, "/test", "");
    desk.ask(Method::Get, "/tests/x", "");
    assert_eq!(column(&requests(&mut desk, ""), "path"), [json!("/test"), json!("/tests/x")]);
}

#[test]
fn unmatched_requests_are_those_that_reached_no_route() {
    let mut desk = Desk::open();
    let missing = desk.send(Listener::Main, request(Method::Get, "/v1/nothing", Body::EMPTY));
    assert_eq!(missing.status, 401);
    for (method, target) in [
        (Method::Get, "/v1/nothing".to_owned()),
        (Method::Get, node("reachability")),
        (Method::Delete, node("state")),
        (Method::Put, "/exec-output/e".into()),
    ] {
        desk.ask(method, &target, "");
    }
    let unmatched = requests(&mut desk, "?unmatched=true");
    assert_eq!(column(&unmatched, "status"), [json!(404), json!(405)]);
    assert_eq!(column(&unmatched, "seq"), [json!(2), json!(4)]);
    assert_eq!(requests(&mut desk, "?unmatched=false").len(), 5);
    assert_eq!(requests(&mut desk, "?unmatched=true&unmatched=false").len(), 2);
    for query in ["?unmatched", "?unmatched=1", "?unmatchd=true", "?unmatched=true&x"] {
        let answer = desk.ask(Method::Get, &format!("/test/requests{query}"), "");
        assert_eq!(answer.status, 400, "{query}");
    }
}

#[test]
fn the_sequence_goes_on_after_a_deletion_and_begins_anew_after_a_reset() {
    let mut desk = Desk::open();
    desk.ask(Method::Get, "/v1/health", "");
    desk.ask(Method::Get, "/v1/health", "");
    let deleted = desk.ask(Method::Delete, "/test/requests", "");
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    assert!(requests(&mut desk, "").is_empty());
    desk.ask(Method::Get, "/v1/health", "");
    assert_eq!(last(&mut desk)["seq"], json!(3));
    assert_eq!(desk.ask(Method::Post, "/test/reset", "").status, 204);
    assert!(requests(&mut desk, "").is_empty());
    desk.ask(Method::Get, "/v1/health", "");
    assert_eq!(last(&mut desk)["seq"], json!(1));
}

#[test]
fn a_thousand_requests_are_held_and_the_oldest_goes_first() {
    let mut desk = Desk::open();
    for at in 0..ENTRIES_MAX + 3 {
        desk.ask(Method::Get, &format!("/v1/health?{at}"), "");
    }
    let held = requests(&mut desk, "");
    assert_eq!(held.len(), ENTRIES_MAX);
    assert_eq!((&held[0]["seq"], &held[0]["query"]), (&json!(4), &json!("3")));
    assert_eq!(held[ENTRIES_MAX - 1]["seq"], json!(ENTRIES_MAX + 3));
}

#[test]
fn sizes_are_as_announced_or_as_read_and_a_body_that_was_not_read_is_null() {
    let mut desk = Desk::open();
    for (body, read, kept) in [
        (Body::Whole(b"[]".to_vec()), 2, json!("[]")),
        (Body::Whole(b"\xff".to_vec()), 1, json!("\u{fffd}")),
        (Body::Oversized, 0, Value::Null),
        (Body::Unreadable, 0, Value::Null),
    ] {
        desk.ask_with(Method::Post, "/v1/register", body.clone());
        let entry = last(&mut desk);
        assert_eq!((&entry["request_bytes"], &entry["body"]), (&json!(read), &kept));
        let announcing = request(Method::Post, "/v1/register", body);
        let headers = Headers::new().with("content-length", "70000");
        desk.send(Listener::Main, Request { headers, ..announcing });
        assert_eq!(last(&mut desk)["request_bytes"], json!(70000));
    }
    desk.ask(Method::Post, "/v1/register", &"é".repeat(BODY_MAX));
    let entry = last(&mut desk);
    assert_eq!(entry["request_bytes"], json!(2 * BODY_MAX));
    assert_eq!(entry["body"].as_str().map(str::len), Some(BODY_MAX));
    desk.ask(Method::Get, &format!("/v1/{}?{}", "a".repeat(9999), "b".repeat(9999)), "");
    let entry = last(&mut desk);
    assert_eq!(entry["path"].as_str().map(str::len), Some(TARGET_MAX));
    assert_eq!(entry["query"].as_str().map(str::len), Some(TARGET_MAX));
}

#[test]
fn no_credential_is_kept_nor_printed() {
    let mut desk = Desk::open();
    let payload = bearer().rsplit('_').next().expect("an envelope").to_owned();
    let body = format!(r#"{{"bootstrap_token":"{TOKEN}","nonce":"n"}}"#);
    desk.ask(Method::Post, "/v1/register", &body);
    desk.ask(Method::Put, "/exec-output/e?a=1&token=exec-upload-0001&%74oken=zzz&Token", "");
    let served = text(&desk.ask(Method::Get, "/test/requests", ""));
    let printed = format!("{:?}", desk.plane);
    for text in [&served, &printed] {
        for secret in [TOKEN, "exec-upload-0001", "zzz", payload.as_str()] {
            assert!(!text.contains(secret), "{secret}");
        }
    }
    assert!(served.contains(r#"{\"bootstrap_token\":\"***\",\"nonce\":\"n\"}"#), "{served}");
    assert!(served.contains("a=1&token=***&%74oken=***&Token"), "{served}");
}

#[test]
fn a_token_is_masked_wherever_its_member_stands_and_nothing_else_is_changed() {
    for (body, kept) in [
        (r#"{"bootstrap_token":"a"}"#, r#"{"bootstrap_token":"***"}"#),
        (r#"{ "bootstrap_token" : "a\"b" , "x":1e0}"#, r#"{ "bootstrap_token" : "***" , "x":1e0}"#),
        (
            r#"{"bootstrap_token":"a","bootstrap_token":"b"}"#,
            r#"{"bootstrap_token":"***","bootstrap_token":"***"}"#,
        ),
        (r#"{"a":[{"bootstrap_token":"a"}]}"#, r#"{"a":[{"bootstrap_token":"***"}]}"#),
        (r#"{"boot\u0073trap_token":"a"}"#, r#"{"boot\u0073trap_token":"***"}"#),
        (r#"{"bootstrap_token":17,"b":2}"#, r#"{"bootstrap_token":***,"b":2}"#),
        (r#"{"bootstrap_token":["a,",{"b":"]"}] }"#, r#"{"bootstrap_token":*** }"#),
        (r#"{"bootstrap_token":null}"#, r#"{"bootstrap_token":null}"#),
        (r#"{"x":"bootstrap_token","y":"z"}"#, r#"{"x":"bootstrap_token","y":"z"}"#),
        (r#"{"bootstrap_token":""}"#, r#"{"bootstrap_token":"***"}"#),
        // No JSON any more.
        (r#"{"bootstrap_token":"a"#, r#"{"bootstrap_token":"***"#),
        (r#"{"bootstrap_token":"a\"#, r#"{"bootstrap_token":"***"#),
        (r#"{bootstrap_token:a,b:c}"#, r#"{bootstrap_token:***,b:c}"#),
        (r#"{'bootstrap_token':'a','b':'c'}"#, r#"{'bootstrap_token':'***','b':'c'}"#),
        (r#"{"a":"b,"bootstrap_token":"c"}"#, r#"{"a":"b,"bootstrap_token":"***"}"#),
        ("bootstrap_token=a&b=c", "bootstrap_token=***&b=c"),
        ("bootstrap_token", "bootstrap_token"),
        (r#"{"bootstrap_token""#, r#"{"bootstrap_token""#),
        (r#"{"é":"\u00e9"}"#, r#"{"é":"\u00e9"}"#),
    ] {
        assert_eq!(mask::body(body), kept);
    }
}

/// A body kept for some length.
fn entry(at: usize, length: usize) -> Entry {
    Entry {
        at: Wall::from_origin(Duration::from_secs(at as u64)),
        method: Method::Post,
        path: format!("/{at}"),
        query: None,
        outcome: Outcome { status: Some(200), ..Outcome::default() },
        duration: Duration::ZERO,
        request_bytes: 0,
        body: Kept::of(&Body::Whole(vec![b'a'; length])),
    }
}

fn served(journal: &Journal) -> Vec<Value> {
    let mut all: Value =
        serde_json::from_slice(&json::encode(&journal.served(false))).expect("JSON");
    serde_json::from_value(all["requests"].take()).expect("an array")
}

/// Whatever was kept, the newest bodies that fit are there, and those before them are not.
fn check(journal: &Journal, kept: &[usize], cleared: usize) {
    let rows = served(journal);
    let first = cleared.max(kept.len().saturating_sub(ENTRIES_MAX));
    assert_eq!(rows.len(), kept.len() - first);
    let mut room = BODIES_MAX;
    let mut forgotten = false;
    for (row, at) in rows.iter().rev().zip((first..kept.len()).rev()) {
        assert_eq!(row["seq"], json!(at + 1));
        assert_eq!(row["path"], json!(format!("/{at}")));
        let length = kept[at].min(BODY_MAX);
        forgotten |= length > room;
        let body = row["body"].as_str().map(str::len);
        assert_eq!(body, (!forgotten).then_some(length), "of {at}");
        room = room.saturating_sub(length);
    }
}

#[test]
fn the_newest_bodies_are_kept_as_far_as_they_fit_together() {
    let mut journal = Journal::default();
    let mut kept = Vec::new();
    for at in 0..ENTRIES_MAX + 50 {
        let length = if at % 3 == 0 { BODY_MAX } else { at };
        journal.keep(entry(at, length));
        kept.push(length);
    }
    check(&journal, &kept, 0);
}

fn steps() -> impl Strategy<Value = Vec<Option<usize>>> {
    let length = prop_oneof![1 => 0..100_usize, 4 => Just(BODY_MAX), 1 => 0..BODY_MAX + 9];
    prop::collection::vec(prop_oneof![200 => length.prop_map(Some), 1 => Just(None)], 0..200)
}

proptest! {
    // Every case keeps megabytes.
    #![proptest_config(ProptestConfig { cases: 16, ..support::seeds_in("journal") })]
    #[test]
    fn the_ring_holds_what_a_list_of_everything_would_show(steps in steps()) {
        let (mut journal, mut kept, mut cleared) = (Journal::default(), Vec::new(), 0);
        for step in steps {
            match step {
                Some(length) => {
                    journal.keep(entry(kept.len(), length));
                    kept.push(length);
                }
                None => {
                    journal.clear();
                    cleared = kept.len();
                }
            }
        }
        check(&journal, &kept, cleared);
    }
}

proptest! {
    #![proptest_config(support::seeds_in("journal"))]
    #[test]
    fn a_token_in_a_registration_is_never_kept(
        front in "[ -~]{0,20}", secret in "[a-z2-7]{12,20}", back in "[ -~]{0,20}", cut in 0..200_usize,
        spaces in "[ \n]{0,2}",
    ) {
        let front = serde_json::to_string(&front).expect("text");
        let whole = format!(r#"{{"a":{front},"bootstrap_token"{spaces}:{spaces}"psb_{secret}","b":1}}{back}"#);
        let body = whole.chars().take(cut).collect::<String>();
        let kept = mask::body(&body).into_owned();
        let leaked = (6..=secret.len()).any(|length| kept.contains(&secret[..length]));
        prop_assert!(!leaked, "{body} was kept as {kept}");
        if cut >= whole.len() && back.trim().is_empty() {
            prop_assert_eq!(kept, body.replace(&format!("psb_{secret}"), "***"));
        }
    }

    #[test]
    fn what_names_no_token_is_kept_as_it_came(body in "[ -~é\n]{0,60}") {
        prop_assume!(!body.contains("bootstrap_token"));
        prop_assert_eq!(mask::body(&body), body.as_str());
    }

    #[test]
    fn what_is_masked_stays_as_it_is(body in r#"(bootstrap_token|["'\\:{}\[\],=&]|\\u0073|[a-zé ]){0,30}"#) {
        let once = mask::body(&body).into_owned();
        prop_assert_eq!(mask::body(&once), once.as_str());
    }
}

#[test]
fn what_has_the_shape_of_a_credential_is_masked_wherever_it_stands() {
    let mut desk = Desk::open();
    let token = "psb_dev_abc_node_aaaaaaaaaaaaaaaaaaaa";
    let envelope = bearer();
    let envelope = envelope.trim_start_matches("Bearer ");
    desk.ask(
        Method::Post,
        &format!("/v1/register?bootstrap={token}&x=1"),
        &format!("[\"{token}\"]"),
    );
    desk.ask(Method::Get, &format!("/v1/nodes/{envelope}/state?access={envelope}"), "");
    let body = format!(r#"{{"status":"failed","error":"no {envelope}, psb_short and nsk_"}}"#);
    desk.ask(Method::Post, &node("executions/e"), &body);
    let whole = text(&desk.ask(Method::Get, "/test/requests", ""));
    for secret in [token, envelope] {
        assert!(!whole.contains(secret), "{secret} in {whole}");
    }
    for kept in ["bootstrap=***&x=1", "/v1/nodes/***/state", "no ***, psb_short and nsk_"] {
        assert!(whole.contains(kept), "{kept} in {whole}");
    }
}

#[test]
fn a_body_that_was_announced_and_not_read_is_null_and_one_without_bytes_is_empty() {
    let mut desk = Desk::open();
    for (announced, body) in [("5", json!(null)), ("0", json!(""))] {
        let asked = request(Method::Post, "/nope", Body::EMPTY);
        let headers = Headers::new().with("content-length", announced);
        desk.send(Listener::Main, Request { headers, ..asked });
        assert_eq!(last(&mut desk)["body"], body, "{announced} bytes announced");
    }
}
