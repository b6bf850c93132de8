//! Batches of metrics, logs and audit records: the gates on the head, the limits, and every rule of a record.

use core::time::Duration;

use meshward_core::{
    plane::{BodyRule, Listener, body_rule, ingest, ingest::Refusal},
    time::{Mono, Now, Wall},
    wire::{
        call::Sink,
        http::{Body, Headers, Method, Request, Response},
        json::decode_tolerant,
        problem::ProblemSeen,
    },
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::{
    desk::{Desk, NOON, bearer, node, request, text, verdict},
    support::seeds_in,
};

const MALFORMED: &str = "ingest_batch_malformed";
const TOO_LARGE: &str = "ingest_body_too_large";
const SENT_AT: &str = "2026-01-15T10:29:59.123456789Z";

const SAMPLE: &str =
    r#"{"group":"node_resources","name":"cpu","value":0.5,"timestamp":"2026-01-15T10:30:00Z"}"#;
const LOG: &str = r#"{"severity":"info","message":"up","timestamp":"2026-01-15T10:30:00Z"}"#;
const AUDIT: &str = r#"{"source":"auditd","action":"execve","outcome":"success","timestamp":"2026-01-15T10:30:00Z"}"#;

fn good_headers() -> Headers {
    Headers::new().with("authorization", &bearer()).with("X-Service-Sent-At", SENT_AT)
}

fn post(desk: &mut Desk, route: &str, headers: Headers, body: Body) -> Response {
    desk.send(Listener::Main, Request { headers, ..request(Method::Post, &node(route), body) })
}

/// Status, code and detail of a batch under a good head.
fn batch(desk: &mut Desk, route: &str, body: &str) -> (u16, String, String) {
    let response = post(desk, route, good_headers(), Body::Whole(body.into()));
    let (status, code) = verdict(&response);
    let seen: ProblemSeen = decode_tolerant(&response.body).unwrap_or_default();
    (status, code, seen.detail)
}

fn captured(desk: &mut Desk, name: &str) -> Option<String> {
    let response = desk.ask(Method::Get, &format!("/test/last-request/{name}"), "");
    (response.status == 200).then(|| text(&response))
}

/// A record with one member spelled otherwise and put last; an empty spelling leaves it out.
fn with(record: &str, member: &str, spelling: &str) -> String {
    let name = format!("\"{member}\":");
    let members = record.trim_matches(['{', '}']).split(',');
    let mut members: Vec<String> =
        members.filter(|member| !member.starts_with(&name)).map(str::to_owned).collect();
    if !spelling.is_empty() {
        members.push(name + spelling);
    }
    format!("{{{}}}", members.join(","))
}

#[test]
fn every_encoding_of_the_head_is_known_or_415() {
    let mut desk = Desk::open();
    let encoded = |encodings: &[&str]| {
        encodings.iter().fold(good_headers(), |head, one| head.with("content-encoding", one))
    };
    let known: [&[&str]; 8] =
        [&[], &[""], &["identity"], &["gzip"], &["GZip"], &[" gzip\t"], &["IDENTITY "], &["  "]];
    for encodings in known {
        let answer = post(&mut desk, "logs", encoded(encodings), Body::Whole(LOG.into()));
        assert_eq!(answer.status, 202, "{encodings:?}");
    }
    let unknown: [&[&str]; 9] = [
        &["deflate"],
        &["br"],
        &["zstd"],
        &["x-gzip"],
        &["gzip, gzip"],
        &["gzip,identity"],
        &["gzip", "gzip"],
        &["", "gzip"],
        &["g zip"],
    ];
    for route in ["metrics", "logs", "audit"] {
        for encodings in unknown {
            let answer = post(&mut desk, route, encoded(encodings), Body::Whole(LOG.into()));
            let expected = (415, "ingest_encoding_unsupported".to_owned());
            assert_eq!(verdict(&answer), expected, "{route} {encodings:?}");
        }
    }
}

#[test]
fn the_time_of_sending_stands_once_and_is_strict() {
    let mut desk = Desk::open();
    let sent = |times: &[&str]| {
        let head = Headers::new().with("authorization", &bearer());
        times.iter().fold(head, |head, one| head.with("x-service-sent-at", one))
    };
    for time in
        [SENT_AT, "2026-01-15T10:30:00Z", "2026-01-15T12:30:00.5+02:00", "1999-01-01T00:00:00Z"]
    {
        let answer = post(&mut desk, "audit", sent(&[time]), Body::Whole(AUDIT.into()));
        assert_eq!(answer.status, 202, "{time}");
    }
    let refused: [&[&str]; 10] = [
        &[],
        &[""],
        &["yesterday"],
        &["1768473000"],
        &["2026-01-15"],
        &["2026-01-15 10:30:00Z"],
        &["2026-01-15t10:30:00z"],
        &["2026-01-15T10:30:00"],
        &["2026-01-15T10:30:00.1234567890Z"],
        &[SENT_AT, SENT_AT],
    ];
    for route in ["metrics", "logs", "audit"] {
        for times in refused {
            let answer = post(&mut desk, route, sent(times), Body::Whole(AUDIT.into()));
            let expected = (400, "ingest_sent_at_invalid".to_owned());
            assert_eq!(verdict(&answer), expected, "{route} {times:?}");
        }
    }
    let detail = text(&post(&mut desk, "logs", sent(&[]), Body::EMPTY));
    assert!(detail.contains("X-Service-Sent-At must stand once"), "{detail}");
}

#[test]
fn the_header_of_sending_has_the_configured_prefix() {
    let mut desk = Desk::open();
    desk.settings.header_prefix = "X-Other".into();
    let answer = post(&mut desk, "logs", good_headers(), Body::Whole(LOG.into()));
    assert_eq!(verdict(&answer), (400, "ingest_sent_at_invalid".into()));
    assert!(text(&answer).contains("X-Other-Sent-At"));
    let other = Headers::new().with("authorization", &bearer()).with("x-other-sent-at", SENT_AT);
    assert_eq!(post(&mut desk, "logs", other, Body::Whole(LOG.into())).status, 202);
}

#[test]
fn the_checks_stand_in_their_order() {
    let mut desk = Desk::open();
    let bare = || Headers::new().with("authorization", &bearer());
    let deflate = |head: Headers| head.with("content-encoding", "deflate");
    let rows = [
        (deflate(Headers::new()), Body::Oversized, (401, "unauthorized")),
        (deflate(bare()), Body::Oversized, (415, "ingest_encoding_unsupported")),
        (bare(), Body::Oversized, (400, "ingest_sent_at_invalid")),
        (bare(), Body::Unreadable, (400, "ingest_sent_at_invalid")),
        (good_headers(), Body::Oversized, (413, TOO_LARGE)),
        (good_headers(), Body::Unreadable, (400, MALFORMED)),
        (good_headers(), Body::Whole(b"nonsense".to_vec()), (400, MALFORMED)),
    ];
    for route in ["metrics", "logs", "audit"] {
        for (headers, body, (status, code)) in rows.clone() {
            let answer = post(&mut desk, route, headers.clone(), body.clone());
            assert_eq!(verdict(&answer), (status, code.into()), "{route} {headers:?} {body:?}");
        }
        let seen = captured(&mut desk, route);
        assert_eq!(seen.as_deref(), Some("nonsense"), "only a body that was read is captured");
        assert_eq!(desk.count(&format!("{route}_count")), 0);
    }
}

#[test]
fn two_lengths_make_a_batch_unreadable() {
    let mut desk = Desk::open();
    let headers = good_headers().with("content-length", "9").with("content-length", "9");
    let answer = post(&mut desk, "logs", headers, Body::Whole(LOG.into()));
    assert_eq!(verdict(&answer), (400, MALFORMED.into()));
    assert_eq!(captured(&mut desk, "logs"), None);
}

#[test]
fn only_a_body_announced_as_gzip_is_inflated_and_only_where_its_route_takes_gzip() {
    let desk = Desk::open();
    let rule = |encoding: &str, target: &str| {
        let headers = good_headers().with("content-encoding", encoding);
        let head = Request { headers, ..request(Method::Post, target, Body::EMPTY) };
        body_rule(&desk.settings, Listener::Main, &head)
    };
    let (plain, inflating) = (BodyRule::plain, BodyRule::inflating);
    let rows = [
        ("gzip", node("logs"), inflating(4 << 20, 16 << 20)),
        (" GZip ", node("logs"), inflating(4 << 20, 16 << 20)),
        ("", node("logs"), plain(4 << 20)),
        ("identity", node("logs"), plain(4 << 20)),
        ("gzip", "/test/configure-state".into(), inflating(16 << 20, 16 << 20)),
        ("deflate", "/test/configure-state".into(), plain(16 << 20)),
        ("gzip", node("heartbeat"), plain(16 << 20)),
    ];
    for (encoding, target, expected) in rows {
        assert_eq!(rule(encoding, &target), expected, "{encoding:?} to {target}");
    }
}

#[test]
fn a_batch_is_read_to_its_limits_and_one_refused_for_its_head_is_not_read() {
    let desk = Desk::open();
    let rule = |listener, headers, target: &str| {
        let head = Request { headers, ..request(Method::Post, target, Body::EMPTY) };
        body_rule(&desk.settings, listener, &head)
    };
    for route in ["metrics", "logs", "audit"] {
        let rule = |headers| rule(Listener::Main, headers, &node(route));
        assert_eq!(rule(good_headers()), BodyRule::plain(4 << 20));
        let deflate = good_headers().with("content-encoding", "deflate");
        let twice = good_headers().with("x-service-sent-at", SENT_AT);
        let silent = Headers::new().with("authorization", &bearer());
        let nobody = Headers::new().with("x-service-sent-at", SENT_AT);
        for refused in [deflate, twice, silent, nobody] {
            assert_eq!(rule(refused.clone()), BodyRule::UNREAD, "{refused:?}");
        }
    }
    let local = |authorization: &str| {
        let headers = Headers::new().with("authorization", authorization);
        rule(Listener::Tls, headers, "/local/metrics")
    };
    assert_eq!(local("Bearer e2e-local-bearer-token"), BodyRule::plain(16 << 20));
    assert_eq!(local("Bearer another"), BodyRule::UNREAD);
}

#[test]
fn a_batch_counts_once_and_its_receipt_counts_the_records() {
    let mut desk = Desk::open();
    let at = NOON + Duration::from_nanos(120_000_007);
    desk.now = Now { mono: Mono::default(), wall: Wall::from_origin(at) };
    let batches = [
        ("metrics", format!("[{SAMPLE},{SAMPLE}]"), 2),
        ("logs", format!("{LOG}\n{LOG}\n{LOG}\n"), 3),
        ("audit", AUDIT.to_owned(), 1),
    ];
    for (route, body, records) in batches {
        for count in 1..3 {
            let answer = post(&mut desk, route, good_headers(), Body::Whole(body.clone().into()));
            let receipt = format!(
                "{{\"accepted_at\":\"2026-01-15T10:30:00.120000007Z\",\"records\":{records}}}\n"
            );
            assert_eq!((answer.status, text(&answer)), (202, receipt), "{route}");
            assert_eq!(desk.count(&format!("{route}_count")), count);
        }
        assert_eq!(captured(&mut desk, route), Some(body));
    }
    assert_eq!(desk.count("local_logs_count"), 0);
    let other = Request {
        headers: good_headers(),
        ..request(Method::Post, "/v1/nodes/any/logs", Body::Whole(LOG.into()))
    };
    assert_eq!(desk.send(Listener::Main, other).status, 202, "any node id passes");
}

/// Rows of one sink: a member, its spelling, and what is told of it; told nothing, it is accepted.
fn rules(route: &str, good: &str, rows: &[(&str, &str, &str)]) {
    let mut desk = Desk::open();
    for (member, value, told) in rows {
        let record = with(good, member, value);
        let (body, place) = match route {
            "metrics" => (format!("[{good},{record}]"), "[1]"),
            _ => (format!("{good}\n\n{record}\n"), "line 3"),
        };
        let (status, code, detail) = batch(&mut desk, route, &body);
        if told.is_empty() {
            assert_eq!(status, 202, "{record}: {detail}");
        } else {
            assert_eq!((status, code.as_str()), (400, MALFORMED), "{record}");
            let rule = detail.contains(place) && detail.contains(&format!("{member}: {told}"));
            assert!(rule, "{record}: {detail}");
        }
    }
}

const MISSING: &str = "required member is missing";
const TIME: &str = "must be an RFC 3339 timestamp";
const UNSET: &str = "must be set";
const EMPTY: &str = "must not be empty";
const NUL: &str = "must not hold NUL";
const STRING: &str = "must be a string";
const UNKNOWN: &str = "unknown member";

#[test]
fn the_timestamp_of_every_record_is_set_and_strict() {
    let rows = [
        ("timestamp", "", MISSING),
        ("timestamp", "null", MISSING),
        ("timestamp", "\"\"", TIME),
        ("timestamp", "1768473000", STRING),
        ("timestamp", "\"2026-01-15 10:30:00Z\"", TIME),
        ("timestamp", "\"2026-01-15T10:30:60Z\"", TIME),
        ("timestamp", "\"0001-01-01T00:00:00Z\"", UNSET),
        ("timestamp", "\"0001-01-01T00:00:00.000Z\"", UNSET),
        ("timestamp", "\"0001-01-01T02:30:00+02:30\"", UNSET),
        ("timestamp", "\"0000-12-31T23:00:00-01:00\"", UNSET),
        ("timestamp", "\"0001-01-01T00:00:00.000000001Z\"", ""),
        ("timestamp", "\"2026-01-15T12:30:00.5+02:00\"", ""),
    ];
    rules("metrics", SAMPLE, &rows);
    rules("logs", LOG, &rows);
    rules("audit", AUDIT, &rows);
}

#[test]
fn every_rule_of_a_sample_is_told_by_its_index() {
    let group = "must be one of node_resources, tunnel_health, peer_latency, agent_stats";
    rules(
        "metrics",
        SAMPLE,
        &[
            ("group", "", MISSING),
            ("group", "null", MISSING),
            ("group", "\"\"", group),
            ("group", "\"Node_Resources\"", group),
            ("group", "7", STRING),
            ("group", "\"node_resources\"", ""),
            ("group", "\"tunnel_health\"", ""),
            ("group", "\"peer_latency\"", ""),
            ("group", "\"agent_stats\"", ""),
            ("name", "", MISSING),
            ("name", "\"\"", EMPTY),
            ("name", "\" \"", ""),
            ("name", r#""a\u0000""#, NUL),
            ("name", r#""\u0061\"\\b""#, ""),
            ("value", "", MISSING),
            ("value", "null", MISSING),
            ("value", "\"1\"", "must be a number"),
            ("value", "true", "must be a number"),
            ("value", "1e400", "must be a number that fits a double"),
            ("value", "-1e400", "must be a number that fits a double"),
            ("value", "1e-400", ""),
            ("value", "-0", ""),
            ("value", "18446744073709551616", ""),
            ("value", "1.7976931348623157e308", ""),
            ("labels", "null", ""),
            ("labels", "{}", ""),
            ("labels", r#"{"":""}"#, ""),
            ("labels", r#"{"a":"x","b":"\u0000"}"#, ""),
            ("labels", "[]", "must be an object"),
            ("labels", "\"a=b\"", "must be an object"),
            ("help", "\"x\"", UNKNOWN),
            ("Name", "\"cpu\"", UNKNOWN),
        ],
    );
    let mut desk = Desk::open();
    for (labels, told) in [
        (r#"{"a":null}"#, "labels.a: must be a string"),
        (r#"{"a":1}"#, "labels.a: must be a string"),
        (r#"{"a":"x","a":"y"}"#, "labels.a: member stands twice"),
        (r#"{"a":"x","\u0061":"x"}"#, "labels.a: member stands twice"),
        (r#"{"a\u0000":"x"}"#, NUL),
        (r#"{"a":{}}"#, "labels.a: must be a string"),
    ] {
        let body = format!("[{}]", with(SAMPLE, "labels", labels));
        let (status, code, detail) = batch(&mut desk, "metrics", &body);
        assert_eq!((status, code.as_str()), (400, MALFORMED), "{body}");
        assert!(detail.contains("[0].labels") && detail.contains(told), "{body}: {detail}");
    }
}

#[test]
fn every_rule_of_a_log_line_is_told_by_its_line() {
    let severity = "must be one of emerg, alert, crit, err, warning, notice, info, debug";
    let known = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];
    let quoted = known.map(|severity| format!("\"{severity}\""));
    let accepted: Vec<(&str, &str, &str)> =
        quoted.iter().map(|severity| ("severity", severity.as_str(), "")).collect();
    rules("logs", LOG, &accepted);
    rules(
        "logs",
        LOG,
        &[
            ("severity", "", MISSING),
            ("severity", "\"error\"", severity),
            ("severity", "\"INFO\"", severity),
            ("severity", "6", STRING),
            ("message", "", MISSING),
            ("message", "null", MISSING),
            ("message", "\"\"", EMPTY),
            ("message", "\" \"", ""),
            ("message", r#""\u0000""#, ""),
            ("message", "[\"up\"]", STRING),
            ("unit", "null", ""),
            ("unit", "\"\"", ""),
            ("unit", r#""a\u0000""#, NUL),
            ("unit", "7", STRING),
            ("hostname", "\"edge-1\"", ""),
            ("hostname", r#""\u0000""#, NUL),
            ("hostname", "false", STRING),
            ("host", "\"edge-1\"", UNKNOWN),
        ],
    );
}

#[test]
fn every_rule_of_an_audit_event_is_told_by_its_line() {
    let source = "must be one of auditd, k8s";
    rules(
        "audit",
        AUDIT,
        &[
            ("source", "", MISSING),
            ("source", "\"meshward\"", source),
            ("source", "\"Auditd\"", source),
            ("source", "\"k8s\"", ""),
            ("action", "", MISSING),
            ("action", "\"\"", EMPTY),
            ("action", "\" \"", ""),
            ("action", r#""a\u0000""#, NUL),
            ("outcome", "", MISSING),
            ("outcome", "\"\"", EMPTY),
            ("outcome", r#""\u0000""#, ""),
            ("outcome", "{}", STRING),
            ("actor", "\"root\"", UNKNOWN),
        ],
    );
}

#[test]
fn an_array_of_samples_is_an_array_and_not_empty() {
    let mut desk = Desk::open();
    let deep = format!("[{}{}]", "[".repeat(64), "]".repeat(64));
    for (body, told) in [
        ("", "not valid JSON"),
        ("[]", "holds no record"),
        (" [ ] ", "holds no record"),
        ("null", "must be an array"),
        ("{}", "must be an array"),
        (SAMPLE, "must be an array"),
        ("[null]", "[0]: must be an object"),
        ("[[]]", "[0]: must be an object"),
        (&format!("[{SAMPLE}][{SAMPLE}]"), "data after the JSON value"),
        (&format!("[{SAMPLE},]"), "[1]"),
        (&format!("[{SAMPLE}"), "not valid JSON"),
        (&format!("{SAMPLE}\n{SAMPLE}"), "must be an array"),
        (&format!("\u{feff}[{SAMPLE}]"), "not valid JSON"),
        (
            &format!("[{}]", with(SAMPLE, "name", "\"cpu\",\"name\":\"cpu\"")),
            "[0].name: member stands twice",
        ),
        (&deep, "nested deeper than 64"),
    ] {
        let (status, code, detail) = batch(&mut desk, "metrics", body);
        assert_eq!((status, code.as_str()), (400, MALFORMED), "{body}");
        assert!(detail.contains(told), "{body}: {detail}");
    }
    let spaced = format!(" [\r\n{SAMPLE} ,\n\t{SAMPLE}\n]\n");
    assert_eq!(batch(&mut desk, "metrics", &spaced).0, 202);
    let broken = Body::Whole([b"[", SAMPLE.as_bytes(), b"\xff]"].concat());
    let answer = post(&mut desk, "metrics", good_headers(), broken);
    assert_eq!(verdict(&answer), (400, MALFORMED.into()));
}

#[test]
fn lines_are_split_at_line_feeds_and_blank_ones_are_passed_over() {
    let mut desk = Desk::open();
    for (body, records) in [
        (LOG.to_owned(), 1),
        (format!("{LOG}\n"), 1),
        (format!("{LOG}\r\n{LOG}\r\n"), 2),
        (format!("\n \n\t\r\n{LOG}\n\n\r\n{LOG}\n\n"), 2),
        (format!("  {LOG}  \n"), 1),
    ] {
        let read = ingest::read(Sink::Logs, &Body::Whole(body.clone().into()));
        assert_eq!(read, Ok(records), "{body:?}");
    }
    for (body, told) in [
        (String::new(), "holds no record"),
        ("\n".into(), "holds no record"),
        (" \r\n\t\n".into(), "holds no record"),
        (format!("{LOG} {LOG}\n"), "line 1: data after the JSON value"),
        (format!("{LOG}\r{LOG}"), "line 1: data after the JSON value"),
        (format!("{LOG},\n{LOG}"), "line 1: data after the JSON value"),
        (format!("{LOG}\n\n[{LOG}]"), "line 3: must be an object"),
        (format!("{LOG}\nnull"), "line 2: must be an object"),
        (format!("{LOG}\n{{}}"), "line 2: severity: required member is missing"),
        (LOG.replacen(',', ",\n", 1), "line 1: not valid JSON"),
        (format!("\u{feff}{LOG}"), "line 1: not valid JSON"),
        (format!("{LOG}\nx"), "line 2: not valid JSON"),
        (with(LOG, "message", "\"a\",\"message\":\"a\""), "line 1: message: member stands twice"),
        (with(LOG, "message", "\"\\ud800\""), "line 1: message: not valid JSON"),
        (with(LOG, "extra", &format!("{}{}", "[".repeat(64), "]".repeat(64))), "extra"),
    ] {
        let (status, code, detail) = batch(&mut desk, "logs", &body);
        assert_eq!((status, code.as_str()), (400, MALFORMED), "{body:?}");
        assert!(detail.contains(told), "{body:?}: {detail}");
        assert_eq!(captured(&mut desk, "logs"), Some(body), "what was read is captured");
    }
    let odd = [LOG.as_bytes(), b"\n\n", LOG.as_bytes(), b" \xff\n", b"x"].concat();
    assert_eq!(ingest::read(Sink::Logs, &Body::Whole(odd)), Err(Refusal::NotUtf8 { line: 3 }));
    assert_eq!(desk.count("logs_count"), 0, "all or nothing");
}

#[test]
fn ten_thousand_records_are_taken_and_one_more_is_too_many_whatever_is_wrong_with_it() {
    let mut desk = Desk::open();
    let array = |records: &[&str]| format!("[{}]", records.join(","));
    type Joined = fn(&[&str]) -> String;
    let rows: [(&str, &str, Joined); 3] = [
        ("metrics", SAMPLE, |records| format!("[{}]", records.join(","))),
        ("logs", LOG, |records| records.join("\n\n")),
        ("audit", AUDIT, |records| records.join("\r\n \n")),
    ];
    for (route, good, joined) in rows {
        let mut records = vec![good; 10_000];
        let whole = joined(&records);
        assert_eq!(batch(&mut desk, route, &whole).0, 202, "{route}");
        records.push(good);
        let over = joined(&records);
        let (status, code, _) = batch(&mut desk, route, &over);
        assert_eq!((status, code.as_str()), (413, TOO_LARGE), "{route}");
        records[3] = "{}";
        let (status, code, _) = batch(&mut desk, route, &joined(&records));
        assert_eq!((status, code.as_str()), (413, TOO_LARGE), "{route}: limits come first");
        assert_eq!(captured(&mut desk, route).as_deref(), Some(whole.as_str()), "{route}");
        records.truncate(10_000);
        let (status, code, _) = batch(&mut desk, route, &joined(&records));
        assert_eq!((status, code.as_str()), (400, MALFORMED), "{route}");
        assert_eq!(desk.count(&format!("{route}_count")), 1);
    }
    let broken = array(&vec!["{}"; 10_001]).replace("]", "");
    let (status, code, _) = batch(&mut desk, "metrics", &broken);
    assert_eq!((status, code.as_str()), (400, MALFORMED), "what is no array cannot be counted");
    let odd = [&b"\xff\n"[..], "x\n".repeat(10_000).as_bytes()].concat();
    assert_eq!(ingest::read(Sink::Audit, &Body::Whole(odd)), Err(Refusal::TooManyRecords));
}

#[test]
fn a_long_batch_is_captured_up_to_four_mebibytes() {
    let mut desk = Desk::open();
    let long = with(LOG, "message", &format!("\"{}\"", "m".repeat(5 << 20)));
    assert_eq!(batch(&mut desk, "logs", &long).0, 202);
    let seen = desk.ask(Method::Get, "/test/last-request/logs", "");
    assert_eq!((seen.headers.first("x-truncated"), seen.body.len()), (Some("true"), 4 << 20));
    assert!(long.as_bytes().starts_with(&seen.body));
}

#[test]
fn a_local_endpoint_refuses_without_a_code_and_asks_for_its_bearer_first() {
    let mut desk = Desk::open();
    let path = "/local/metrics";
    let good = "Bearer e2e-local-bearer-token";
    let mut tls = |authorizations: &[&str], body: Body| {
        let headers = authorizations
            .iter()
            .fold(Headers::new(), |headers, one| headers.with("authorization", one));
        verdict(&desk.send(Listener::Tls, Request { headers, ..request(Method::Post, path, body) }))
    };
    let refused: [&[&str]; 7] = [
        &[],
        &[""],
        &["Bearer"],
        &["Bearer  e2e-local-bearer-token"],
        &["bearer e2e-local-bearer-token"],
        &["Bearer e2e-local-bearer-token "],
        &[good, good],
    ];
    for authorizations in refused {
        assert_eq!(
            tls(authorizations, Body::Unreadable),
            (401, String::new()),
            "{authorizations:?}"
        );
    }
    assert_eq!(tls(&[good], Body::Unreadable), (400, String::new()));
    assert_eq!(tls(&[good], Body::Oversized), (413, String::new()));
    assert_eq!(tls(&[good], Body::EMPTY), (204, String::new()));
    assert_eq!(tls(&[good], Body::Whole(b"\xff not JSON".to_vec())), (204, String::new()));
    let counts = ["local_metrics_count", "unauthorized_count", "metrics_count"];
    assert_eq!(counts.map(|counter| desk.count(counter)), [2, 0, 0]);
    let main = request(Method::Post, path, Body::EMPTY);
    assert_eq!(desk.send(Listener::Main, main).status, 404, "the main listener has none");
}

#[derive(Clone, Copy, Debug)]
enum Line {
    Good(&'static str),
    Blank(&'static str),
    Bad(&'static str),
}

fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        6 => select(vec![LOG, r#" {"timestamp":"2026-01-15T10:30:00Z","message":"\n","severity":"debug"} "#])
            .prop_map(Line::Good),
        3 => select(vec!["", " ", "\t", "\r", " \r"]).prop_map(Line::Blank),
        1 => select(vec!["x", "{}", "[]", "\"", "{\"severity\":\"info\""]).prop_map(Line::Bad),
    ]
}

proptest! {
    #![proptest_config(seeds_in("ingest"))]

    /// The model: the first bad line decides, else the good ones are counted, and none at all is malformed.
    #[test]
    fn the_first_bad_line_decides_and_else_the_good_ones_are_counted(
        lines in vec(line(), 0..20),
        ends in select(vec!["\n", "\r\n"]),
        closed in any::<bool>(),
    ) {
        let texts: Vec<&str> = lines
            .iter()
            .map(|line| match line {
                Line::Good(text) | Line::Blank(text) | Line::Bad(text) => *text,
            })
            .collect();
        let body = texts.join(ends) + if closed { ends } else { "" };
        let read = ingest::read(Sink::Logs, &Body::Whole(body.into()));
        let bad = lines.iter().position(|line| matches!(line, Line::Bad(_)));
        let good = lines.iter().filter(|line| matches!(line, Line::Good(_))).count();
        match (bad, read) {
            (Some(at), Err(Refusal::Line { line, .. })) => prop_assert_eq!(line, at + 1),
            (None, Err(Refusal::NoRecord)) => prop_assert_eq!(good, 0),
            (None, Ok(count)) => prop_assert_eq!(count, good),
            (bad, read) => prop_assert!(false, "{:?} {:?}", bad, read),
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..300)) {
        for sink in [Sink::Metrics, Sink::Logs, Sink::Audit] {
            let _ = ingest::read(sink, &Body::Whole(bytes.clone()));
        }
    }
}
