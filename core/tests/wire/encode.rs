//! Records written by hand are what the strict readers take, with the same values, and what the usual encoder writes.

use std::sync::Arc;

use meshward_core::{
    plane::ingest::read,
    wire::{
        call::Sink,
        http::Body,
        ingest::{
            AuditEvent, AuditSource, Finite, Labels, LogLine, MetricGroup, MetricSample, Severity,
            Stamp,
            encode::{self, sent_of},
        },
        json::{DEPTH_MAX, Raw, decode_strict, encode as usual, number},
        record::{
            self, AuditEntry, AuditOrigin, LogEntry, LogSource, MetricPoint, Outcome, PointGroup,
            Reading,
        },
        text::{Filled, Identifier, Label, Text},
        timestamp::Timestamp,
    },
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

use crate::{golden::at, support::seeds_in};

const GROUPS: [(PointGroup, MetricGroup, &str); 4] = [
    (PointGroup::System, MetricGroup::NodeResources, "system"),
    (PointGroup::Tunnel, MetricGroup::TunnelHealth, "tunnel"),
    (PointGroup::Latency, MetricGroup::PeerLatency, "latency"),
    (PointGroup::Agent, MetricGroup::AgentStats, "agent"),
];

fn point(group: PointGroup, data: Vec<(Reading, f64)>) -> MetricPoint {
    MetricPoint { timestamp: at("2026-01-15T10:30:00.5Z"), group, peer_id: None, data }
}

fn line(message: &str) -> LogEntry {
    LogEntry {
        timestamp: at("2026-01-15T10:30:00Z"),
        source: LogSource::Journald,
        unit: "sshd.service".into(),
        message: message.to_owned(),
        severity: Severity::Warning,
        hostname: "edge-1".into(),
    }
}

fn event(source: AuditOrigin) -> AuditEntry {
    AuditEntry {
        timestamp: at("2026-01-15T10:30:00.000001Z"),
        source,
        event_type: "SYSCALL".to_owned(),
        subject: r#"{"uid":0}"#.to_owned(),
        object: r#""ns/pods/a""#.to_owned(),
        action: "execve".to_owned(),
        result: Some(Outcome::Failure),
        hostname: "edge-1".into(),
        raw: "a \"b\"\n".to_owned(),
    }
}

/// What a writer writes, as text, with the number that it tells.
fn written(write: impl Fn(&mut Vec<u8>) -> usize) -> (usize, String) {
    let mut bytes = b"before".to_vec();
    let count = write(&mut bytes);
    let text = String::from_utf8(bytes).expect("it is text");
    (count, text.strip_prefix("before").expect("nothing in front is touched").to_owned())
}

#[test]
fn each_number_is_one_sample_with_the_time_of_its_point_and_the_label_that_the_table_names() {
    let data =
        vec![(Reading::RxBytes, 1e15), (Reading::TxBytes, f64::NAN), (Reading::RttSeconds, 0.25)];
    for (group, name, labels) in [
        (PointGroup::System, "node_resources", ""),
        (PointGroup::Tunnel, "tunnel_health", r#","labels":{"peer_id":"p\"1"}"#),
        (PointGroup::Latency, "peer_latency", r#","labels":{"peer_id":"p\"1"}"#),
        (PointGroup::Agent, "agent_stats", ""),
    ] {
        let of = MetricPoint { peer_id: Some("p\"1".to_owned()), ..point(group, data.clone()) };
        let end = format!(r#"{labels},"timestamp":"2026-01-15T10:30:00.5Z"}}"#);
        let sample = |of: &str, value: &str| {
            format!(r#"{{"group":"{name}","name":"{of}","value":{value}{end}"#)
        };
        let both =
            format!("{},{}", sample("rx_bytes", "1000000000000000"), sample("rtt_seconds", "0.25"));
        let expected = (2, format!("[{both}]"));
        assert_eq!(written(|into| encode::samples(into, [&of])), expected);
        assert_eq!(
            written(|into| encode::samples(into, [&of, &of])),
            (4, format!("[{both},{both}]"))
        );
        assert_eq!(sent_of(&of), 2);
    }
}

#[test]
fn every_reading_has_the_name_that_the_table_gives_it() {
    let names = "cpu_usage_percent memory_used_bytes memory_total_bytes disk_used_bytes disk_total_bytes \
                 network_rx_bytes network_tx_bytes load_avg_1 load_avg_5 load_avg_15 rx_bytes tx_bytes \
                 handshake_succeeded handshake_stale packet_loss_percent last_handshake_timestamp_seconds \
                 rtt_seconds goroutine_count heap_alloc_bytes heap_sys_bytes gc_pause_total_ns gc_num_gc \
                 uptime_seconds reconnect_count";
    assert_eq!(Reading::ALL.map(Reading::name).join(" "), names);
}

#[test]
fn points_without_a_number_leave_nothing_behind() {
    let none = [
        point(PointGroup::System, vec![]),
        point(PointGroup::Agent, vec![(Reading::LoadAvg1, f64::INFINITY)]),
        MetricPoint {
            timestamp: Timestamp::ZERO,
            ..point(PointGroup::System, vec![(Reading::LoadAvg1, 1.0)])
        },
    ];
    assert_eq!(written(|into| encode::samples(into, &none)), (0, String::new()));
    assert!(none.iter().all(|point| sent_of(point) == 0));
}

#[test]
fn a_line_says_what_it_has_and_one_without_a_message_or_a_time_is_left_out() {
    let (count, text) = written(|into| encode::lines(into, [&line("a\tb"), &line("")]));
    let expected = r#"{"severity":"warning","unit":"sshd.service","hostname":"edge-1","message":"a\tb","timestamp":"2026-01-15T10:30:00Z"}"#;
    assert_eq!((count, text.as_str()), (1, format!("{expected}\n").as_str()));
    let bare = LogEntry { unit: "".into(), hostname: "".into(), ..line("x") };
    let (_, text) = written(|into| encode::lines(into, [&bare]));
    assert_eq!(
        text,
        "{\"severity\":\"warning\",\"message\":\"x\",\"timestamp\":\"2026-01-15T10:30:00Z\"}\n"
    );
    let unset = LogEntry { timestamp: Timestamp::ZERO, ..line("x") };
    assert_eq!(written(|into| encode::lines(into, [&unset])), (0, String::new()));
    assert_eq!((sent_of(&unset), sent_of(&line("")), sent_of(&bare)), (0, 0, 1));
}

#[test]
fn an_event_is_sent_with_its_source_action_outcome_and_time_alone() {
    let (auditd, k8s) = (event(AuditOrigin::Auditd), event(AuditOrigin::K8sAudit));
    let k8s = AuditEntry { result: Some(Outcome::Success), ..k8s };
    let (count, text) = written(|into| encode::events(into, [&auditd, &k8s]));
    let end = r#""timestamp":"2026-01-15T10:30:00.000001Z"}"#;
    let expected = format!(
        "{}{end}\n{}{end}\n",
        r#"{"source":"auditd","action":"execve","outcome":"failure","#,
        r#"{"source":"k8s","action":"execve","outcome":"success","#,
    );
    assert_eq!((count, text), (2, expected));
}

#[test]
fn an_event_of_this_agent_or_without_action_result_or_time_is_left_out() {
    let auditd = event(AuditOrigin::Auditd);
    for left_out in [
        event(AuditOrigin::Process),
        AuditEntry { action: String::new(), ..auditd.clone() },
        AuditEntry { result: None, ..auditd.clone() },
        AuditEntry { timestamp: Timestamp::ZERO, ..auditd },
    ] {
        assert_eq!(written(|into| encode::events(into, [&left_out])), (0, String::new()));
        assert_eq!(sent_of(&left_out), 0);
    }
}

#[test]
fn a_nul_in_a_name_does_not_cost_the_batch() {
    let entry = LogEntry { unit: "a\0b".into(), hostname: "\0".into(), ..line("c\0d") };
    let (_, text) = written(|into| encode::lines(into, [&entry]));
    let read: LogLine<'_> = decode_strict(text.trim_end().as_bytes()).expect("the plane takes it");
    assert_eq!(read.unit.as_ref().map(Label::as_str), Some("a\u{fffd}b"));
    assert_eq!(read.message.as_str(), "c\0d");
    let entry = AuditEntry { action: "\0".to_owned(), ..event(AuditOrigin::Auditd) };
    let (_, text) = written(|into| encode::events(into, [&entry]));
    let read: AuditEvent<'_> =
        decode_strict(text.trim_end().as_bytes()).expect("the plane takes it");
    assert_eq!(read.action.as_str(), "\u{fffd}");
}

#[test]
fn whole_numbers_have_no_fraction_and_no_exponent_as_far_as_they_fit() {
    for (value, text) in [
        (0.0, "0"),
        (-0.0, "-0.0"),
        (-1.0, "-1"),
        (1e16, "10000000000000000"),
        (9_223_372_036_854_774_784.0, "9223372036854774784"),
        (-9_223_372_036_854_774_784.0, "-9223372036854774784"),
        (1e19, "1e+19"),
        (0.1, "0.1"),
        (5e-324, "5e-324"),
    ] {
        let mut bytes = Vec::new();
        assert!(number(&mut bytes, value));
        assert_eq!(String::from_utf8_lossy(&bytes), text);
    }
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut bytes = Vec::new();
        assert!(!number(&mut bytes, value) && bytes.is_empty());
    }
}

#[test]
fn a_local_endpoint_is_given_everything_as_it_is() {
    let of = MetricPoint {
        peer_id: Some("p1".to_owned()),
        ..point(PointGroup::Tunnel, vec![(Reading::RxBytes, 7.0), (Reading::TxBytes, f64::NAN)])
    };
    let points = [of, point(PointGroup::Agent, vec![])];
    let (count, text) = written(|into| record::encode::points(into, &points));
    let expected = json!([
        {"timestamp": "2026-01-15T10:30:00.5Z", "group": "tunnel", "peer_id": "p1", "data": {"rx_bytes": 7}},
        {"timestamp": "2026-01-15T10:30:00.5Z", "group": "agent", "data": {}},
    ]);
    assert_eq!((count, value(&text)), (2, expected));
    let lines =
        [line(""), LogEntry { source: LogSource::File, unit: "/var/log/x".into(), ..line("m") }];
    let (count, text) = written(|into| record::encode::lines(into, &lines));
    let of = |source: &str, unit: &str, message: &str| {
        json!({"timestamp": "2026-01-15T10:30:00Z", "source": source, "unit": unit, "message": message,
               "severity": "warning", "hostname": "edge-1"})
    };
    let expected = json!([of("journald", "sshd.service", ""), of("file", "/var/log/x", "m")]);
    assert_eq!((count, value(&text)), (2, expected));
    assert_eq!(written(|into| record::encode::lines(into, [])), (0, "[]".to_owned()));
}

#[test]
fn a_local_endpoint_is_given_the_events_of_this_agent_and_an_odd_subject_costs_no_batch() {
    let odd = AuditEntry { subject: "{".to_owned(), result: None, ..event(AuditOrigin::Process) };
    let events = [event(AuditOrigin::Auditd), event(AuditOrigin::K8sAudit), odd];
    let (count, text) = written(|into| record::encode::events(into, &events));
    let of = |source: &str, subject: Value| {
        json!({"timestamp": "2026-01-15T10:30:00.000001Z", "source": source, "event_type": "SYSCALL",
               "subject": subject, "object": "ns/pods/a", "action": "execve", "result": "failure",
               "hostname": "edge-1", "raw": "a \"b\"\n"})
    };
    let mut own = of("process", json!("{"));
    own["result"] = json!("");
    let expected =
        json!([of("auditd", json!({"uid": 0})), of("k8s-audit", json!({"uid": 0})), own]);
    assert_eq!((count, value(&text)), (3, expected));
}

#[test]
fn a_subject_is_nested_as_deep_as_a_reader_of_the_batch_takes_and_no_deeper() {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    for (depth, is_string) in [(DEPTH_MAX - 2, false), (DEPTH_MAX - 1, true)] {
        let entry = AuditEntry { subject: deep(depth), ..event(AuditOrigin::Auditd) };
        let (_, text) = written(|into| record::encode::events(into, [&entry]));
        let read: Vec<Raw> = decode_strict(text.as_bytes()).expect("an array");
        assert_eq!(read[0].text().contains("\"subject\":\"["), is_string, "{depth}");
    }
}

fn value(text: &str) -> Value {
    decode_strict(text.as_bytes()).expect("it is JSON")
}

fn time() -> impl Strategy<Value = Timestamp> {
    select(vec![
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999999Z",
        "2026-01-15T10:30:00.12Z",
        "9999-12-31T23:59:59.999999999Z",
    ])
    .prop_map(at)
}

fn number_strategy() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        any::<i64>().prop_map(|whole| whole as f64),
        select(vec![f64::NAN, f64::INFINITY, -0.0, -1.0, 1e15, 9.1e15, f64::MAX]),
    ]
}

fn a_text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[\0-~]{0,24}", "[a-z/.]{0,40}"]
}

fn any_point() -> impl Strategy<Value = MetricPoint> {
    let data =
        vec((select(Reading::ALL.to_vec()), number_strategy()), 0..6).prop_map(|mut data| {
            data.sort_by_key(|(reading, _)| reading.name());
            data.dedup_by_key(|(reading, _)| *reading);
            data
        });
    (time(), select(GROUPS.to_vec()), option::of(a_text()), data).prop_map(
        |(timestamp, (group, ..), peer_id, data)| MetricPoint { timestamp, group, peer_id, data },
    )
}

fn any_line() -> impl Strategy<Value = LogEntry> {
    let source = select(vec![LogSource::Journald, LogSource::File]);
    (time(), source, a_text(), a_text(), select(Severity::ALL.to_vec()), a_text()).prop_map(
        |(timestamp, source, unit, message, severity, hostname)| LogEntry {
            timestamp,
            source,
            unit: unit.into(),
            message,
            severity,
            hostname: hostname.into(),
        },
    )
}

fn any_event() -> impl Strategy<Value = AuditEntry> {
    let source = select(vec![AuditOrigin::Auditd, AuditOrigin::K8sAudit, AuditOrigin::Process]);
    let result = option::of(select(vec![Outcome::Success, Outcome::Failure]));
    let part = || prop_oneof![a_text(), Just(r#"{"a":[1,"b"]}"#.to_owned())];
    ((time(), source, a_text(), part(), part()), (a_text(), result, a_text(), a_text())).prop_map(
        |((timestamp, source, event_type, subject, object), (action, result, hostname, raw))| {
            let hostname = Arc::from(hostname);
            AuditEntry {
                timestamp,
                source,
                event_type,
                subject,
                object,
                action,
                result,
                hostname,
                raw,
            }
        },
    )
}

fn named(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// The samples of a point, built one by one.
fn built(point: &MetricPoint) -> Vec<MetricSample<'_>> {
    let Some(timestamp) = Stamp::new(point.timestamp) else { return Vec::new() };
    let group = GROUPS.iter().find(|(group, ..)| *group == point.group).expect("all are there").1;
    let is_labelled = matches!(point.group, PointGroup::Tunnel | PointGroup::Latency);
    let label = point.peer_id.as_deref().filter(|_| is_labelled).map(|peer| {
        (Label::parse("peer_id").expect("no NUL"), Text::parse(peer).expect("any text"))
    });
    let labels = Labels(label.into_iter().collect());
    let sample = |(reading, value): &(Reading, f64)| {
        let name = Identifier::parse(reading.name()).expect("a name");
        let value = Finite::new(*value)?;
        Some(MetricSample { group, name, value, labels: labels.clone(), timestamp })
    };
    point.data.iter().filter_map(sample).collect()
}

/// What the usual encoder writes of a line that is sent.
fn usual_line(entry: &LogEntry) -> Option<Vec<u8>> {
    let label = |text: &str| Label::parse(named(text)).ok().filter(|_| !text.is_empty());
    Some(usual(&LogLine {
        severity: entry.severity,
        unit: label(&entry.unit),
        hostname: label(&entry.hostname),
        message: Filled::parse(entry.message.as_str()).ok()?,
        timestamp: Stamp::new(entry.timestamp)?,
    }))
}

/// What the usual encoder writes of an event that is sent.
fn usual_event(entry: &AuditEntry) -> Option<Vec<u8>> {
    let source = match entry.source {
        AuditOrigin::Auditd => AuditSource::Auditd,
        AuditOrigin::K8sAudit => AuditSource::K8s,
        AuditOrigin::Process => return None,
    };
    let outcome = match entry.result? {
        Outcome::Success => "success",
        Outcome::Failure => "failure",
    };
    Some(usual(&AuditEvent {
        source,
        action: Identifier::parse(named(&entry.action)).ok()?,
        outcome: Filled::parse(outcome).ok()?,
        timestamp: Stamp::new(entry.timestamp)?,
    }))
}

/// Lines as they are sent, out of what the usual encoder writes.
fn joined(lines: impl Iterator<Item = Vec<u8>>) -> (usize, Vec<u8>) {
    lines.fold((0, Vec::new()), |(count, mut all), line| {
        all.extend(line);
        all.push(b'\n');
        (count + 1, all)
    })
}

/// What the plane reads of a batch, which is none where there is no record.
fn taken(sink: Sink, bytes: Vec<u8>) -> usize {
    match bytes.is_empty() {
        true => 0,
        false => read(sink, &Body::Whole(bytes)).expect("the plane takes it"),
    }
}

proptest! {
    #![proptest_config(seeds_in("encode"))]

    #[test]
    fn samples_are_read_as_those_that_their_points_hold(points in vec(any_point(), 0..5)) {
        let mut bytes = Vec::new();
        let count = encode::samples(&mut bytes, &points);
        let expected: Vec<MetricSample<'_>> = points.iter().flat_map(built).collect();
        prop_assert_eq!(count, expected.len());
        prop_assert_eq!(count, points.iter().map(sent_of).sum::<usize>());
        prop_assert_eq!(taken(Sink::Metrics, bytes.clone()), count);
        if count > 0 {
            let read: Vec<MetricSample<'_>> = decode_strict(&bytes).expect("the plane takes it");
            let bits = |samples: &[MetricSample<'_>]| -> Vec<u64> {
                samples.iter().map(|sample| sample.value.value().to_bits()).collect()
            };
            prop_assert_eq!(bits(&read), bits(&expected));
            prop_assert_eq!(read, expected);
        }
    }

    #[test]
    fn lines_are_what_the_usual_encoder_writes(entries in vec(any_line(), 0..5)) {
        let mut bytes = Vec::new();
        let count = encode::lines(&mut bytes, &entries);
        prop_assert_eq!((count, bytes.clone()), joined(entries.iter().filter_map(usual_line)));
        prop_assert_eq!(count, entries.iter().map(sent_of).sum::<usize>());
        prop_assert_eq!(taken(Sink::Logs, bytes), count);
    }

    #[test]
    fn events_are_what_the_usual_encoder_writes(entries in vec(any_event(), 0..5)) {
        let mut bytes = Vec::new();
        let count = encode::events(&mut bytes, &entries);
        prop_assert_eq!((count, bytes.clone()), joined(entries.iter().filter_map(usual_event)));
        prop_assert_eq!(count, entries.iter().map(sent_of).sum::<usize>());
        prop_assert_eq!(taken(Sink::Audit, bytes), count);
    }

    #[test]
    fn whatever_is_collected_is_one_array_for_a_local_endpoint(
        points in vec(any_point(), 0..4),
        lines in vec(any_line(), 0..4),
        events in vec(any_event(), 0..4),
    ) {
        let array = |text: &str| value(text).as_array().expect("an array").clone();
        let (count, text) = written(|into| record::encode::points(into, &points));
        prop_assert_eq!((count, array(&text).len()), (points.len(), points.len()));
        let (count, text) = written(|into| record::encode::lines(into, &lines));
        let messages: Vec<Value> = lines.iter().map(|line| line.message.clone().into()).collect();
        prop_assert_eq!(count, lines.len());
        let read: Vec<Value> = array(&text).iter().map(|line| line["message"].clone()).collect();
        prop_assert_eq!(read, messages);
        let (count, text) = written(|into| record::encode::events(into, &events));
        prop_assert_eq!((count, array(&text).len()), (events.len(), events.len()));
    }

    #[test]
    fn a_number_is_read_as_the_same_double(value in number_strategy()) {
        let mut bytes = Vec::new();
        prop_assert_eq!(number(&mut bytes, value), value.is_finite());
        if value.is_finite() {
            let read: Finite = decode_strict(&bytes).expect("a number");
            prop_assert_eq!(read.value().to_bits(), value.to_bits());
        }
    }
}
