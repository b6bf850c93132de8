//! Records of a batch: golden texts in both directions, the rules that each type keeps, and what is borrowed.

use std::fmt::Debug;

use meshward_core::wire::{
    ingest::{
        AuditEvent, AuditSource, Finite, IngestReceipt, Labels, LogLine, MetricGroup, MetricSample,
        Severity, Stamp, count_elements, count_samples,
    },
    json::{decode_strict, decode_tolerant, encode},
    release::{Bundle, MessageDigest, MessageSignature, PublicKeyIdentifier, VerificationMaterial},
    text::{Broken, Filled, Identifier, Label, Text},
    timestamp::Timestamp,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde::{Deserialize, Serialize, de::value::StrDeserializer};

use crate::{
    golden::{Part, at, both, golden, parts, written},
    support::seeds_in,
};

/// As `golden::both`, for a type that borrows from the text it is read from.
macro_rules! both_borrowed {
    ($type:ident, $name:literal, $value:expr) => {{
        let value = $value;
        written($name, &value);
        let text = golden($name);
        assert_eq!(decode_strict::<$type<'_>>(text.as_bytes()).as_ref(), Ok(&value), $name);
        assert_eq!(decode_tolerant::<$type<'_>>(text.as_bytes()).as_ref(), Ok(&value), $name);
        for (_, range) in parts(&text).into_iter().filter(|(part, _)| *part == Part::Name) {
            let (before, after) = text.split_at(range.end - 1);
            let misspelled = format!("{before}~{after}");
            let read = decode_strict::<$type<'_>>(misspelled.as_bytes());
            assert_ne!(read.as_ref(), Ok(&value), "{}: {} is not needed", $name, &text[range]);
        }
    }};
}

fn stamp(text: &str) -> Stamp {
    Stamp::new(at(text)).expect("the time is set")
}

fn text(text: &str) -> Text<'_> {
    Text::parse(text).expect("any text")
}

fn name(text: &str) -> Identifier<'_> {
    Identifier::parse(text).expect("a name")
}

fn filled(text: &str) -> Filled<'_> {
    Filled::parse(text).expect("it is not empty")
}

fn label<'t>(name: &'t str, value: &'t str) -> (Label<'t>, Text<'t>) {
    (Label::parse(name).expect("no NUL"), text(value))
}

#[test]
fn metric_sample() {
    let full = MetricSample {
        group: MetricGroup::PeerLatency,
        name: name("rtt_seconds"),
        value: Finite::new(0.0125).unwrap(),
        labels: Labels(vec![label("peer", "peer-1"), label("path", "")]),
        timestamp: stamp("2026-01-15T10:30:00.123456789Z"),
    };
    both_borrowed!(MetricSample, "metric_sample.full", full);
    let required = MetricSample {
        group: MetricGroup::NodeResources,
        name: name("load1"),
        value: Finite::new(-3.5).unwrap(),
        labels: Labels::default(),
        timestamp: stamp("2026-01-15T10:30:00Z"),
    };
    both_borrowed!(MetricSample, "metric_sample.required", required);
}

#[test]
fn log_line() {
    let full = LogLine {
        severity: Severity::Warning,
        unit: Label::parse("sshd.service").ok(),
        hostname: Label::parse("edge-1").ok(),
        message: filled("disk \"a\" is\nalmost full"),
        timestamp: stamp("2026-01-15T10:30:00.5Z"),
    };
    both_borrowed!(LogLine, "log_line.full", full);
    let required = LogLine {
        severity: Severity::Emerg,
        unit: None,
        hostname: None,
        message: filled("panic"),
        timestamp: stamp("2026-01-15T10:30:00Z"),
    };
    both_borrowed!(LogLine, "log_line.required", required);
}

#[test]
fn audit_event() {
    let auditd = AuditEvent {
        source: AuditSource::Auditd,
        action: name("execve"),
        outcome: filled("success"),
        timestamp: stamp("2026-01-15T10:30:00Z"),
    };
    both_borrowed!(AuditEvent, "audit_event.auditd", auditd);
    let k8s = AuditEvent {
        source: AuditSource::K8s,
        action: name("delete"),
        outcome: filled("403"),
        timestamp: stamp("2026-01-15T10:30:00.000001Z"),
    };
    both_borrowed!(AuditEvent, "audit_event.k8s", k8s);
}

#[test]
fn ingest_receipt() {
    let accepted_at = at("2026-01-15T10:30:00.123456789Z");
    both("ingest_receipt.accepted", &IngestReceipt { accepted_at, records: 200 });
}

#[test]
fn release_bundle() {
    let bundle = Bundle {
        media_type: Bundle::MEDIA_TYPE,
        verification_material: VerificationMaterial {
            public_key: PublicKeyIdentifier {
                hint: "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=",
            },
        },
        message_signature: MessageSignature {
            message_digest: MessageDigest {
                algorithm: MessageDigest::SHA2_256,
                digest: "7uItaIyEnEeDmQZVMUAFvhe6ZXCrMonJlE8p2quwxbE=".into(),
            },
            signature: "c2lnbmF0dXJl",
        },
    };
    written("release_bundle.signed", &bundle);
}

