//! Records as local endpoints are given them: a JSON array of everything that was collected.
//!
//! | Record | Members |
//! |---|---|
//! | [`MetricPoint`] | `timestamp`, `group`, `peer_id` where there is one, `data` as an object of numbers |
//! | [`LogEntry`] | `timestamp`, `source`, `unit`, `message`, `severity`, `hostname` |
//! | [`AuditEntry`] | `timestamp`, `source`, `event_type`, `subject`, `object`, `action`, `result` where there is one, `hostname`, `raw` |
//!
//! A number that is not finite is left out of `data`. A subject or object that is no JSON, or nested too
//! deep for a reader of the batch, is written as a string.
//!
//! Specification: "Internal record shapes (local endpoint delivery)".

use alloc::vec::Vec;

use super::{
    super::{
        json::{Raw, number, quote},
        timestamp::Timestamp,
    },
    AuditEntry, AuditOrigin, LogEntry, LogSource, MetricPoint, Outcome, PointGroup,
};

/// In how much a subject or an object stands: the batch and its record.
const DEPTH: usize = 2;

/// Writes the points as one JSON array and tells how many they are.
pub fn points<'r>(into: &mut Vec<u8>, records: impl IntoIterator<Item = &'r MetricPoint>) -> usize {
    array(into, records, point)
}

/// Writes the lines as one JSON array and tells how many they are.
pub fn lines<'r>(into: &mut Vec<u8>, records: impl IntoIterator<Item = &'r LogEntry>) -> usize {
    array(into, records, line)
}

/// Writes the events as one JSON array and tells how many they are.
pub fn events<'r>(into: &mut Vec<u8>, records: impl IntoIterator<Item = &'r AuditEntry>) -> usize {
    array(into, records, event)
}

fn array<'r, T: 'r>(
    into: &mut Vec<u8>,
    records: impl IntoIterator<Item = &'r T>,
    write: impl Fn(&mut Vec<u8>, &T),
) -> usize {
    into.push(b'[');
    let mut count = 0;
    for record in records {
        if count > 0 {
            into.push(b',');
        }
        write(into, record);
        count += 1;
    }
    into.push(b']');
    count
}

fn point(into: &mut Vec<u8>, point: &MetricPoint) {
    begin(into, point.timestamp);
    into.extend_from_slice(match point.group {
        PointGroup::System => br#","group":"system""#,
        PointGroup::Tunnel => br#","group":"tunnel""#,
        PointGroup::Latency => br#","group":"latency""#,
        PointGroup::Agent => br#","group":"agent""#,
    });
    if let Some(peer) = &point.peer_id {
        text(into, br#","peer_id":"#, peer);
    }
    into.extend_from_slice(br#","data":"#);
    let mut before = b'{';
    for (reading, value) in point.data.iter().filter(|(_, value)| value.is_finite()) {
        into.extend_from_slice(&[before, b'"']);
        into.extend_from_slice(reading.name().as_bytes());
        into.extend_from_slice(b"\":");
        number(into, *value);
        before = b',';
    }
    if before == b'{' {
        into.push(b'{');
    }
    into.extend_from_slice(b"}}");
}

fn line(into: &mut Vec<u8>, entry: &LogEntry) {
    begin(into, entry.timestamp);
    into.extend_from_slice(match entry.source {
        LogSource::Journald => br#","source":"journald""#,
        LogSource::File => br#","source":"file""#,
    });
    text(into, br#","unit":"#, &entry.unit);
    text(into, br#","message":"#, &entry.message);
    text(into, br#","severity":"#, entry.severity.name());
    text(into, br#","hostname":"#, &entry.hostname);
    into.push(b'}');
}

fn event(into: &mut Vec<u8>, entry: &AuditEntry) {
    begin(into, entry.timestamp);
    into.extend_from_slice(match entry.source {
        AuditOrigin::Auditd => br#","source":"auditd""#,
        AuditOrigin::K8sAudit => br#","source":"k8s-audit""#,
        AuditOrigin::Process => br#","source":"process""#,
    });
    text(into, br#","event_type":"#, &entry.event_type);
    json(into, br#","subject":"#, &entry.subject);
    json(into, br#","object":"#, &entry.object);
    text(into, br#","action":"#, &entry.action);
    into.extend_from_slice(match entry.result {
        Some(Outcome::Success) => br#","result":"success""#,
        Some(Outcome::Failure) => br#","result":"failure""#,
        None => br#","result":"""#,
    });
    text(into, br#","hostname":"#, &entry.hostname);
    text(into, br#","raw":"#, &entry.raw);
    into.push(b'}');
}

fn begin(into: &mut Vec<u8>, at: Timestamp) {
    into.extend_from_slice(br#"{"timestamp":""#);
    at.write(into);
    into.push(b'"');
}

fn text(into: &mut Vec<u8>, member: &[u8], value: &str) {
    into.extend_from_slice(member);
    quote(into, value);
}

/// One value that would break the batch must not cost all others.
fn json(into: &mut Vec<u8>, member: &[u8], value: &str) {
    into.extend_from_slice(member);
    match Raw::may_stand(value, DEPTH) {
        true => into.extend_from_slice(value.as_bytes()),
        false => quote(into, value),
    }
}
