//! Reports against a plain map of what was stored, and every row of the checks through the plane.

use std::collections::BTreeMap;

use meshward_core::{
    plane::{
        reports::{REPORTS_MAX, Refusal, STORED_MAX},
        snapshot::{Desired, Effect, Input},
    },
    time::Now,
    wire::{
        grammar::{Name, ReportKey},
        http::{Body, Method},
        json::{decode_strict, encode},
        snapshot::{Entries, Entry, Snapshot},
    },
};
use proptest::prelude::*;

use crate::{
    desk::{Desk, node, text, verdict},
    support,
};

fn entry(key: &str, value: &str, tag: &str) -> Entry {
    Entry { key: Name::from(key), value: value.into(), workload_tag: tag.into() }
}

fn key(text: &str) -> ReportKey {
    ReportKey::parse(text).expect("a key")
}

/// Both blocks as a pull serves them.
fn served(desired: &Desired) -> [Option<Entries>; 2] {
    let projection = desired.project(Now::default().wall, |_| None);
    let snapshot: Snapshot = decode_strict(&encode(&projection)).expect("a snapshot");
    [snapshot.state, snapshot.reports]
}

const KEYS: [&str; 4] = ["b", "a.b", "a-b", "c"];

fn inputs() -> impl Strategy<Value = Input> {
    let keys = || prop::sample::select(&KEYS[..]);
    let put = (keys(), "[xy]{0,2}", "[t]{0,1}")
        .prop_map(|(key, value, tag)| Input::Reported(entry(key, &value, &tag)));
    let withdrawn = keys().prop_map(|text| Input::Withdrawn(key(text)));
    let block = || prop::option::of(prop::collection::vec(keys(), 0..3));
    let entries = |keys: Vec<&str>| Entries {
        metadata: vec![entry("m", "1", "")],
        reports: keys.into_iter().map(|key| entry(key, "configured", "")).collect(),
        ..Entries::default()
    };
    let configured = (block(), block()).prop_map(move |(state, reports)| {
        let (state, reports) = (state.map(entries), reports.map(entries));
        Input::Configured(Box::new(Snapshot { state, reports, ..Snapshot::default() }))
    });
    prop_oneof![5 => put, 3 => withdrawn, 1 => configured]
}

/// What a block should hold: nothing where it is null, else its reports by key.
#[derive(Clone, Debug)]
struct Held {
    metadata: usize,
    reports: Vec<Entry>,
}

fn held(block: &Option<Entries>) -> Option<Held> {
    let block = block.as_ref()?;
    Some(Held { metadata: block.metadata.len(), reports: block.reports.clone() })
}

fn apply(blocks: &mut [Option<Held>; 2], input: &Input) -> Effect {
    match input {
        Input::Configured(snapshot) => {
            *blocks = [held(&snapshot.state), held(&snapshot.reports)];
            Effect::Seed(BTreeMap::new())
        }
        Input::Reported(entry) => {
            for block in blocks {
                let block = block.get_or_insert(Held { metadata: 0, reports: vec![] });
                block.reports.retain(|known| known.key != entry.key);
                block.reports.push(entry.clone());
            }
            Effect::Accept
        }
        Input::Withdrawn(key) => {
            let is = |entry: &Entry| entry.key.as_str() == key.as_str();
            let found = blocks.iter().flatten().any(|block| block.reports.iter().any(is));
            for block in blocks.iter_mut().flatten() {
                block.reports.retain(|entry| !is(entry));
            }
            if found { Effect::Accept } else { Effect::Refuse(Refusal::NotFound) }
        }
    }
}

proptest! {
    #![proptest_config(support::seeds_in("reports"))]
    #[test]
    fn both_blocks_hold_what_was_reported_last_sorted_by_key(
        inputs in prop::collection::vec(inputs(), 0..60)
    ) {
        let mut desired = Desired::default();
        let mut blocks = served(&desired).map(|block| held(&block));
        for input in &inputs {
            let step = desired.step(Now::default(), input.clone());
            prop_assert_eq!(step.effects, vec![apply(&mut blocks, input)]);
            desired = step.state;
            for (block, expected) in served(&desired).iter().zip(&blocks) {
                prop_assert_eq!(block.is_some(), expected.is_some());
                let (Some(block), Some(expected)) = (block, expected) else { continue };
                prop_assert_eq!(block.metadata.len(), expected.metadata);
                let mut sorted = expected.reports.clone();
                sorted.sort_by(|one, other| one.key.cmp(&other.key));
                prop_assert_eq!(&block.reports, &sorted);
            }
        }
        support::replays(&Desired::default(), &inputs, |state, input| {
            state.step(Now::default(), input)
        });
    }
}

