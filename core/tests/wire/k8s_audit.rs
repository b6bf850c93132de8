//! Lines of the audit log of a Kubernetes API server, by the public shape of `audit.k8s.io/v1`.

use std::sync::Arc;

use meshward_core::wire::{
    record::{AuditEntry, AuditOrigin, CUT, Outcome, TEXT_MAX},
    sources::k8s::{GROUPS_MAX, NAME_MAX, entry},
    timestamp::Timestamp,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::seeds_in;

const CREATED: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"8b1c","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/default/pods?fieldManager=kubectl","verb":"create","user":{"username":"jane","uid":"7","groups":["dev","system:authenticated"],"extra":{"a":["b"]}},"sourceIPs":["192.0.2.7"],"userAgent":"kubectl/v1.31","objectRef":{"resource":"pods","namespace":"default","name":"web-0","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201},"requestObject":{"kind":"Pod"},"requestReceivedTimestamp":"2026-03-01T10:00:00.000001Z","stageTimestamp":"2026-03-01T10:00:00.250000Z","annotations":{"authorization.k8s.io/decision":"allow"}}"#;

fn read(line: &str) -> Option<AuditEntry> {
    entry(line.as_bytes(), &Arc::from("node-1"))
}

/// The event with one member changed, or taken out where that is null.
fn with(member: &str, value: Value) -> Option<AuditEntry> {
    let mut event: Value = serde_json::from_str(CREATED).expect("JSON");
    event[member] = value;
    read(&event.to_string())
}

#[test]
fn an_event_becomes_an_entry() {
    let expected = AuditEntry {
        timestamp: Timestamp::parse("2026-03-01T10:00:00.25Z").expect("a time"),
        source: AuditOrigin::K8sAudit,
        event_type: "ResponseComplete".into(),
        subject: r#"{"username":"jane","groups":["dev","system:authenticated"]}"#.into(),
        object: r#""default/pods/web-0""#.into(),
        action: "create".into(),
        result: Some(Outcome::Success),
        hostname: Arc::from("node-1"),
        raw: CREATED.into(),
    };
    assert_eq!(read(CREATED), Some(expected));
}

#[test]
fn the_time_is_that_of_the_stage_else_that_of_the_request() {
    let of = |value| with("stageTimestamp", value).map(|entry| entry.timestamp.to_string());
    let received = Some("2026-03-01T10:00:00.000001Z".to_owned());
    assert_eq!(of(json!("2026-03-01T12:00:01+02:00")), Some("2026-03-01T10:00:01Z".to_owned()));
    assert_eq!(of(Value::Null), received);
    assert_eq!(of(json!("0001-01-01T00:00:00Z")), received);
    assert_eq!(of(json!("yesterday")), received);
    let mut event: Value = serde_json::from_str(CREATED).expect("JSON");
    event["stageTimestamp"] = Value::Null;
    event["requestReceivedTimestamp"] = Value::Null;
    assert_eq!(read(&event.to_string()), None, "an event without a time is none");
}

#[test]
fn every_stage_is_an_event_and_a_result_is_there_where_a_status_is() {
    let rows = [
        (json!({"code": 200}), Some(Outcome::Success)),
        (json!({"code": 299}), Some(Outcome::Success)),
        (json!({"code": 199}), Some(Outcome::Failure)),
        (json!({"code": 300}), Some(Outcome::Failure)),
        (json!({"code": 403, "status": "Failure", "reason": "Forbidden"}), Some(Outcome::Failure)),
        (json!({"code": -1}), Some(Outcome::Failure)),
        (json!({"code": 0}), None),
        (json!({"metadata": {}}), None),
        (Value::Null, None),
    ];
    for (status, expected) in rows {
        let entry = with("responseStatus", status.clone()).unwrap_or_else(|| panic!("{status}"));
        assert_eq!(entry.result, expected, "{status}");
    }
    for stage in ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] {
        assert_eq!(with("stage", json!(stage)).map(|entry| entry.event_type), Some(stage.into()));
    }
}

#[test]
fn an_object_is_its_namespace_its_resource_and_its_name_and_missing_parts_are_empty() {
    let of = |value| with("objectRef", value).map(|entry| entry.object);
    let rows = [
        (json!({"resource": "nodes", "name": "n1"}), r#""/nodes/n1""#),
        (json!({"resource": "pods", "namespace": "a"}), r#""a/pods/""#),
        (
            json!({"resource": "pods", "namespace": "a", "name": "b", "subresource": "exec"}),
            r#""a/pods/b""#,
        ),
        (json!({}), r#""//""#),
        (json!({"resource": "a\"b\n"}), r#""/a\"b\n/""#),
        (Value::Null, r#""/api/v1/namespaces/default/pods""#),
    ];
    for (object, expected) in rows {
        assert_eq!(of(object.clone()).as_deref(), Some(expected), "{object}");
    }
}

#[test]
fn what_an_event_need_not_have_may_be_missing() {
    let least = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1beta1","stage":"Panic","stageTimestamp":"2026-03-01T10:00:00Z"}"#;
    let entry = read(least).expect("an event");
    assert_eq!(entry.subject, r#"{"username":"","groups":[]}"#);
    assert_eq!((entry.object.as_str(), entry.action.as_str(), entry.result), (r#""""#, "", None));
    for member in ["kind", "apiVersion", "stage", "level", "auditID", "requestURI"] {
        let mut without: Value = serde_json::from_str(CREATED).expect("JSON");
        without.as_object_mut().expect("an object").remove(member);
        let mut null = without.clone();
        null[member] = Value::Null;
        for event in [without, null] {
            let whole = read(CREATED).expect("an event");
            let event_type =
                if member == "stage" { String::new() } else { whole.event_type.clone() };
            let expected = AuditEntry { raw: event.to_string(), event_type, ..whole };
            assert_eq!(read(&event.to_string()), Some(expected), "{member}");
        }
    }
}

#[test]
fn what_says_neither_that_it_is_an_event_nor_what_is_done_is_none() {
    let time = r#""stageTimestamp":"2026-03-01T10:00:00Z""#;
    assert_eq!(read(&format!("{{{time}}}")), None);
    assert_eq!(read(&format!(r#"{{{time},"stage":"Panic","verb":""}}"#)), None);
    let done = read(&format!(r#"{{{time},"verb":"get"}}"#)).expect("an event");
    assert_eq!((done.action.as_str(), done.event_type.as_str()), ("get", ""));
}

#[test]
fn lines_that_are_no_events_are_none() {
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100), "]".repeat(100));
    let rows = [
        "",
        "null",
        "[]",
        "{}",
        "not JSON",
        r#"{"kind":"Event""#,
        r#"{"kind":"Event","kind":"Event"}"#,
        &deep,
        &CREATED.replace(r#""kind":"Event""#, r#""kind":"EventList""#),
        &CREATED.replace("audit.k8s.io/v1", "v1"),
        &CREATED.replace(r#""verb":"create""#, r#""verb":7"#),
        &CREATED.replace(r#""code":201"#, r#""code":"201""#),
        &format!("{CREATED}{CREATED}"),
    ];
    for line in rows {
        assert_eq!(read(line), None, "{line}");
    }
    assert_eq!(entry(b"\xff\xfe", &Arc::from("n")), None);
}

#[test]
fn what_is_long_or_much_is_cut() {
    let groups: Vec<String> = (0..1000).map(|group| format!("g{group}")).collect();
    let user = json!({"username": "é".repeat(NAME_MAX), "groups": groups});
    let subject = with("user", user).expect("an event").subject;
    let subject: Value = serde_json::from_str(&subject).expect("JSON");
    assert_eq!(subject["username"].as_str().map(str::len), Some(NAME_MAX));
    assert_eq!(subject["groups"].as_array().map(Vec::len), Some(GROUPS_MAX));
    let raw = with("annotations", json!({"a": "x".repeat(TEXT_MAX)})).expect("an event").raw;
    assert_eq!(raw.len(), TEXT_MAX + CUT.len());
    assert!(raw.ends_with(CUT));
}

proptest! {
    #![proptest_config(seeds_in("k8s_audit"))]

    #[test]
    fn a_line_that_is_cut_anywhere_is_no_event(at in 0..CREATED.len()) {
        prop_assert_eq!(entry(&CREATED.as_bytes()[..at], &Arc::from("n")), None);
    }

    #[test]
    fn whatever_byte_is_changed_the_entry_holds_json_or_is_none(at in 0..CREATED.len(), byte: u8) {
        let mut line = CREATED.as_bytes().to_vec();
        line[at] = byte;
        if let Some(entry) = entry(&line, &Arc::from("n")) {
            let subject: Value = serde_json::from_str(&entry.subject).expect("JSON");
            let object: Value = serde_json::from_str(&entry.object).expect("JSON");
            prop_assert!(subject.is_object() && object.is_string());
        }
    }
}
