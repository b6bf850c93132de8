//! Records as the control plane takes them, written straight into a buffer: nothing is allocated for any of them.
//!
//! What the control plane would refuse is left out, since it refuses a whole batch for one record.
//!
//! | Record | Becomes | Left out |
//! |---|---|---|
//! | [`MetricPoint`] | one sample for each number | a number that is not finite, alone |
//! | [`LogEntry`] | one line; an empty unit or hostname is absent | without a message |
//! | [`AuditEntry`] | one line with source, action, outcome and timestamp | of this agent itself, without an action or a result |
//! | any of them | | whose timestamp is the one that stands for "not set" |
//!
//! A NUL in a name is written as U+FFFD.
//!
//! Specification: "Agent-side conversion rules for ingest"; `decisions.md` section 7 (NUL, Zero timestamp).

use alloc::vec::Vec;
use core::ops::Range;

use super::super::{
    json::{number, quote},
    record::{AuditEntry, AuditOrigin, LogEntry, MetricPoint, Outcome, PointGroup},
    timestamp::Timestamp,
};

/// A record that becomes so many records of the control plane.
pub trait Outgoing {
    /// How many records of it are sent; none where it is left out.
    fn sent(&self) -> usize;
}

/// How many records are sent of this one.
pub fn sent_of(record: &impl Outgoing) -> usize {
    record.sent()
}

impl Outgoing for MetricPoint {
    fn sent(&self) -> usize {
        match self.timestamp.is_zero() {
            true => 0,
            false => self.data.iter().filter(|(_, value)| value.is_finite()).count(),
        }
    }
}

impl Outgoing for LogEntry {
    fn sent(&self) -> usize {
        usize::from(!self.message.is_empty() && !self.timestamp.is_zero())
    }
}

impl Outgoing for AuditEntry {
    fn sent(&self) -> usize {
        usize::from(event_parts(self).is_some())
    }
}

/// Writes the samples of the points as one JSON array and tells how many they are; where there are none, nothing is written.
pub fn samples<'r>(into: &mut Vec<u8>, points: impl IntoIterator<Item = &'r MetricPoint>) -> usize {
    let begun = into.len();
    into.push(b'[');
    let count = points.into_iter().map(|one| point(into, one)).sum();
    into.pop();
    match count {
        0 => into.truncate(begun),
        _ => into.push(b']'),
    }
    count
}

/// Writes one line for each entry that is sent and tells how many they are.
pub fn lines<'r>(into: &mut Vec<u8>, entries: impl IntoIterator<Item = &'r LogEntry>) -> usize {
    entries.into_iter().map(|entry| line(into, entry)).sum()
}

/// Writes one line for each entry that is sent and tells how many they are.
pub fn events<'r>(into: &mut Vec<u8>, entries: impl IntoIterator<Item = &'r AuditEntry>) -> usize {
    entries.into_iter().map(|entry| event(into, entry)).sum()
}

/// Writes each sample with a comma behind it.
fn point(into: &mut Vec<u8>, point: &MetricPoint) -> usize {
    if point.timestamp.is_zero() {
        return 0;
    }
    let (mut count, mut shared) = (0, None::<Range<usize>>);
    for (reading, value) in &point.data {
        let begun = into.len();
        into.extend_from_slice(head(point.group));
        into.extend_from_slice(reading.name().as_bytes());
        into.extend_from_slice(b"\",\"value\":");
        if !number(into, *value) {
            into.truncate(begun);
            continue;
        }
        match &shared {
            Some(tail) => into.extend_from_within(tail.clone()),
            None => shared = Some(tail(into, point)),
        }
        count += 1;
    }
    count
}

/// A sample of this group up to its name.
const fn head(group: PointGroup) -> &'static [u8] {
    match group {
        PointGroup::System => br#"{"group":"node_resources","name":""#,
        PointGroup::Tunnel => br#"{"group":"tunnel_health","name":""#,
        PointGroup::Latency => br#"{"group":"peer_latency","name":""#,
        PointGroup::Agent => br#"{"group":"agent_stats","name":""#,
    }
}

/// Writes what all samples of a point end with, and tells where it stands.
fn tail(into: &mut Vec<u8>, point: &MetricPoint) -> Range<usize> {
    let begun = into.len();
    if let Some(peer) = labelled(point) {
        into.extend_from_slice(br#","labels":{"peer_id":"#);
        quote(into, peer);
        into.push(b'}');
    }
    stamped(into, point.timestamp);
    into.push(b',');
    begun..into.len()
}

fn labelled(point: &MetricPoint) -> Option<&str> {
    match point.group {
        PointGroup::Tunnel | PointGroup::Latency => point.peer_id.as_deref(),
        PointGroup::System | PointGroup::Agent => None,
    }
}

fn line(into: &mut Vec<u8>, entry: &LogEntry) -> usize {
    let sent = entry.sent();
    if sent == 0 {
        return 0;
    }
    into.extend_from_slice(br#"{"severity":""#);
    into.extend_from_slice(entry.severity.name().as_bytes());
    into.push(b'"');
    for (member, text) in
        [(&br#","unit":"#[..], &entry.unit), (&br#","hostname":"#[..], &entry.hostname)]
    {
        if !text.is_empty() {
            into.extend_from_slice(member);
            name(into, text);
        }
    }
    into.extend_from_slice(br#","message":"#);
    quote(into, &entry.message);
    stamped(into, entry.timestamp);
    into.push(b'\n');
    sent
}

fn event(into: &mut Vec<u8>, entry: &AuditEntry) -> usize {
    let Some((head, outcome)) = event_parts(entry) else { return 0 };
    into.extend_from_slice(head);
    name(into, &entry.action);
    into.extend_from_slice(outcome);
    stamped(into, entry.timestamp);
    into.push(b'\n');
    1
}

/// What stands around the action; `None` of an entry that is not sent.
fn event_parts(entry: &AuditEntry) -> Option<(&'static [u8], &'static [u8])> {
    if entry.action.is_empty() || entry.timestamp.is_zero() {
        return None;
    }
    let head: &[u8] = match entry.source {
        AuditOrigin::Auditd => br#"{"source":"auditd","action":"#,
        AuditOrigin::K8sAudit => br#"{"source":"k8s","action":"#,
        AuditOrigin::Process => return None,
    };
    let outcome: &[u8] = match entry.result? {
        Outcome::Success => br#","outcome":"success""#,
        Outcome::Failure => br#","outcome":"failure""#,
    };
    Some((head, outcome))
}

/// Writes the last member of a record and its end.
fn stamped(into: &mut Vec<u8>, at: Timestamp) {
    into.extend_from_slice(br#","timestamp":""#);
    at.write(into);
    into.extend_from_slice(b"\"}");
}

/// Writes a text that may hold no NUL.
fn name(into: &mut Vec<u8>, text: &str) {
    match text.contains('\0') {
        true => quote(into, &text.replace('\0', "\u{fffd}")),
        false => quote(into, text),
    }
}
