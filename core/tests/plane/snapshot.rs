//! The snapshot: its default, what may be configured, and what a pull makes of it.

use meshward_core::wire::http::Method;

use crate::desk::{Desk, node, text, verdict};

fn configure(desk: &mut Desk, body: &str) -> (u16, String) {
    verdict(&desk.ask(Method::Post, "/test/configure-state", body))
}

fn pull(desk: &mut Desk) -> String {
    text(&desk.ask(Method::Get, &node("state"), ""))
}

#[test]
fn the_default_snapshot_has_its_eight_members_in_order() {
    let served = pull(&mut Desk::open());
    let members = [
        "{\"peers\":[{\"node_id\":\"0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0b1\"",
        ",\"reachability\":{\"state\":\"never_reported\",\"changed_at\":\"2026-01-01T00:00:00Z\"}",
        ",\"policy\":{\"revision_id\":",
        "\"ports\":{\"from\":443,\"to\":443}}]}",
        ",\"bridge\":{\"relay\":{\"sessions\":[{",
        ",\"state\":{\"metadata\":[{\"key\":\"environment\"",
        ",\"reports\":{\"metadata\":[",
        "\"reports\":[]}",
        ",\"executions\":[],\"sessions\":[]}\n",
    ];
    let mut rest = served.as_str();
    for member in members {
        let at = rest.find(member).unwrap_or_else(|| panic!("{member} is missing in {rest}"));
        rest = &rest[at + member.len()..];
    }
    assert_eq!(rest, "");
}

#[test]
fn an_empty_snapshot_serves_nulls_and_empty_arrays() {
    let mut desk = Desk::open();
    assert_eq!(configure(&mut desk, "{}").0, 204);
    assert_eq!(
        pull(&mut desk),
        "{\"peers\":[],\"reachability\":null,\"policy\":null,\"bridge\":null,\"state\":null,\"reports\":null,\"executions\":[],\"sessions\":[]}\n"
    );
    assert_eq!(verdict(&desk.ask(Method::Get, &node("reachability"), "")), (404, String::new()));
    assert_eq!(desk.count("state_count"), 1);
}

#[test]
fn what_is_no_snapshot_is_refused_and_changes_nothing() {
    let mut desk = Desk::open();
    let before = pull(&mut desk);
    let rows = [
        "",
        "null",
        "[]",
        r#"{"extra":1}"#,
        r#"{"peers":{}}"#,
        r#"{"peers":[{"psk":"x"}]}"#,
        r#"{"reachability":[]}"#,
        r#"{"executions":[{"parameters":[]}]}"#,
        r#"{"executions":[{"status":"succeeded"}]}"#,
        r#"{"executions":[{"expires_at":"soon"}]}"#,
        r#"{"policy":{"rules":[{"ports":{"from":70000}}]}}"#,
        r#"{"peers":[],"peers":[]}"#,
        r#"{"executions":[{"execution_id":"a\u0000"}]}"#,
    ];
    for body in rows {
        assert_eq!(configure(&mut desk, body), (400, String::new()), "{body}");
    }
    assert_eq!(pull(&mut desk), before);
}