#[test]
fn no_type_of_a_record_can_be_built_against_its_rule() {
    assert_eq!(Filled::parse(""), Err(Broken::Empty));
    assert_eq!(Identifier::parse(""), Err(Broken::Empty));
    assert_eq!(Identifier::parse("a\0"), Err(Broken::Nul));
    assert_eq!(Label::parse("\0"), Err(Broken::Nul));
    assert!(Label::parse("").is_ok() && Filled::parse("\0 ").is_ok() && Text::parse("").is_ok());
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Finite::new(value), None);
    }
    assert_eq!(Finite::new(f64::MAX).map(Finite::value), Some(f64::MAX));
    assert_eq!(Stamp::new(Timestamp::ZERO), None);
}

#[test]
fn a_text_is_a_part_of_what_it_was_read_from_unless_it_holds_an_escape() {
    let line = br#"{"source":"k8s","action":"plain","outcome":"esc\u0061ped","timestamp":"2026-01-15T10:30:00Z"}"#;
    let event: AuditEvent<'_> = decode_strict(line).unwrap();
    assert_eq!((event.action.as_str(), event.outcome.as_str()), ("plain", "escaped"));
    let within = |text: &str| line.as_ptr_range().contains(&text.as_ptr());
    assert!(within(event.action.as_str()) && !within(event.outcome.as_str()));
    let passing = StrDeserializer::<serde::de::value::Error>::new("passing");
    assert_eq!(
        Text::deserialize(passing).map(|text| text.as_str().to_owned()),
        Ok("passing".into())
    );
}

#[test]
fn every_severity_group_and_source_has_its_spelling() {
    let severities = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];
    let groups = ["node_resources", "tunnel_health", "peer_latency", "agent_stats"];
    spelled::<Severity>(&severities);
    spelled::<MetricGroup>(&groups);
    spelled::<AuditSource>(&["auditd", "k8s"]);
}

fn spelled<T: for<'t> Deserialize<'t> + Serialize + Debug>(names: &[&str]) {
    for name in names {
        let quoted = format!("\"{name}\"");
        let value: T = decode_strict(quoted.as_bytes()).expect("a known name");
        assert_eq!(encode(&value), quoted.as_bytes());
        assert!(decode_strict::<T>(quoted.to_uppercase().as_bytes()).is_err());
    }
}

#[test]
fn samples_are_counted_only_where_each_is_good_and_elements_wherever_there_are_any() {
    let sample = golden("metric_sample.full");
    let good = format!("[{sample},{sample},{sample}]");
    assert_eq!(count_samples(good.as_bytes()), Ok(3));
    let odd = format!("[{sample},7,{{\"a\":[[]]}}]");
    assert_eq!(count_samples(odd.as_bytes()).unwrap_err().path(), "[1]");
    assert_eq!(count_elements(odd.as_bytes()), Some(3));
    assert_eq!(count_elements(b"[]"), Some(0));
    for none in ["{}", "[1", "[1] 2", "", "null"] {
        assert_eq!(count_elements(none.as_bytes()), None, "{none}");
    }
}

fn time() -> impl Strategy<Value = Stamp> {
    select(vec![
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00.000000001Z",
        "1969-12-31T23:59:59.999999999Z",
        "2026-01-15T10:30:00.12Z",
        "9999-12-31T23:59:59.999999999Z",
    ])
    .prop_map(stamp)
}

fn finite() -> impl Strategy<Value = Finite> {
    any::<f64>().prop_filter_map("a finite number", Finite::new)
}

fn any_filled() -> impl Strategy<Value = Filled<'static>> {
    any::<String>().prop_filter_map("a text", |text| Filled::parse(text).ok())
}

fn any_text() -> impl Strategy<Value = Text<'static>> {
    any::<String>().prop_filter_map("a text", |text| Text::parse(text).ok())
}

fn any_label() -> impl Strategy<Value = Label<'static>> {
    any::<String>().prop_filter_map("a label", |text| Label::parse(text).ok())
}

fn labels() -> impl Strategy<Value = Labels<'static>> {
    vec((any::<String>(), any_text()), 0..5).prop_map(|mut pairs| {
        pairs.sort();
        pairs.dedup_by(|a, b| a.0 == b.0);
        let label = |(name, value)| Some((Label::parse(name).ok()?, value));
        Labels(pairs.into_iter().filter_map(label).collect())
    })
}

proptest! {
    #![proptest_config(seeds_in("ingest"))]

    #[test]
    fn what_an_agent_can_build_the_plane_reads_as_the_same(
        severity in select(vec![Severity::Emerg, Severity::Err, Severity::Debug]),
        unit in option::of(any_label()),
        hostname in option::of(any_label()),
        message in any_filled(),
        outcome in any_filled(),
        name in "[^\0]{1,20}",
        value in finite(),
        labels in labels(),
        timestamp in time(),
    ) {
        let log = LogLine { severity, unit, hostname, message, timestamp };
        let line = encode(&log);
        prop_assert_eq!(decode_strict(&line), Ok(log.clone()));
        prop_assert!(!line.contains(&b'\n'), "a record is one line");
        let action = Identifier::parse(name.clone()).expect("a name");
        let event = AuditEvent { source: AuditSource::K8s, action, outcome, timestamp };
        let line = encode(&event);
        prop_assert_eq!(decode_strict(&line), Ok(event));
        let name = Identifier::parse(name).expect("a name");
        let group = MetricGroup::AgentStats;
        let sample = MetricSample { group, name, value, labels, timestamp };
        let line = encode(&sample);
        prop_assert_eq!(decode_strict(&line), Ok(sample));
    }
}