#[test]
fn a_reader_of_the_snapshot_keeps_the_one_it_has() {
    let before = Desired::default();
    let after = before.clone().step(Now::default(), Input::Reported(entry("a", "1", "")));
    assert_ne!(served(&before), served(&after.state));
    assert_eq!(served(&before), served(&Desired::default()));
}

fn full(entries: impl Iterator<Item = Entry>) -> Desired {
    let block = Entries { reports: entries.collect(), ..Entries::default() };
    let snapshot = Snapshot { reports: Some(block), ..Snapshot::default() };
    Desired::default().step(Now::default(), Input::Configured(Box::new(snapshot))).state
}

#[test]
fn a_full_block_takes_no_further_key_and_still_replaces_its_own() {
    let stored = full((0..REPORTS_MAX).map(|at| entry(&format!("k{at}"), "1", "")));
    let refused = stored.clone().step(Now::default(), Input::Reported(entry("new", "1", "")));
    assert_eq!(refused.effects, [Effect::Refuse(Refusal::Full)]);
    assert_eq!(refused.state, stored, "nor does the other block");
    let replaced = stored.step(Now::default(), Input::Reported(entry("k7", "2", "")));
    assert_eq!(replaced.effects, [Effect::Accept]);
    let freed = replaced.state.step(Now::default(), Input::Withdrawn(key("k0")));
    let taken = freed.state.step(Now::default(), Input::Reported(entry("new", "1", "")));
    assert_eq!(taken.effects, [Effect::Accept]);
}

#[test]
fn a_block_takes_so_many_bytes_of_values_and_tags_and_no_more() {
    let stored = full([entry("large", "", &"t".repeat(STORED_MAX - 3))].into_iter());
    let put = |value: &str, tag: &str| {
        let entry = entry("small", value, tag);
        stored.clone().step(Now::default(), Input::Reported(entry)).effects
    };
    assert_eq!(put("12", "t"), [Effect::Accept]);
    assert_eq!(put("123", "t"), [Effect::Refuse(Refusal::Full)]);
    assert_eq!(put("12", "tt"), [Effect::Refuse(Refusal::Full)]);
}

fn put(desk: &mut Desk, key: &str, body: &str) -> (u16, String) {
    verdict(&desk.ask(Method::Put, &node(&format!("state/reports/{key}")), body))
}

fn delete(desk: &mut Desk, key: &str) -> (u16, String) {
    verdict(&desk.ask(Method::Delete, &node(&format!("state/reports/{key}")), ""))
}

fn pull(desk: &mut Desk) -> String {
    text(&desk.ask(Method::Get, &node("state"), ""))
}

fn counts(desk: &mut Desk) -> (u64, u64) {
    (desk.count("report_put_count"), desk.count("report_delete_count"))
}

const INVALID: &str = "invalid_report";