#[test]
fn a_session_target_has_exactly_one_member_or_is_left_out() {
    let mut desk = Desk::open();
    let (ssh, k8s, tcp) = (r#""ssh":{"user":"u"}"#, r#""k8s":{"user":"u"}"#, r#""tcp":{"port":1}"#);
    let session = |target: &str| {
        format!(r#"{{"session_id":"s"{target},"expires_at":"2099-01-01T00:00:00Z"}}"#)
    };
    let target = |members: &[&str]| session(&format!(",\"target\":{{{}}}", members.join(",")));
    for wrong in [
        target(&[]),
        target(&[r#""ssh":null"#]),
        target(&[ssh, k8s]),
        target(&[k8s, tcp]),
        target(&[ssh, k8s, tcp]),
    ] {
        let body = format!(r#"{{"sessions":[{},{wrong}]}}"#, target(&[ssh]));
        let answer = desk.ask(Method::Post, "/test/configure-state", &body);
        assert_eq!(verdict(&answer), (400, String::new()), "{body}");
        let told = "sessions[1].target: must have exactly one of ssh, k8s and tcp";
        assert!(text(&answer).contains(told), "{body}: {}", text(&answer));
    }
    for (right, served) in [
        (target(&[ssh]), r#""target":{"ssh":{"user":"u"}}"#),
        (target(&[k8s, r#""ssh":null"#]), r#""target":{"k8s":{"user":"u"}}"#),
        (target(&[tcp]), r#""target":{"tcp":{"host":"","port":1}}"#),
        (session(""), r#""target":{}"#),
        (session(",\"target\":null"), r#""target":{}"#),
    ] {
        assert_eq!(configure(&mut desk, &format!(r#"{{"sessions":[{right}]}}"#)).0, 204, "{right}");
        let pulled = pull(&mut desk);
        assert!(pulled.contains(served), "{right}: {pulled}");
    }
}

#[test]
fn a_pull_is_sorted_without_the_own_node_and_keeps_what_is_opaque() {
    let mut desk = Desk::open();
    let body = r#"{"peers":[{"node_id":"b"},{"node_id":"0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3"},{"node_id":"a"}],
        "reachability":{"state":"odd","b":1,"a":1.50},
        "state":{"data":[{"key":"z","value":"1"},{"key":"y","value":"2"}]},
        "executions":[
          {"execution_id":"b","requested_at":"2026-01-01T00:00:00Z","expires_at":"2099-01-01T01:00:00.500+01:00"},
          {"execution_id":"a","requested_at":"2026-01-01T01:00:00+01:00","expires_at":"2099-01-01T00:00:00Z","parameters":{"n":9007199254740993}},
          {"execution_id":"c","requested_at":"2025-01-01T00:00:00Z","expires_at":"2099-01-01T00:00:00Z"}]}"#;
    assert_eq!(desk.ask(Method::Put, "/test/state", body).status, 204);
    let served = pull(&mut desk);
    let at = |part: &str| served.find(part).unwrap_or_else(|| panic!("{part} in {served}"));
    assert!(at("\"node_id\":\"a\"") < at("\"node_id\":\"b\""));
    assert!(!served.contains("a0a0a0a0a0a3"));
    assert!(at("\"key\":\"y\"") < at("\"key\":\"z\""));
    assert!(at("\"execution_id\":\"c\"") < at("\"execution_id\":\"a\""));
    assert!(at("\"execution_id\":\"a\"") < at("\"execution_id\":\"b\""));
    at(r#""parameters":{"n":9007199254740993},"status":"pending""#);
    at("2099-01-01T01:00:00.500+01:00");
    at(r#""state":{"metadata":[],"data":["#);
    let reachability = desk.ask(Method::Get, "/v1/nodes/any/reachability", "");
    assert_eq!(text(&reachability), "{\"state\":\"odd\",\"b\":1,\"a\":1.50}\n");
}

/// The desk's clock stands at 10:30.
#[test]
fn only_what_expires_in_the_future_is_served() {
    let mut desk = Desk::open();
    let body = r#"{"executions":[
          {"execution_id":"e-now","expires_at":"2026-01-15T10:30:00Z"},
          {"execution_id":"e-later","expires_at":"2026-01-15T10:30:00.000000001Z"},
          {"execution_id":"e-never"}],
        "sessions":[
          {"session_id":"s-now","expires_at":"2026-01-15T10:30:00Z"},
          {"session_id":"s-later","expires_at":"2026-01-15T10:31:00Z"},
          {"session_id":"s-never"}]}"#;
    assert_eq!(configure(&mut desk, body).0, 204);
    let served = pull(&mut desk);
    let shown = ["e-now", "e-later", "e-never", "s-now", "s-later", "s-never"]
        .map(|id| served.contains(id));
    assert_eq!(shown, [false, true, false, false, true, false]);
}

#[test]
fn a_seeded_execution_goes_on_from_its_status_and_a_known_one_is_never_moved() {
    let mut desk = Desk::open();
    let entry = |status: &str| {
        format!(r#"{{"execution_id":"e","status":"{status}","expires_at":"2099-01-01T00:00:00Z"}}"#)
    };
    let both = format!("{{\"executions\":[{},{}]}}", entry("ack"), entry("started"));
    assert_eq!(configure(&mut desk, &both).0, 204);
    assert_eq!(text(&desk.ask(Method::Get, "/test/executions", "")), "{\"e\":\"started\"}\n");
    let again = format!("{{\"executions\":[{}]}}", entry("ack"));
    assert_eq!(configure(&mut desk, &again).0, 204);
    assert!(pull(&mut desk).contains("\"status\":\"started\""), "the live status is served");
    let failed = desk.ask(Method::Post, &node("executions/e"), r#"{"status":"failed"}"#);
    assert_eq!(failed.status, 200);
    assert!(pull(&mut desk).contains("\"executions\":[]"), "a settled execution is not served");
    assert_eq!(configure(&mut desk, &again).0, 204);
    assert!(pull(&mut desk).contains("\"executions\":[]"));
}

#[test]
fn a_pull_that_is_kept_is_the_one_that_would_be_made_anew() {
    let soon = "2026-01-15T10:31:00Z";
    let entry = |id: &str, until: &str| {
        format!(r#"{{"execution_id":"{id}","action":"a","type":"builtin","expires_at":"{until}"}}"#)
    };
    let session = format!(
        r#"{{"session_id":"s","jti":"s","kind":"tcp","target":{{"tcp":{{"host":"h","port":1}}}},"expires_at":"{soon}"}}"#
    );
    let body = format!(
        r#"{{"executions":[{},{}],"sessions":[{session}]}}"#,
        entry("soon", soon),
        entry("late", "2026-01-15T10:32:00Z"),
    );
    let mut desk = Desk::open();
    assert_eq!(desk.ask(Method::Put, "/test/state", &body).status, 204);
    let steps: [(&str, u64); 7] =
        [("", 0), ("", 59), ("", 60), ("report", 60), ("ack", 60), ("", 121), ("back", 0)];
    let begun = desk.now;
    for (deed, seconds) in steps {
        desk.now = begun.after(core::time::Duration::from_secs(seconds));
        match deed {
            "report" => drop(desk.ask(Method::Put, &node("state/reports/r"), r#"{"value":"v"}"#)),
            "ack" => drop(desk.ask(Method::Post, &node("executions/late"), r#"{"status":"ack"}"#)),
            _ => {}
        }
        let kept = text(&desk.ask(Method::Get, &node("state"), ""));
        let again = text(&desk.ask(Method::Get, &node("state"), ""));
        assert_eq!(kept, again);
        let shown = |word: &str| kept.contains(&format!("\"{word}\""));
        let (open, later) = (seconds < 60, seconds < 120);
        assert_eq!(
            (shown("soon"), shown("late"), shown("jti")),
            (open, later, open),
            "{deed} {seconds}"
        );
        if deed == "report" {
            assert!(kept.contains(r#""key":"r""#), "{kept}");
        }
        if deed == "ack" {
            assert!(kept.contains(r#""status":"ack""#), "{kept}");
        }
    }
    assert_eq!(desk.count("state_count"), 14);
    let shown = format!("{:?}", desk.plane);
    assert!(shown.contains(" bytes from Wall("), "a kept answer is not printed whole");
}
