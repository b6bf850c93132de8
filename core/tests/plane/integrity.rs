//! Integrity violations: every row of the checks, every kind with every member, and the order within a batch.

use meshward_core::{
    plane::integrity,
    wire::{
        grammar::{Checksum, Fingerprint},
        http::{Body, Method},
        integrity::{DetectedBy, Finding, IntegrityViolation, IntegrityViolationsRequest, Seen},
        json,
    },
};
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::{
    desk::{Desk, node, text, verdict},
    support,
};

const DIGEST: &str = "\"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\"";
const KEY: &str = "\"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU\"";
const MALFORMED: &str = "malformed_integrity_violations_request";
const KIND: &str = "integrity_violation_kind_invalid";
const DETECTED_BY: &str = "integrity_violation_detected_by_invalid";
const ARTIFACT_ID: &str = "integrity_violation_artifact_id_empty";
const MISMATCH: &str = "integrity_violation_kind_mismatch";
const FINGERPRINT: &str = "integrity_violation_host_key_fingerprint_invalid";
const CHECKSUM: &str = "integrity_violation_checksum_invalid";

/// A sound entry with some members replaced, each by its JSON text; an empty text leaves the member out.
fn changed(base: &[(&'static str, &str)], changes: &[(&'static str, &str)]) -> String {
    let mut members = base.to_vec();
    for (name, text) in changes {
        members.retain(|(known, _)| known != name);
        members.push((name, text));
    }
    let members = members.iter().filter(|(_, text)| !text.is_empty());
    let texts: Vec<String> = members.map(|(name, text)| format!("\"{name}\":{text}")).collect();
    format!("{{{}}}", texts.join(","))
}

