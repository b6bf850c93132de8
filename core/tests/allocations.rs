//! What is done once for each record allocates nothing.

use std::sync::Arc;

use allocation_counter::measure;
use meshward_core::wire::{
    ingest::{Severity, encode},
    record::{
        AuditEntry, AuditOrigin, LogEntry, LogSource, MetricPoint, Outcome, PointGroup, Reading,
    },
    timestamp::Timestamp,
};

const RECORDS: usize = 100;

fn now() -> Timestamp {
    Timestamp::parse("2026-01-15T10:30:00.123456789Z").expect("it is well spelled")
}

fn line(at: usize) -> LogEntry {
    LogEntry {
        timestamp: now(),
        source: LogSource::Journald,
        unit: "sshd.service".into(),
        message: format!("\"{at}\"\t\u{1}"),
        severity: Severity::Info,
        hostname: "edge-1".into(),
    }
}

fn event(at: usize) -> AuditEntry {
    AuditEntry {
        timestamp: now(),
        source: AuditOrigin::Auditd,
        event_type: String::new(),
        subject: String::new(),
        object: String::new(),
        action: format!("action-{at}"),
        result: Some(Outcome::Success),
        hostname: Arc::from(""),
        raw: String::new(),
    }
}

fn point(at: usize) -> MetricPoint {
    let data = Reading::ALL.map(|reading| (reading, at as f64 / 7.0)).to_vec();
    let peer_id = Some(format!("peer-{at}"));
    MetricPoint { timestamp: now(), group: PointGroup::Tunnel, peer_id, data }
}

/// Writes twice into one buffer, the second time counted.
fn steady(write: impl Fn(&mut Vec<u8>) -> usize, records: usize) {
    let mut buffer = Vec::new();
    assert_eq!(write(&mut buffer), records);
    buffer.clear();
    let counted = measure(|| {
        write(&mut buffer);
    });
    assert_eq!(counted.count_total, 0, "{records} records");
}

#[test]
fn the_counter_counts() {
    assert!(measure(|| drop(vec![1_u8; 64])).count_total > 0);
}

#[test]
fn no_record_allocates_where_the_buffer_has_its_size() {
    let lines: Vec<LogEntry> = (0..RECORDS).map(line).collect();
    let events: Vec<AuditEntry> = (0..RECORDS).map(event).collect();
    let points: Vec<MetricPoint> = (0..RECORDS).map(point).collect();
    steady(|into| encode::lines(into, &lines), RECORDS);
    steady(|into| encode::events(into, &events), RECORDS);
    steady(|into| encode::samples(into, &points), RECORDS * Reading::ALL.len());
}