#[test]
fn a_key_outside_its_grammar_is_refused_before_the_body_is_looked_at_or_kept() {
    let mut desk = Desk::open();
    let long = "a".repeat(129);
    for key in ["A", "1", "-a", ".a", "_a", "a%20", "a%00", "a%2Bb", "%C3%A9", long.as_str()] {
        assert_eq!(put(&mut desk, key, r#"{"value":"1"}"#), (400, INVALID.into()), "{key}");
        assert_eq!(delete(&mut desk, key), (400, INVALID.into()), "{key}");
        let target = node(&format!("state/reports/{key}"));
        let over = desk.ask_with(Method::Put, &target, Body::Oversized);
        assert_eq!(verdict(&over), (400, INVALID.into()), "the key before the size");
    }
    assert_eq!(desk.ask(Method::Get, "/test/last-request/report", "").status, 404);
    assert_eq!(put(&mut desk, &"a".repeat(128), r#"{"value":"1"}"#).0, 200);
    assert_eq!(put(&mut desk, "a0._-z", r#"{"value":"1"}"#).0, 200);
    assert_eq!(counts(&mut desk), (2, 0));
}

#[test]
fn every_row_of_the_report_checks_earns_its_code_and_is_kept() {
    let mut desk = Desk::open();
    let before = pull(&mut desk);
    let value = |length: usize| format!(r#"{{"value":"{}"}}"#, "v".repeat(length));
    let wide = format!(r#"{{"value":"{}"}}"#, "é".repeat(2048) + "x");
    let rows = [
        String::new(),
        "null".into(),
        "[]".into(),
        r#"["a"]"#.into(),
        r#""a""#.into(),
        "{}".into(),
        r#"{"value":null}"#.into(),
        r#"{"value":1}"#.into(),
        r#"{"value":{}}"#.into(),
        r#"{"value":"a","content_type":"x"}"#.into(),
        r#"{"value":"a","workload_tag":1}"#.into(),
        r#"{"value":"a","value":"b"}"#.into(),
        r#"{"value":"a"} 1"#.into(),
        value(4097),
        wide,
    ];
    for body in rows {
        assert_eq!(put(&mut desk, "k", &body), (400, INVALID.into()), "{body}");
        let kept = desk.ask(Method::Get, "/test/last-request/report", "");
        assert_eq!(text(&kept), body);
    }
    let cut = desk.ask_with(Method::Put, &node("state/reports/k"), Body::Unreadable);
    assert_eq!(verdict(&cut), (400, INVALID.into()));
    let over = desk.ask_with(Method::Put, &node("state/reports/k"), Body::Oversized);
    assert_eq!(verdict(&over), (413, String::new()));
    assert_eq!(counts(&mut desk), (0, 0));
    assert_eq!(pull(&mut desk), before);
    let wide = format!(r#"{{"value":"{}"}}"#, "é".repeat(2048));
    for body in [value(4096), wide, value(0), r#"{"value":"\u0000","workload_tag":""}"#.into()] {
        assert_eq!(put(&mut desk, "k", &body).0, 200, "{body}");
    }
    assert_eq!(counts(&mut desk), (4, 0));
}

#[test]
fn a_report_is_answered_with_its_time_and_key_and_served_in_both_blocks() {
    let mut desk = Desk::open();
    for (key, body) in [
        ("z", r#"{"value":"1","workload_tag":"old"}"#),
        ("a.b", r#"{"value":"{\"n\":1.50}"}"#),
        ("z", r#"{"value":"2"}"#),
    ] {
        let target = format!("/v1/nodes/any/state/reports/{key}");
        let answer = desk.ask(Method::Put, &target, body);
        assert_eq!(answer.headers.first("content-type"), Some("application/json"));
        let expected = format!("{{\"accepted_at\":\"2026-01-15T10:30:00Z\",\"key\":\"{key}\"}}\n");
        assert_eq!((answer.status, text(&answer)), (200, expected));
    }
    let both = r#""reports":[{"key":"a.b","value":"{\"n\":1.50}"},{"key":"z","value":"2"}]}"#;
    assert_eq!(pull(&mut desk).matches(both).count(), 2, "replaced as a whole, and sorted");
}

#[test]
fn blocks_that_are_null_are_made_by_a_report_and_not_by_a_deletion() {
    let mut desk = Desk::open();
    assert_eq!(desk.ask(Method::Post, "/test/configure-state", "{}").status, 204);
    assert_eq!(delete(&mut desk, "k"), (404, "report_not_found".into()));
    assert!(pull(&mut desk).contains(r#""state":null,"reports":null"#));
    assert_eq!(put(&mut desk, "k", r#"{"value":"1","workload_tag":"w"}"#).0, 200);
    let block =
        r#"{"metadata":[],"data":[],"reports":[{"key":"k","value":"1","workload_tag":"w"}]}"#;
    let both = format!(r#""state":{block},"reports":{block}"#);
    assert!(pull(&mut desk).contains(&both), "{}", pull(&mut desk));
    assert_eq!(delete(&mut desk, "k"), (204, String::new()));
    assert_eq!(pull(&mut desk).matches(r#"{"metadata":[],"data":[],"reports":[]}"#).count(), 2);
    assert_eq!(delete(&mut desk, "k"), (404, "report_not_found".into()));
    assert_eq!(counts(&mut desk), (1, 1));
}

#[test]
fn a_deletion_finds_the_key_in_whichever_block_holds_it() {
    let mut desk = Desk::open();
    for block in ["state", "reports"] {
        let body = format!(
            r#"{{"{block}":{{"data":[{{"key":"k"}}],"reports":[{{"key":"k"}},{{"key":"l"}}]}}}}"#
        );
        assert_eq!(desk.ask(Method::Post, "/test/configure-state", &body).status, 204);
        assert_eq!(delete(&mut desk, "k"), (204, String::new()), "{block}");
        assert_eq!(delete(&mut desk, "k").0, 404, "{block}");
        let left =
            r#"{"metadata":[],"data":[{"key":"k","value":""}],"reports":[{"key":"l","value":""}]}"#;
        assert!(pull(&mut desk).contains(left), "{block}: the data entry is another's");
    }
}

#[test]
fn a_configured_snapshot_replaces_what_was_reported() {
    let mut desk = Desk::open();
    assert_eq!(put(&mut desk, "k", r#"{"value":"1"}"#).0, 200);
    let body = r#"{"state":{"reports":[{"key":"l","value":"2"}]}}"#;
    assert_eq!(desk.ask(Method::Post, "/test/configure-state", body).status, 204);
    assert!(!pull(&mut desk).contains(r#""key":"k""#));
    assert_eq!(delete(&mut desk, "k").0, 404);
    assert_eq!(delete(&mut desk, "l").0, 204);
}