fn digest(changes: &[(&'static str, &str)]) -> String {
    let base = [
        ("kind", "\"hook_checksum\""),
        ("detected_by", "\"pre_dispatch\""),
        ("artifact_id", "\"backup\""),
        ("observed_checksum", DIGEST),
        ("expected_checksum", DIGEST),
    ];
    changed(&base, changes)
}

fn host_key(changes: &[(&'static str, &str)]) -> String {
    let base = [
        ("kind", "\"ssh_host_key\""),
        ("detected_by", "\"startup_scan\""),
        ("artifact_id", "\"/etc/ssh/key.pub\""),
        ("observed_fingerprint", KEY),
        ("expected_fingerprint", KEY),
    ];
    changed(&base, changes)
}

fn batch(entries: &[String]) -> String {
    format!("{{\"violations\":[{}]}}", entries.join(","))
}

fn post(desk: &mut Desk, body: &str) -> (u16, String) {
    let response = desk.ask(Method::Post, &node("integrity-violations"), body);
    match response.status {
        200 => (200, text(&response)),
        _ => verdict(&response),
    }
}

fn accepted(count: usize) -> (u16, String) {
    let answer =
        format!("{{\"accepted_at\":\"2026-01-15T10:30:00Z\",\"violation_count\":{count}}}\n");
    (200, answer)
}

#[test]
fn every_row_of_the_batch_checks_earns_its_code() {
    let many = |count: usize| batch(&vec!["{}".to_owned(); count]);
    let rows: Vec<(String, &str)> = vec![
        (String::new(), MALFORMED),
        ("{".into(), MALFORMED),
        ("null".into(), MALFORMED),
        ("[]".into(), MALFORMED),
        (format!("[{}]", digest(&[])), MALFORMED),
        (format!("{}{{}}", batch(&[digest(&[])])), MALFORMED),
        ("{\"violations\":[],\"node_id\":\"x\"}".into(), MALFORMED),
        ("{\"violations\":{}}".into(), MALFORMED),
        ("{\"violations\":[[]]}".into(), MALFORMED),
        ("{\"violations\":[null]}".into(), MALFORMED),
        ("{\"violations\":[],\"violations\":[]}".into(), MALFORMED),
        (batch(&[digest(&[("detail", "\"x\"")])]), MALFORMED),
        (batch(&[digest(&[("kind", "1")])]), MALFORMED),
        (batch(&[digest(&[("artifact_id", "\"a\\u0000\"")])]), MALFORMED),
        (batch(&[digest(&[("observed_checksum", "[]")])]), MALFORMED),
        ("{}".into(), "integrity_violations_empty"),
        ("{\"violations\":null}".into(), "integrity_violations_empty"),
        ("{\"violations\":[]}".into(), "integrity_violations_empty"),
        (many(129), "integrity_violations_too_many"),
        (many(128), KIND),
    ];
    let mut desk = Desk::open();
    for (text, code) in rows {
        assert_eq!(post(&mut desk, &text), (400, code.to_owned()), "{text}");
    }
    let path = node("integrity-violations");
    let oversized = desk.ask_with(Method::Post, &path, Body::Oversized);
    assert_eq!(verdict(&oversized), (413, "integrity_violations_body_too_large".into()));
    let cut = desk.ask_with(Method::Post, &path, Body::Unreadable);
    assert_eq!(verdict(&cut), (400, MALFORMED.into()));
    assert_eq!(desk.count("integrity_violation_count"), 0);
}

#[test]
fn every_row_of_the_entry_checks_earns_its_code() {
    let hex = format!("\"{}\"", "0f".repeat(32));
    let rows = [
        (digest(&[("kind", "")]), KIND),
        (digest(&[("kind", "\"\"")]), KIND),
        (digest(&[("kind", "\"Hook_checksum\"")]), KIND),
        (digest(&[("kind", "\"config_checksum\"")]), KIND),
        (digest(&[("detected_by", "null")]), DETECTED_BY),
        (digest(&[("detected_by", "\"operator\"")]), DETECTED_BY),
        (digest(&[("artifact_id", "")]), ARTIFACT_ID),
        (digest(&[("artifact_id", "\"\"")]), ARTIFACT_ID),
        (digest(&[("artifact_id", "\" \\t\"")]), ARTIFACT_ID),
        (digest(&[("observed_fingerprint", KEY)]), MISMATCH),
        (digest(&[("expected_fingerprint", KEY)]), MISMATCH),
        (digest(&[("expected_fingerprint", "\"x\"")]), MISMATCH),
        (digest(&[("observed_checksum", "")]), CHECKSUM),
        (digest(&[("observed_checksum", "\"\"")]), CHECKSUM),
        (digest(&[("observed_checksum", &hex)]), CHECKSUM),
        (digest(&[("observed_checksum", KEY)]), CHECKSUM),
        (digest(&[("expected_checksum", &hex)]), CHECKSUM),
        (host_key(&[("observed_checksum", DIGEST)]), MISMATCH),
        (host_key(&[("expected_checksum", DIGEST)]), MISMATCH),
        (host_key(&[("expected_checksum", "\"x\"")]), MISMATCH),
        (host_key(&[("observed_fingerprint", "")]), FINGERPRINT),
        (host_key(&[("observed_fingerprint", "null")]), FINGERPRINT),
        (host_key(&[("observed_fingerprint", "\"SHA256:\"")]), FINGERPRINT),
        (host_key(&[("observed_fingerprint", "\"MD5:aa\"")]), FINGERPRINT),
        (host_key(&[("expected_fingerprint", "\"SHA256:a===\"")]), FINGERPRINT),
        (host_key(&[("expected_fingerprint", DIGEST)]), FINGERPRINT),
    ];
    let mut desk = Desk::open();
    for (entry, code) in rows {
        let body = batch(&[digest(&[]), entry, host_key(&[])]);
        let response = desk.ask(Method::Post, &node("integrity-violations"), &body);
        assert_eq!(verdict(&response), (400, code.to_owned()), "{body}");
        assert!(text(&response).contains("violations[1]"), "{}", text(&response));
    }
    assert_eq!(desk.count("integrity_violation_count"), 0);
}

/// Breaks one check of an entry after the other, last one first: the earliest broken check always decides.
#[test]
fn the_first_check_of_an_entry_that_fails_decides() {
    let mut desk = Desk::open();
    let steps: [(&str, &str, &str, &str); 5] = [
        ("observed_checksum", "\"x\"", CHECKSUM, MISMATCH),
        ("observed_fingerprint", "\"x\"", MISMATCH, MISMATCH),
        ("artifact_id", "\" \"", ARTIFACT_ID, ARTIFACT_ID),
        ("detected_by", "\"x\"", DETECTED_BY, DETECTED_BY),
        ("kind", "\"x\"", KIND, KIND),
    ];
    let mut changes = Vec::new();
    for (member, text, of_digest, of_host_key) in steps {
        changes.push((member, text));
        let body = batch(&[digest(&changes)]);
        assert_eq!(post(&mut desk, &body), (400, of_digest.to_owned()), "{body}");
        let body = batch(&[host_key(&changes)]);
        assert_eq!(post(&mut desk, &body), (400, of_host_key.to_owned()), "{body}");
    }
    let body = batch(&[digest(&changes), digest(&[("unknown", "1")])]);
    assert_eq!(post(&mut desk, &body), (400, MALFORMED.into()), "decoding comes first");
}

#[test]
fn the_first_entry_that_fails_decides_whatever_its_rule() {
    let mut desk = Desk::open();
    let (late, early) = (digest(&[("observed_checksum", "")]), digest(&[("kind", "")]));
    let body = batch(&[digest(&[]), late.clone(), early.clone()]);
    assert_eq!(post(&mut desk, &body), (400, CHECKSUM.into()));
    let body = batch(&[digest(&[]), early, late]);
    assert_eq!(post(&mut desk, &body), (400, KIND.into()));
}

/// Every kind with every set of evidence members present.
#[test]
fn every_kind_admits_its_own_evidence_alone_and_needs_what_was_observed() {
    let evidence = [
        ("observed_checksum", DIGEST),
        ("expected_checksum", DIGEST),
        ("observed_fingerprint", KEY),
        ("expected_fingerprint", KEY),
    ];
    let mut desk = Desk::open();
    for (kind, own) in
        [("binary_checksum", 0b0011), ("hook_checksum", 0b0011), ("ssh_host_key", 0b1100)]
    {
        for set in 0..16_u8 {
            let kind_text = format!("\"{kind}\"");
            let mut members = vec![
                ("kind", kind_text.as_str()),
                ("detected_by", "\"inotify\""),
                ("artifact_id", "\"a\""),
            ];
            members.extend((0..4).filter(|at| set & 1 << at != 0).map(|at| evidence[at]));
            let answer = post(&mut desk, &batch(&[changed(&members, &[])]));
            let observed = own & 0b0101;
            let expected = match set {
                _ if set & !own != 0 => (400, MISMATCH.to_owned()),
                _ if set & observed == 0 && own == 0b0011 => (400, CHECKSUM.to_owned()),
                _ if set & observed == 0 => (400, FINGERPRINT.to_owned()),
                _ => accepted(1),
            };
            assert_eq!(answer, expected, "{kind} {set:04b}");
        }
    }
}

#[test]
fn up_to_128_entries_are_answered_with_their_number_and_counted_as_one_batch() {
    let mut desk = Desk::open();
    let detectors = ["startup_scan", "inotify", "pre_dispatch"].map(|name| format!("\"{name}\""));
    let each: Vec<String> = detectors.iter().map(|name| digest(&[("detected_by", name)])).collect();
    assert_eq!(post(&mut desk, &batch(&each)), accepted(3));
    let empty = [("observed_fingerprint", "\"\""), ("expected_fingerprint", "null")];
    assert_eq!(post(&mut desk, &batch(&[digest(&empty), host_key(&[])])), accepted(2));
    let full = batch(&vec![digest(&[("expected_checksum", "")]); 128]);
    assert_eq!(post(&mut desk, &full), accepted(128));
    assert_eq!(desk.count("integrity_violation_count"), 3);
    let path = "/v1/nodes/any/integrity-violations";
    assert_eq!(desk.ask(Method::Post, path, &full).status, 200, "there is no node-id guard");
    let over = batch(&vec![digest(&[("expected_checksum", "")]); 129]);
    assert_eq!(post(&mut desk, &over), (400, "integrity_violations_too_many".into()));
    let seen = desk.ask(Method::Get, "/test/last-request/integrity_violations", "");
    assert_eq!(text(&seen), over, "a refused batch is captured");
    assert_eq!(desk.count("integrity_violation_count"), 4);
}

#[test]
fn the_route_of_older_agents_is_not_served() {
    let mut desk = Desk::open();
    let response = desk.ask(Method::Post, &node("integrity/violations"), &batch(&[digest(&[])]));
    assert_eq!(verdict(&response), (404, String::new()));
}

fn seen<T: Clone + core::fmt::Debug>(
    values: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Seen<T>> {
    (values.clone(), option::of(values))
        .prop_map(|(observed, expected)| Seen { observed, expected })
}

fn findings() -> impl Strategy<Value = Finding> {
    let checksums = any::<[u8; 32]>().prop_map(Checksum::from_bytes);
    let keys = "SHA256:[A-Za-z0-9+/]{1,43}={0,2}";
    let keys = keys.prop_map(|text| Fingerprint::parse(&text).expect("a fingerprint"));
    prop_oneof![
        seen(checksums.clone()).prop_map(Finding::BinaryChecksum),
        seen(checksums).prop_map(Finding::HookChecksum),
        seen(keys.boxed()).prop_map(Finding::SshHostKey),
    ]
}

fn violations() -> impl Strategy<Value = IntegrityViolation> {
    let detectors =
        select(&[DetectedBy::StartupScan, DetectedBy::Inotify, DetectedBy::PreDispatch][..]);
    (findings(), detectors, "[^\\x00\\s]{1,9}").prop_map(|(finding, detected_by, artifact_id)| {
        IntegrityViolation { finding, detected_by, artifact_id: artifact_id.as_str().into() }
    })
}

proptest! {
    #![proptest_config(support::seeds_in("integrity"))]
    #[test]
    fn what_an_agent_can_build_the_plane_reads_as_the_same(
        violations in vec(violations(), 1..=16),
    ) {
        let request = IntegrityViolationsRequest { violations };
        let body = Body::Whole(json::encode(&request));
        prop_assert_eq!(integrity::read(&body), Ok(request));
    }
}
