//! Reports under keys that no report can have any more: told, not served, left on the disk, and deleted at the control
//! plane.

use std::collections::BTreeMap;

use meshward_core::{
    agent::{
        Content, Effect as Order, Folder, FoundContent, FoundFile, Input as Fact, Level, Notice,
        StagedFile, StateFile,
        reports::{Effect, Input, Reports},
        sync::RETRY,
    },
    backoff::Jitter,
    ids::CallId,
    wire::http::{Body, Method, Request},
};

use crate::{
    bench::{NODE, problem, remembered, seconds, sent, start},
    counter::Counter,
};

fn content(key: &str) -> Vec<u8> {
    format!(
        r#"{{"entry":{{"key":{key:?},"content_type":"t","payload":1,"version":3,"updated_at":"2027-01-15T08:00:00Z"}},"synced":"{NODE}"}}"#
    )
    .into_bytes()
}

fn file(name: &str) -> StateFile {
    StateFile { folder: Folder::Report, name: name.into() }
}

/// An agent that has found this file.
fn started(name: &str, content: Vec<u8>) -> Counter {
    let files = BTreeMap::from([(file(name), content)]);
    Counter::started(files, remembered(StagedFile::Missing))
}

fn told(counter: &Counter) -> Vec<String> {
    let texts = counter.orders.iter().map(|order| {
        if let Order::Tell(Notice { level: Level::Warn, text }) = order {
            text.clone()
        } else {
            String::new()
        }
    });
    texts.filter(|text| !text.is_empty()).collect()
}

/// The report that is sent first when this time has passed, the agent's own aside.
fn flushed(counter: &mut Counter, wait: u64) -> Option<(CallId, Request)> {
    counter.bench.pass(seconds(wait));
    counter.orders.clear();
    counter.give(Fact::Ticked);
    let calls = sent(&counter.orders);
    calls.into_iter().find(|(_, request)| request.path.contains("/state/reports/"))
}

#[test]
fn a_report_under_a_key_of_an_earlier_grammar_is_told_and_deleted_at_the_control_plane_only() {
    for (name, key, segment) in [
        ("A.json", "A", "A"),
        ("%41.json", "A", "A"),
        ("App_1.json", "App_1", "App_1"),
        ("%41pp%2fhealth.json", "App/health", "App%2Fhealth"),
        ("1.json", "1", "1"),
    ] {
        let mut counter = started(name, content(key));
        let [text] = told(&counter).try_into().expect("one warning");
        assert!(text.starts_with(&format!("state/report/{name} holds a report under")), "{text}");
        let listed = counter.get("/v1/state/report").1;
        assert!(!listed.contains(&format!("\"key\":\"{key}\"")), "it is not served: {listed}");
        let (call, request) = flushed(&mut counter, 5).expect("a deletion");
        assert_eq!(request.method, Method::Delete);
        assert_eq!(request.path, format!("/v1/nodes/{NODE}/state/reports/{segment}"));
        assert_eq!(request.body, Body::EMPTY);
        let answer = problem(404, "report_not_found");
        counter.give(Fact::Answered { call, answer, jitter: Jitter::NONE });
        assert!(counter.get("/v1/status").1.contains("\"reports_unsynced\":5"), "its own");
        assert_eq!(counter.files[&file(name)], content(key), "its file is left as it was");
    }
}

#[test]
fn a_deletion_that_the_control_plane_did_not_take_is_sent_again_but_not_one_that_it_never_will() {
    let mut counter = started("A.json", br#"{"deleted":"A"}"#.to_vec());
    let retry = RETRY.as_secs();
    for (answer, is_sent) in [
        (problem(503, "news"), true),
        (problem(501, "reports_not_provisioned"), true),
        (problem(400, "invalid_report"), false),
    ] {
        let (call, request) = flushed(&mut counter, 10 * retry).expect("a deletion");
        assert!(request.path.ends_with("/A"), "{}", request.path);
        counter.give(Fact::Answered { call, answer, jitter: Jitter::NONE });
        let mut rest = sent(&counter.orders);
        while let Some((call, request)) = rest.pop() {
            if request.path.contains("/reports/status.") {
                let answer = problem(400, "invalid_report");
                counter.orders.clear();
                counter.give(Fact::Answered { call, answer, jitter: Jitter::NONE });
                rest = sent(&counter.orders);
            }
        }
        let status = counter.get("/v1/status").1;
        assert_eq!(!status.contains("\"reports_unsynced\":0"), is_sent, "{status}");
    }
    assert_eq!(flushed(&mut counter, 10 * retry), None);
}

#[test]
fn a_file_that_names_no_key_of_any_grammar_is_damaged() {
    let long = "K".repeat(256);
    let rows = [
        ("B.json", content("A")),
        ("A.txt", content("A")),
        ("%61.json", content("a")),
        (".json", content("")),
        ("..json", content(".")),
        ("...json", content("..")),
        ("%00.json", br#"{"deleted":"\u0000"}"#.to_vec()),
        ("K.json", content(&long)),
        ("A.json", b"{}".to_vec()),
        ("A.json", content("A")[..40].to_vec()),
    ];
    for (name, content) in rows {
        let found = FoundFile { file: file(name), content: FoundContent::Bytes(Content(content)) };
        let step = Reports::default().step(start(), Input::Loaded(vec![found]));
        assert!(
            matches!(step.effects.as_slice(), [Effect::Tell(_), Effect::Keep { .. }]),
            "{name}"
        );
        assert_eq!(step.state.unsynced().len(), 0, "{name}");
    }
}
