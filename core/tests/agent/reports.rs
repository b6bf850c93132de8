//! Reports at the local socket: every rule of a write in its order, versions, what a refused disk and a restart leave,
//! and a map as the model of it all.

use std::collections::{BTreeMap, VecDeque};

use meshward_core::{
    agent::{
        Change, Content, Effect as Order, Folder, FoundContent, FoundFile, Level, Memory, Notice,
        StagedFile, StateFile,
        local::REPORT_BODY_MAX,
        reports::{
            Done, Draft, Effect, Input, MENDS_MAX, REPORTS_MAX, Refusal, Reports, WRITES_MAX,
        },
    },
    ids::CallId,
    step::Step,
    wire::{
        grammar::{Name, ReportKey},
        http::{Body, Headers, Method, Request},
        json::Raw,
        kept::{self, KeptReport},
    },
};
use proptest::prelude::*;

use crate::{
    bench::{NODE, remembered, seconds, start},
    counter::{Counter, text},
    support,
};

fn key(name: &str) -> ReportKey {
    ReportKey::parse(name).expect("a key")
}

fn file(name: &str) -> StateFile {
    StateFile { folder: Folder::Report, name: kept::file_name(name) }
}

fn error(text: &str) -> String {
    format!("{{\"error\":\"{text}\"}}\n")
}

fn entry(payload: &str, version: u64) -> String {
    format!(
        "{{\"key\":\"a\",\"content_type\":\"application/json\",\"payload\":{payload},\"version\":{version},\
         \"updated_at\":\"2027-01-15T08:00:00Z\"}}\n"
    )
}

