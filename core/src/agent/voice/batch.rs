//! Records as they are sent: converted, those left out that the control plane could not take.
//!
//! | Record | Left out where |
//! |---|---|
//! | a point | it has no finite number; a number that is none is left out alone |
//! | a line | its message is empty |
//! | an event | it is of this process, has no action or no result, or the action holds NUL |
//! | any | its time is not set |
//!
//! Specification: "Agent-side conversion rules for ingest" and "Ingest records".

use alloc::{vec, vec::Vec};

use super::buffer::Record;
use crate::{
    agent::facts::Pipe,
    wire::{
        delivery::{self, Entry, Line, Point},
        ingest::{
            AuditEvent, AuditSource, Finite, Labels, LogLine, MetricGroup, MetricSample, Stamp,
        },
        json,
        record::{AuditEntry, AuditOrigin, LogEntry, MetricPoint, PointGroup},
        text::{Filled, Identifier, Label, Text},
    },
};

/// The longest body of a batch, in bytes, before it is compressed.
pub const CHUNK_BYTES_MAX: usize = 4 << 20;

/// "Ingest gzip threshold: bodies over 1 KiB"
pub const GZIP_ABOVE: usize = 1 << 10;

/// A batch for the control plane.
pub(super) struct Batch {
    pub(super) body: Vec<u8>,
    /// How many of the records are in it.
    pub(super) survivors: usize,
}

/// Encodes records for the control plane.
pub(super) fn encode<'r>(pipe: Pipe, records: impl Iterator<Item = &'r Record>) -> Batch {
    match pipe {
        Pipe::Metrics => samples(records),
        Pipe::Logs | Pipe::Audit => lines(records),
    }
}

fn samples<'r>(records: impl Iterator<Item = &'r Record>) -> Batch {
    let (mut all, mut survivors) = (Vec::new(), 0);
    for record in records {
        let before = all.len();
        match record {
            Record::Point(point) => all.extend(samples_of(point).into_iter().flatten()),
            Record::Line(_) | Record::Event(_) => {}
        }
        survivors += usize::from(all.len() > before);
    }
    Batch { body: json::encode(&all), survivors }
}

fn samples_of(point: &MetricPoint) -> Option<impl Iterator<Item = MetricSample<'_>>> {
    let timestamp = Stamp::new(point.timestamp)?;
    let labels = match &point.peer_id {
        Some(id) => Labels(vec![(Label::parse("peer_id").ok()?, Text::parse(id.as_str()).ok()?)]),
        None => Labels::default(),
    };
    let group = match point.group {
        PointGroup::System => MetricGroup::NodeResources,
        PointGroup::Tunnel => MetricGroup::TunnelHealth,
        PointGroup::Latency => MetricGroup::PeerLatency,
        PointGroup::Agent => MetricGroup::AgentStats,
    };
    Some(point.data.iter().filter_map(move |(reading, value)| {
        let name = Identifier::parse(delivery::name(*reading)).ok()?;
        let value = Finite::new(*value)?;
        Some(MetricSample { group, name, value, labels: labels.clone(), timestamp })
    }))
}

fn lines<'r>(records: impl Iterator<Item = &'r Record>) -> Batch {
    let (mut body, mut survivors) = (Vec::new(), 0);
    for record in records {
        let line = match record {
            Record::Line(line) => log_line(line).map(|line| json::encode(&line)),
            Record::Event(event) => audit_event(event).map(|event| json::encode(&event)),
            Record::Point(_) => None,
        };
        if let Some(line) = line {
            body.extend_from_slice(&line);
            body.push(b'\n');
            survivors += 1;
        }
    }
    Batch { body, survivors }
}

fn log_line(line: &LogEntry) -> Option<LogLine<'_>> {
    let label =
        |text| Label::parse(text).ok().filter(|label: &Label<'_>| !label.as_str().is_empty());
    Some(LogLine {
        severity: line.severity,
        unit: label(&*line.unit),
        hostname: label(&*line.hostname),
        message: Filled::parse(line.message.as_str()).ok()?,
        timestamp: Stamp::new(line.timestamp)?,
    })
}

fn audit_event(event: &AuditEntry) -> Option<AuditEvent<'_>> {
    let source = match event.source {
        AuditOrigin::Auditd => AuditSource::Auditd,
        AuditOrigin::K8sAudit => AuditSource::K8s,
        AuditOrigin::Process => return None,
    };
    Some(AuditEvent {
        source,
        action: Identifier::parse(event.action.as_str()).ok()?,
        outcome: Filled::parse(delivery::outcome(event.result?)).ok()?,
        timestamp: Stamp::new(event.timestamp)?,
    })
}

/// Encodes records for a local endpoint, all of them.
pub(super) fn encode_local<'r>(records: impl Iterator<Item = &'r Record>) -> Vec<u8> {
    let mut body = vec![b'['];
    for record in records {
        if body.len() > 1 {
            body.push(b',');
        }
        body.extend(match record {
            Record::Point(point) => json::encode(&Point::from(point)),
            Record::Line(line) => json::encode(&Line::from(line)),
            Record::Event(event) => json::encode(&Entry::from(event)),
        });
    }
    body.push(b']');
    body
}