#[test]
fn a_write_breaks_each_rule_in_its_order() {
    let long = format!(r#"{{"content_type":"t","payload":"{}"}}"#, "x".repeat(4095));
    let typed = format!(r#"{{"content_type":"{}","payload":1}}"#, "t".repeat(257));
    let rows = [
        ("A", "no JSON", "x", "invalid report key"),
        ("a%2Fb", "no JSON", "x", "invalid report key"),
        ("%ff", "no JSON", "x", "invalid report key"),
        ("a", "no JSON", "x", "invalid JSON body"),
        ("a", "", "x", "invalid JSON body"),
        ("a", "[]", "x", "invalid JSON body"),
        ("a", r#"{"content_type":7}"#, "x", "invalid JSON body"),
        ("a", r#"{"content_type":"t","payload":1} 2"#, "x", "invalid JSON body"),
        ("a", r#"{"content_type":"t","content_type":"t"}"#, "x", "invalid JSON body"),
        ("a", r#"{"payload":}"#, "x", "invalid JSON body"),
        ("a", "{}", "x", "content_type is required"),
        ("a", r#"{"content_type":null}"#, "x", "content_type is required"),
        ("a", r#"{"content_type":""}"#, "x", "content_type is required"),
        ("a", typed.as_str(), "x", "content_type exceeds the 256-byte limit"),
        ("a", r#"{"content_type":"t"}"#, "x", "payload must be valid JSON"),
        ("a", long.as_str(), "x", "payload exceeds the 4096-byte limit"),
        ("a", r#"{"content_type":"t","payload":1}"#, "x", "If-Match must be an integer"),
    ];
    let mut counter = Counter::new();
    for (name, body, if_match, told) in rows {
        let headers = Headers::new().with("if-match", if_match);
        let path = format!("/v1/state/report/{name}");
        let response = counter.ask(Method::Put, &path, headers, body);
        assert_eq!((response.status, text(&response)), (400, error(told)), "{name} {body}");
        assert_eq!(response.headers.first("content-type"), Some("application/json"));
    }
    assert_eq!(counter.files, BTreeMap::new(), "nothing is written");
}

#[test]
fn a_body_that_is_too_long_or_cut_off_is_no_json() {
    let request = |body| Request {
        method: Method::Put,
        path: "/v1/state/report/a".into(),
        query: None,
        headers: Headers::new(),
        body,
    };
    for body in [Body::Oversized, Body::Unreadable, Body::Whole(b"{\"payload\":\"\xff\"}".into())] {
        let read = meshward_core::agent::local::read_report("a", &request(body));
        assert_eq!(read, Err(Refusal::Body));
    }
    assert_eq!(REPORT_BODY_MAX, 1 << 20);
}

#[test]
fn a_payload_is_kept_compact_and_as_it_was_spelled() {
    let rows = [
        ("null", "null"),
        (
            " { \"a\" : [ 1.50e+2 , -0 ] , \"a\" : \" b \\\" c \" } ",
            r#"{"a":[1.50e+2,-0],"a":" b \" c "}"#,
        ),
        ("\"\\u0041\\\\\"", "\"\\u0041\\\\\""),
        ("12345678901234567890123", "12345678901234567890123"),
        ("\"<&>\u{2028}\"", "\"<&>\u{2028}\""),
    ];
    for (sent, compact) in rows {
        let mut counter = Counter::new();
        assert_eq!(counter.put("a", sent), (200, entry(compact, 1)));
        assert_eq!(counter.get("/v1/state/report/a"), (200, entry(compact, 1)));
        let mut restarted = counter.restarted();
        assert_eq!(
            restarted.get("/v1/state/report/a"),
            (200, entry(compact, 1)),
            "behind a restart"
        );
    }
}

#[test]
fn a_payload_is_measured_without_the_white_space_between_its_tokens() {
    let mut counter = Counter::new();
    let longest = format!("[{:>9000}\"{}\"]", "", "x".repeat(4092));
    assert_eq!(counter.put("a", &longest).0, 200);
    let longer = format!("[\"{}\"]", "x".repeat(4093));
    assert_eq!(counter.put("a", &longer), (400, error("payload exceeds the 4096-byte limit")));
    assert_eq!(counter.put(&"k".repeat(128), "1").0, 200);
    assert_eq!(counter.put(&"k".repeat(129), "1"), (400, error("invalid report key")));
}

#[test]
fn unknown_members_of_a_write_are_passed_over() {
    let body = r#"{"payload":{},"content_type":"text/plain","version":9,"key":null}"#;
    let mut counter = Counter::new();
    let response = counter.ask(Method::Put, "/v1/state/report/a", Headers::new(), body);
    assert_eq!(response.status, 200);
    assert!(text(&response).contains(r#""content_type":"text/plain","payload":{},"version":1,"#));
}

#[test]
fn a_version_is_asked_for_by_a_bare_integer() {
    let integer = "If-Match must be an integer";
    let conflict = "version conflict";
    let rows = [
        ("", 400, integer),
        ("\"1\"", 400, integer),
        ("1.0", 400, integer),
        ("+1", 400, integer),
        ("*", 400, integer),
        ("9223372036854775808", 400, integer),
        ("-9223372036854775809", 400, integer),
        ("9223372036854775807", 409, conflict),
        ("-1", 409, conflict),
        ("0", 409, conflict),
        ("2", 409, conflict),
    ];
    let mut counter = Counter::new();
    assert_eq!(counter.put_if("a", "1", Some("1")), (409, error(conflict)), "of a new entry");
    assert_eq!(counter.put_if("a", "1", Some("-1")), (409, error(conflict)));
    assert_eq!(counter.files, BTreeMap::new());
    assert_eq!(counter.put_if("a", "1", Some("0")), (200, entry("1", 1)));
    for (version, status, told) in rows {
        assert_eq!(counter.put_if("a", "2", Some(version)), (status, error(told)), "{version}");
    }
    assert_eq!(counter.put_if("a", "2", Some("1")), (200, entry("2", 2)));
    let twice = Headers::new().with("if-match", "2").with("if-match", "2");
    let body = r#"{"content_type":"t","payload":3}"#;
    let response = counter.ask(Method::Put, "/v1/state/report/a", twice, body);
    assert_eq!((response.status, text(&response)), (400, error(integer)));
}

#[test]
fn a_version_starts_at_one_and_again_behind_a_deletion() {
    let mut counter = Counter::new();
    for version in 1..4 {
        assert_eq!(counter.put("a", "7"), (200, entry("7", version)), "the same value counts too");
    }
    assert_eq!(counter.delete("a"), (204, String::new()));
    assert_eq!(counter.get("/v1/state/report/a"), (404, error("not found")));
    assert_eq!(counter.delete("a"), (404, error("not found")));
    assert_eq!(counter.put_if("a", "7", Some("3")), (409, error("version conflict")));
    assert_eq!(counter.put_if("a", "7", Some("0")), (200, entry("7", 1)));
    counter.bench.pass(seconds(61));
    assert!(counter.put("a", "7").1.contains(r#""updated_at":"2027-01-15T08:01:01Z""#));
}

#[test]
fn reports_are_listed_by_key_and_without_payloads() {
    let mut counter = Counter::new();
    let path = "/v1/state/report";
    assert_eq!(counter.get(path), (200, "[]\n".into()));
    for name in ["b", "a", "a.b", "a", "c"] {
        counter.put(name, "1");
    }
    counter.delete("c");
    let listed = r#"[{"key":"a","version":2},{"key":"a.b","version":1},{"key":"b","version":1}]"#;
    assert_eq!(counter.get(path), (200, format!("{listed}\n")));
    assert!(counter.get("/v1/state").1.contains(&format!("\"report_keys\":{listed}")));
    for (name, status, told) in [("A", 400, "invalid report key"), ("c", 404, "not found")] {
        assert_eq!(counter.get(&format!("{path}/{name}")), (status, error(told)));
    }
    assert_eq!(counter.delete("a%2Fb"), (400, error("invalid report key")));
    let status = counter.get("/v1/status").1;
    assert!(status.contains(r#""reports_unsynced":4,"reports_writing":0"#), "{status}");
}

#[test]
fn a_write_that_the_disk_refuses_changes_nothing_and_is_told() {
    let mut counter = Counter::new();
    counter.put("a", "1");
    let before = counter.files.clone();
    counter.full = true;
    assert_eq!(counter.put("a", "2"), (500, error("internal error")));
    assert_eq!(counter.delete("a"), (500, error("internal error")));
    assert_eq!(counter.put("b", "2"), (500, error("internal error")));
    let told = counter.orders.iter().any(|order| {
        matches!(order, Order::Tell(Notice { level: Level::Error, text })
            if text == "the report a is not written: the disk is full")
    });
    assert!(told, "{:?}", counter.orders);
    counter.full = false;
    assert_eq!(counter.files, before);
    assert_eq!(counter.get("/v1/state/report/a"), (200, entry("1", 1)));
    assert_eq!(counter.get("/v1/state/report/b").0, 404);
    assert_eq!(counter.put_if("a", "2", Some("1")), (200, entry("2", 2)));
}

/// A refusal may come when the name was changed already, so the file is written as it was.
#[test]
fn behind_a_refused_write_the_file_is_brought_back_to_what_is_known() {
    let mut counter = Counter::new();
    counter.put("a", "1");
    counter.put("c", "1");
    assert_eq!(counter.delete("c").0, 204, "and the control plane is to be told");
    let known = |name| Change::Write(Content(counter.files[&file(name)].clone()));
    let mends = [("a", known("a")), ("b", Change::Remove), ("c", known("c"))];
    counter.full = true;
    counter.hanging = Some(Vec::new());
    for (name, mend) in mends {
        let body = r#"{"content_type":"t","payload":2}"#;
        let path = format!("/v1/state/report/{name}");
        counter.ask_later(Method::Put, &path, Headers::new(), body);
        let replies = counter.release();
        assert_eq!(replies[0].1.status, 500);
        assert_eq!(counter.hanging, Some(vec![(file(name), mend)]));
        assert_eq!(counter.release(), [], "a mend answers nobody");
        assert_eq!(counter.hanging, Some(Vec::new()), "and is not tried again at once");
    }
}

#[test]
fn a_write_is_answered_when_it_is_durable_and_the_next_one_is_judged_behind_it() {
    let mut counter = Counter::new();
    counter.hanging = Some(Vec::new());
    let body =
        |payload: &str| format!(r#"{{"content_type":"application/json","payload":{payload}}}"#);
    let path = "/v1/state/report/a";
    let matching = |version: &str| Headers::new().with("if-match", version);
    counter.ask_later(Method::Put, path, matching("0"), &body("1"));
    counter.ask_later(Method::Put, path, matching("0"), &body("2"));
    counter.ask_later(Method::Put, path, matching("1"), &body("3"));
    counter.ask_later(Method::Delete, path, Headers::new(), "");
    assert_eq!(counter.get(path), (404, error("not found")), "nothing is durable yet");
    let other = "/v1/state/report/b";
    counter.ask_later(Method::Put, other, Headers::new(), &body("1"));
    let statuses = |replies: Vec<(CallId, meshward_core::wire::http::Response)>| {
        replies.iter().map(|(call, response)| (call.0, response.status)).collect::<Vec<_>>()
    };
    assert_eq!(statuses(counter.release()), [(1, 200), (2, 409)]);
    assert_eq!(counter.get(path), (200, entry("1", 1)));
    assert_eq!(statuses(counter.release()), [(6, 200)], "another key waits for no one");
    assert_eq!(statuses(counter.release()), [(3, 200)]);
    assert_eq!(counter.get(path), (200, entry("3", 2)));
    assert_eq!(statuses(counter.release()), [(4, 204)]);
    assert_eq!(counter.get(path), (404, error("not found")));
}

#[test]
fn writes_that_wait_for_a_disk_that_hangs_are_bounded() {
    let mut counter = Counter::new();
    counter.hanging = Some(Vec::new());
    let body = r#"{"content_type":"t","payload":1}"#;
    for number in 0..WRITES_MAX {
        let path = format!("/v1/state/report/k{}", number % 7);
        counter.ask_later(Method::Put, &path, Headers::new(), body);
    }
    assert_eq!(counter.put("k1", "1"), (503, error("agent busy")));
    assert_eq!(counter.put("new", "1"), (503, error("agent busy")));
    assert_eq!(counter.delete("k1"), (503, error("agent busy")));
    assert_eq!(counter.get("/v1/state/report").0, 200, "reads wait for no disk");
    counter.release();
    counter.ask_later(Method::Put, "/v1/state/report/k1", Headers::new(), body);
}

#[test]
fn keys_are_bounded_and_those_that_are_there_can_still_be_written() {
    let mut counter = Counter::armed();
    for number in 5..REPORTS_MAX {
        assert_eq!(counter.put(&format!("k{number}"), "1").0, 200);
    }
    assert_eq!(counter.put("one-more", "1"), (503, error("report store full")));
    assert_eq!(counter.put("k7", "2").0, 200);
    assert_eq!(counter.delete("k8").0, 204);
    assert_eq!(
        counter.put("one-more", "1"),
        (503, error("report store full")),
        "not delivered yet"
    );
    assert_eq!(counter.put("k8", "1").0, 200);
    assert_eq!(counter.put_if("one-more", "1", Some("4")).0, 503);
}

#[test]
fn what_is_kept_is_found_again_and_is_delivered() {
    let mut counter = Counter::new();
    counter.put("a", "1");
    counter.put("b", "1");
    counter.delete("b");
    let mut restarted = counter.restarted();
    assert_eq!(restarted.get("/v1/state/report/a"), (200, entry("1", 1)));
    assert_eq!(restarted.get("/v1/state/report/b").0, 404);
    restarted.bench.pass(seconds(5));
    restarted.give(meshward_core::agent::Input::Ticked);
    let calls = crate::bench::sent(&restarted.orders);
    let (_, request) = calls.last().expect("a report is sent");
    assert_eq!(request.path, format!("/v1/nodes/{NODE}/state/reports/a"));
    assert_eq!(request.body, Body::Whole(br#"{"value":"1"}"#.into()));
}

fn found(name: &str, content: FoundContent) -> FoundFile {
    FoundFile { file: StateFile { folder: Folder::Report, name: name.into() }, content }
}

fn bytes(text: &[u8]) -> FoundContent {
    FoundContent::Bytes(Content(text.into()))
}

#[test]
fn a_foreign_file_whose_name_leaves_no_room_for_another_is_told_and_left() {
    const SUFFIX: usize = ".damaged-2027-01-15T08:00:00Z".len();
    for (length, is_left) in [(255 - SUFFIX, false), (256 - SUFFIX, true), (250, true), (255, true)]
    {
        let files = vec![found(&"x".repeat(length), bytes(b"hello"))];
        let step = Reports::default().step(start(), Input::Loaded(files));
        let Some(Effect::Tell(notice)) = step.effects.first() else { panic!("nothing is told") };
        assert_eq!(notice.level, Level::Error);
        assert_eq!(notice.text.contains("its name is too long"), is_left, "{notice}");
        let renames = step.effects.iter().filter(|one| matches!(one, Effect::Keep { .. })).count();
        assert_eq!(renames, usize::from(!is_left), "{length}");
    }
}

#[test]
fn a_damaged_file_is_told_renamed_and_stops_nothing() {
    let sound = format!("{{\"entry\":{}}}", entry("1", 4).trim_end());
    let other = sound.replace("\"a\"", "\"b\"");
    let both = format!("{},\"deleted\":\"a\"}}", &sound[..sound.len() - 1]);
    let rows = [
        ("a.json", bytes(b""), "it is empty"),
        ("a.json", bytes(&[0; 99]), "it holds only zero bytes"),
        ("a.json", bytes(&sound.as_bytes()[..40]), "it is cut off or changed: "),
        ("a.json", bytes(b"{}"), "it holds neither a report nor the deletion of one"),
        ("a.json", bytes(both.as_bytes()), "it holds neither a report nor the deletion of one"),
        ("a.json", bytes(other.as_bytes()), "its key is not the one of its name"),
        ("a.json", FoundContent::Foreign("a symbolic link".into()), "it is a symbolic link"),
        ("A.json", bytes(sound.as_bytes()), "its name is not that of a report"),
        ("%41.json", bytes(sound.as_bytes()), "its name is not that of a report"),
        ("%61.json", bytes(sound.as_bytes()), "its name is not that of a report"),
        ("notes.txt", bytes(b"hello"), "its name is not that of a report"),
    ];
    for (name, content, why) in rows {
        let files = vec![
            found(name, content),
            found("z.json", bytes(other.replace("\"b\"", "\"z\"").as_bytes())),
        ];
        let step = Reports::default().step(start(), Input::Loaded(files));
        let [Effect::Tell(notice), Effect::Keep { file, change }] = step.effects.as_slice() else {
            panic!("{name}: {:?}", step.effects)
        };
        assert_eq!(notice.level, Level::Error);
        assert!(
            notice.text.starts_with(&format!("state/report/{name} holds no report, {why}")),
            "{notice}"
        );
        let aside = format!("{name}.damaged-2027-01-15T08:00:00Z");
        assert!(notice.text.contains(&aside), "{notice}");
        assert_eq!((file.name.as_str(), change), (name, &Change::Rename(aside.clone())));
        assert_eq!(step.state.get(&key("a")), None);
        assert!(step.state.get(&key("z")).is_some(), "the others are there");
        let again =
            Reports::default().step(start(), Input::Loaded(vec![found(&aside, bytes(b""))]));
        assert_eq!(again, Step::to(Reports::default()), "what is aside is left alone");
    }
}

#[test]
fn a_write_to_a_damaged_key_waits_until_the_file_is_out_of_the_way() {
    let state = vec![found("a.json", bytes(b""))];
    let reports = Reports::default().step(start(), Input::Loaded(state)).state;
    let draft = Draft { content_type: "t".into(), payload: Raw::null() };
    let put = Input::Put { asker: CallId(1), key: key("a"), draft, if_match: None };
    let waiting = reports.step(start(), put);
    assert_eq!(waiting.effects, []);
    let kept = |outcome| Input::Kept { file: file("a"), outcome };
    for outcome in [Ok(()), Err("read-only".into())] {
        let step = waiting.state.clone().step(start(), kept(outcome));
        let written =
            matches!(step.effects.last(), Some(Effect::Keep { change: Change::Write(_), .. }));
        assert!(written, "{:?}", step.effects);
    }
}

#[test]
fn what_was_delivered_for_another_node_is_to_be_delivered_for_this_one() {
    let synced = |name: &str, node: Option<&str>| {
        let entry = KeptReport::Entry {
            entry: meshward_core::wire::local::ReportEntry {
                key: name.into(),
                content_type: "t".into(),
                payload: Raw::null(),
                version: 1,
                updated_at: start().wall.into(),
            },
            synced: node.map(str::to_owned),
        };
        found(&kept::file_name(name), bytes(&entry.encode()))
    };
    let files = vec![synced("a", Some("this")), synced("b", Some("that")), synced("c", None)];
    let reports = Reports::default().step(start(), Input::Loaded(files)).state;
    let unsynced = |reports: &Reports| {
        reports.unsynced().keys().map(|key| key.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(unsynced(&reports), ["c"]);
    let reports = reports.step(start(), Input::Armed { node: "this".into() }).state;
    assert_eq!(unsynced(&reports), ["b", "c"]);
}

fn put(asker: u64, name: &str) -> Input {
    let draft = Draft { content_type: "t".into(), payload: Raw::null() };
    Input::Put { asker: CallId(asker), key: key(name), draft, if_match: None }
}

fn kept(name: &str, outcome: Result<(), String>) -> Input {
    Input::Kept { file: file(name), outcome }
}

/// Gives an input; tells the changes that it orders, and the answers.
fn given(reports: &mut Reports, input: Input) -> (Vec<(String, Change)>, Vec<Option<Refusal>>) {
    let step = std::mem::take(reports).step(start(), input);
    *reports = step.state;
    let (mut changes, mut answers) = (Vec::new(), Vec::new());
    for effect in step.effects {
        match effect {
            Effect::Keep { file, change } => {
                changes.push((kept::file_key(&file.name).expect("a key's file"), change));
            }
            Effect::Answer { outcome, .. } => answers.push(outcome.err()),
            Effect::Changed(_) | Effect::Tell(_) => {}
        }
    }
    (changes, answers)
}

/// How many reports are delivered while the disk hangs.
const MANY: usize = 600;

/// A table of many reports that were all delivered, and the marks that are under way.
fn all_delivered() -> (Reports, VecDeque<(String, Change)>) {
    let names = (0..MANY).map(|number| format!("k{number:03}"));
    let files = names.clone().map(|name| found(&kept::file_name(&name), unsynced(&name)));
    let mut reports = Reports::default();
    given(&mut reports, Input::Loaded(files.collect()));
    given(&mut reports, Input::Armed { node: "this".into() });
    assert_eq!(reports.unsynced().len(), MANY);
    let marks = names.flat_map(|name| {
        let settled = Input::Settled { key: Name(name), generation: 1 };
        given(&mut reports, settled).0
    });
    let marks = marks.collect();
    (reports, marks)
}

fn unsynced(name: &str) -> FoundContent {
    let entry = meshward_core::wire::local::ReportEntry {
        key: name.into(),
        content_type: "t".into(),
        payload: Raw::null(),
        version: 1,
        updated_at: start().wall.into(),
    };
    bytes(&KeptReport::Entry { entry, synced: None }.encode())
}

#[test]
fn a_program_waits_for_programs_and_not_for_marks_of_delivery() {
    let (mut reports, marks) = all_delivered();
    assert_eq!(marks.len(), MENDS_MAX, "the others are put off");
    assert_eq!(reports.writing(), MANY);
    for number in 0..WRITES_MAX {
        let name = format!("w{number:03}");
        let (changes, answers) = given(&mut reports, put(number as u64, &name));
        assert_eq!((changes.len(), answers.len()), (1, 0), "it goes to the disk at once");
    }
    let busy = (Vec::new(), vec![Some(Refusal::Busy)]);
    assert_eq!(given(&mut reports, put(999, "one-more")), busy);
    assert_eq!(given(&mut reports, put(999, "k000")), busy, "whichever key");
    assert_eq!(given(&mut reports, kept("w000", Ok(()))), (Vec::new(), vec![None]));
    let (changes, answers) = given(&mut reports, put(999, "k500"));
    assert_eq!((changes.len(), answers.len()), (1, 0), "whose mark was put off");
}

#[test]
fn marks_that_were_put_off_are_written_one_behind_the_other() {
    let (mut reports, mut marks) = all_delivered();
    let mut marked = BTreeMap::new();
    while let Some((name, change)) = marks.pop_front() {
        let (next, answers) = given(&mut reports, kept(&name, Ok(())));
        marks.extend(next);
        assert!(marks.len() <= MENDS_MAX);
        assert_eq!(answers, []);
        let Change::Write(Content(bytes)) = change else { panic!("{change:?}") };
        let Ok(KeptReport::Entry { synced, .. }) = KeptReport::decode(&key(&name), &bytes) else {
            panic!("no report")
        };
        assert_eq!(marked.insert(name, synced), None, "each once");
    }
    assert_eq!(marked.len(), MANY);
    assert!(marked.values().all(|node| node.as_deref() == Some("this")));
    assert_eq!(reports.writing(), 0);
}

#[test]
fn a_mark_that_was_put_off_is_needless_where_the_file_is_written_anew() {
    let (mut reports, mut marks) = all_delivered();
    let (changes, _) = given(&mut reports, put(1, "k500"));
    let [(name, Change::Write(Content(bytes)))] = changes.as_slice() else { panic!("{changes:?}") };
    let anew = KeptReport::decode(&key(name), bytes).expect("a report");
    assert!(matches!(anew, KeptReport::Entry { synced: None, .. }), "and it is delivered again");
    assert_eq!(given(&mut reports, kept("k500", Ok(()))).1, [None]);
    assert_eq!(reports.writing(), MANY - 1);
    while let Some((name, _)) = marks.pop_front() {
        assert_ne!(name, "k500");
        marks.extend(given(&mut reports, kept(&name, Ok(()))).0);
    }
    assert!(reports.unsynced().contains_key("k500"));
}

#[test]
fn what_the_disk_refused_to_bring_up_to_date_is_given_to_it_again_when_it_takes_something() {
    let mut reports = Reports::default();
    given(&mut reports, put(1, "a"));
    given(&mut reports, kept("a", Ok(())));
    let settled = Input::Settled { key: Name::from("a"), generation: 1 };
    let mark = given(&mut reports, settled).0;
    assert_eq!(given(&mut reports, kept("a", Err("full".into()))).0, [], "not at once");
    assert_eq!(reports.writing(), 0, "nobody waits for it");
    given(&mut reports, put(2, "b"));
    assert_eq!(given(&mut reports, kept("b", Err("full".into()))).1, [Some(Refusal::Internal)]);
    assert_eq!(given(&mut reports, kept("b", Err("full".into()))).0, [], "of the mend");
    given(&mut reports, put(3, "c"));
    let removed = ("b".to_owned(), Change::Remove);
    let again: Vec<_> = mark.into_iter().chain([removed]).collect();
    assert_eq!(given(&mut reports, kept("c", Ok(()))).0, again);
    for name in ["a", "b"] {
        assert_eq!(given(&mut reports, kept(name, Ok(()))).0, []);
    }
    assert_eq!(reports.writing(), 0);
    assert_eq!(reports.summaries().count(), 2);
}

#[test]
fn a_damaged_file_that_cannot_be_renamed_is_never_removed() {
    let mut reports = Reports::default();
    given(&mut reports, Input::Loaded(vec![found("a.json", bytes(b"half"))]));
    assert_eq!(given(&mut reports, kept("a", Err("read-only".into()))).0, []);
    given(&mut reports, put(1, "b"));
    assert_eq!(given(&mut reports, kept("b", Ok(()))).0, [], "it stays");
}

/// What programs do and the disk answers; numbers choose among keys and what is under way.
#[derive(Clone, Debug)]
enum Event {
    Put { key: u8, value: u8, if_match: Option<i64> },
    Delete { key: u8 },
    Kept { nth: usize, fails: bool },
    Settled { key: u8, newest: bool },
    Restarted,
}

fn event() -> impl Strategy<Value = Event> {
    let if_match = prop_oneof![3 => Just(None), 2 => (-1_i64..4).prop_map(Some)];
    prop_oneof![
        5 => (0_u8..3, any::<u8>(), if_match)
            .prop_map(|(key, value, if_match)| Event::Put { key, value, if_match }),
        3 => (0_u8..3).prop_map(|key| Event::Delete { key }),
        8 => (0_usize..3, prop::bool::weighted(0.2))
            .prop_map(|(nth, fails)| Event::Kept { nth, fails }),
        2 => (0_u8..3, any::<bool>()).prop_map(|(key, newest)| Event::Settled { key, newest }),
        1 => Just(Event::Restarted),
    ]
}

/// A map of what was answered for, beside the table and its disk.
#[derive(Default)]
struct Model {
    reports: Reports,
    /// Payload and version.
    map: BTreeMap<ReportKey, (String, u64)>,
    /// Whose newest write the control plane is not known to have.
    due: BTreeMap<ReportKey, bool>,
    asked: BTreeMap<ReportKey, VecDeque<(CallId, Event)>>,
    under_way: Vec<(StateFile, Change)>,
    disk: BTreeMap<StateFile, Vec<u8>>,
    last_asker: u64,
    log: Vec<Input>,
    /// The last answer of the disk was a refusal.
    refused: bool,
}

fn named(number: u8) -> ReportKey {
    key(&format!("k{number}"))
}

impl Model {
    fn happen(&mut self, event: Event) {
        match &event {
            Event::Put { key, value, if_match } => {
                let payload = Raw::parse(&value.to_string()).expect("a number is JSON");
                let draft = Draft { content_type: "t".into(), payload };
                let (key, if_match) = (named(*key), *if_match);
                let asker = self.note(&key, &event);
                self.give(Input::Put { asker, key, draft, if_match });
            }
            Event::Delete { key } => {
                let key = named(*key);
                let asker = self.note(&key, &event);
                self.give(Input::Delete { asker, key });
            }
            Event::Kept { nth, fails } if !self.under_way.is_empty() => {
                let (file, change) = self.under_way.remove(nth % self.under_way.len());
                self.kept(file, change, *fails);
            }
            Event::Settled { key, newest } => self.settled(named(*key), *newest),
            Event::Restarted => self.restart(),
            Event::Kept { .. } => {}
        }
        self.compare();
    }

    fn note(&mut self, key: &ReportKey, event: &Event) -> CallId {
        self.last_asker += 1;
        let asker = CallId(self.last_asker);
        self.asked.entry(key.clone()).or_default().push_back((asker, event.clone()));
        asker
    }

    fn kept(&mut self, file: StateFile, change: Change, fails: bool) {
        self.refused = fails;
        if !fails {
            match change {
                Change::Write(Content(bytes)) => drop(self.disk.insert(file.clone(), bytes)),
                Change::Remove => drop(self.disk.remove(&file)),
                Change::Rename(_) => panic!("nothing is damaged"),
            }
        }
        let outcome = if fails { Err("full".into()) } else { Ok(()) };
        self.give(Input::Kept { file, outcome });
    }

    fn settled(&mut self, key: ReportKey, newest: bool) {
        let Some(generation) = self.reports.unsynced().get(key.as_str()).copied() else { return };
        if newest {
            self.due.insert(key.clone(), false);
            self.give(Input::Settled { key: Name::from(&key), generation });
        } else {
            self.give(Input::Settled { key: Name::from(&key), generation: generation - 1 });
        }
    }

    /// Whoever was not answered is not, and what was under way is done or not.
    fn restart(&mut self) {
        self.under_way.clear();
        self.asked.clear();
        self.log.clear();
        self.reports = Reports::default();
        let found = |(file, bytes): (&StateFile, &Vec<u8>)| FoundFile {
            file: file.clone(),
            content: FoundContent::Bytes(Content(bytes.clone())),
        };
        let files = self.disk.iter().map(found).collect();
        self.give(Input::Loaded(files));
        self.give(Input::Armed { node: "node".into() });
    }

    fn give(&mut self, input: Input) {
        self.log.push(input.clone());
        let step = std::mem::take(&mut self.reports).step(start(), input);
        self.reports = step.state;
        for effect in step.effects {
            match effect {
                Effect::Keep { file, change } => {
                    assert!(self.under_way.iter().all(|(open, _)| *open != file));
                    self.under_way.push((file, change));
                }
                Effect::Answer { asker, outcome } => self.answered(asker, outcome),
                Effect::Changed(_) | Effect::Tell(_) => {}
            }
        }
    }

    /// Answers come in the order of the questions of their key, and each is what a map would give.
    fn answered(&mut self, asker: CallId, outcome: Result<Done, Refusal>) {
        let first = |asked: &VecDeque<(CallId, Event)>| asked.front().map(|(asker, _)| *asker);
        let (key, asked) = self
            .asked
            .iter_mut()
            .find(|(_, asked)| first(asked) == Some(asker))
            .expect("whoever asked first of its key is answered first");
        let (_, event) = asked.pop_front().expect("it is there");
        let known = self.map.get(key).cloned();
        let version = known.as_ref().map_or(0, |(_, version)| *version);
        match (event, outcome) {
            (Event::Put { value, if_match, .. }, Ok(Done::Written(entry))) => {
                assert!(if_match.is_none_or(|wanted| u64::try_from(wanted) == Ok(version)));
                assert_eq!(
                    (entry.payload.text(), entry.version),
                    (&*value.to_string(), version + 1)
                );
                self.map.insert(key.clone(), (value.to_string(), version + 1));
                self.due.insert(key.clone(), true);
            }
            (Event::Put { if_match, .. }, Err(Refusal::Conflict)) => {
                assert_ne!(if_match.map(u64::try_from), Some(Ok(version)));
            }
            (Event::Delete { .. }, Ok(Done::Deleted)) => {
                assert!(self.map.remove(key).is_some());
                self.due.insert(key.clone(), true);
            }
            (Event::Delete { .. }, Err(Refusal::Missing)) => assert_eq!(known, None),
            (Event::Put { .. } | Event::Delete { .. }, Err(Refusal::Internal)) => {
                assert!(self.refused);
            }
            (event, outcome) => panic!("{event:?} is answered {outcome:?}"),
        }
    }

    fn compare(&self) {
        for number in 0..3 {
            let key = named(number);
            let entry = self.reports.get(&key);
            let served = entry.map(|entry| (entry.payload.text().to_owned(), entry.version));
            assert_eq!(served, self.map.get(&key).cloned(), "{key:?}");
            let due = self.due.get(&key).copied().unwrap_or_default();
            assert!(
                !due || self.reports.unsynced().contains_key(key.as_str()),
                "{key:?} is not delivered"
            );
            let name = file(key.as_str());
            if self.under_way.iter().all(|(file, _)| *file != name) && !self.refused {
                let kept = self.disk.get(&name).map(|bytes| KeptReport::decode(&key, bytes));
                let on_disk = match kept {
                    Some(Ok(KeptReport::Entry { entry, .. })) => {
                        Some((entry.payload.text().to_owned(), entry.version))
                    }
                    Some(Ok(KeptReport::Deleted(_))) | None => None,
                    Some(Err(damage)) => panic!("{damage}"),
                };
                assert_eq!(on_disk, self.map.get(&key).cloned(), "{key:?} on the disk");
            }
        }
    }
}

proptest! {
    #![proptest_config(support::seeds_in("reports"))]

    #[test]
    fn the_table_answers_and_keeps_what_a_map_would(
        events in prop::collection::vec(event(), 0..60),
    ) {
        let mut model = Model::default();
        model.happen(Event::Restarted);
        for event in events {
            model.happen(event);
        }
        support::replays(&Reports::default(), &model.log, |reports, input| {
            reports.step(start(), input)
        });
    }

    #[test]
    fn every_key_has_one_file_name_that_is_safe_and_leads_back_to_it(key in ".{0,15}") {
        let name = kept::file_name(&key);
        prop_assert_eq!(kept::file_key(&name), Some(key));
        let safe = name.bytes().all(|byte| {
            matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'%')
        });
        prop_assert!(safe && (name == ".json" || !name.starts_with('.')));
    }

    #[test]
    fn a_name_of_another_spelling_is_no_file_of_a_key(name in "[a-c.%0-9]{0,8}(\\.json)?") {
        if let Some(key) = kept::file_key(&name) {
            prop_assert_eq!(kept::file_name(&key), name);
        }
    }
}

#[test]
fn a_report_whose_key_reads_like_a_damaged_file_outlives_a_restart() {
    let mut counter = Counter::armed();
    assert_eq!(counter.put("app.damaged-1", "1").0, 200);
    let mut restarted = counter.restarted();
    assert_eq!(restarted.get("/v1/state/report/app.damaged-1").0, 200);
}

#[test]
fn a_start_without_an_identity_has_its_reports_too() {
    let mut counter = Counter::new();
    counter.put("a", "1");
    let mut unregistered = Counter::started(counter.files.clone(), Memory::default());
    assert_eq!(unregistered.get("/v1/state/report/a"), (200, entry("1", 1)));
    assert_eq!(unregistered.put("a", "2"), (200, entry("2", 2)));
    assert_eq!(remembered(StagedFile::Missing).state, []);
}
