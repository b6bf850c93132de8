//! What the sources of a node have to tell: records with a number each, by the place at which they stand.
//!
//! It outlives the process. What a record holds is made of its place and its number alone, so that it is known again
//! wherever it turns up.

use std::{sync::Arc, time::Duration};

use meshward_core::{
    agent::{Pipe, Records, Source},
    time::Wall,
    wire::{
        ingest::Severity,
        positions::Position,
        record::{
            AuditEntry, AuditOrigin, LogEntry, LogSource, MetricPoint, Outcome, PointGroup, Reading,
        },
        timestamp::Timestamp,
    },
};

/// What a record is called that nothing between the two lets pass.
pub const HUGE: &str = "huge ";
/// Where the records of a place begin, in seconds; each is a millisecond behind the one before.
const EPOCH: u64 = 1_700_000_000;

/// A place at which records stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub pipe: Pipe,
    pub source: Source,
    pub name: &'static str,
    /// What is not read waits there, and is there for the next process.
    pub waits: bool,
}

const fn place(pipe: Pipe, source: Source, name: &'static str, waits: bool) -> Place {
    Place { pipe, source, name, waits }
}

/// Every place, in the order in which a round asks.
pub const PLACES: [Place; 6] = [
    place(Pipe::Metrics, Source::System, "system", false),
    place(Pipe::Logs, Source::Journald, "journald", true),
    place(Pipe::Logs, Source::Files, "file:/var/log/a.log", true),
    place(Pipe::Logs, Source::Files, "file:/var/log/b.log", true),
    place(Pipe::Audit, Source::Auditd, "auditd", false),
    place(Pipe::Audit, Source::K8sAudit, "k8s-audit:/var/log/audit.log", true),
];

/// A record of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// Of [`PLACES`].
    pub place: usize,
    pub number: usize,
}

/// What is to become of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sound,
    /// It lacks what the control plane demands.
    Void,
    /// A line that the filter keeps back.
    Minor,
    /// Something between the two answers every batch with it by 413.
    Huge,
}

/// Everything that was told on one node.
#[derive(Clone, Debug, Default)]
pub struct Chatter {
    kinds: [Vec<Kind>; PLACES.len()],
    /// How many records are to come of each place at once, and whether one of them is huge.
    ready: [(usize, bool); PLACES.len()],
}

impl Chatter {
    /// So many records stand at a place.
    pub const fn len(&self, place: usize) -> usize {
        self.kinds[place].len()
    }

    /// What a record is; none where there is no such one.
    pub fn kind(&self, id: Id) -> Option<Kind> {
        self.kinds.get(id.place)?.get(id.number).copied()
    }

    pub(crate) fn add(&mut self, place: usize, kind: Kind) {
        self.kinds[place].push(kind);
    }

    /// Records of a pipeline come at once when their sources are asked next.
    pub(crate) fn burst(&mut self, pipe: Pipe, count: usize, huge: bool) {
        for (place, ready) in PLACES.iter().zip(&mut self.ready) {
            if place.pipe == pipe {
                *ready = (ready.0 + count, ready.1 | huge);
            }
        }
    }

    pub(crate) fn take_ready(&mut self, place: usize) -> (usize, bool) {
        std::mem::take(&mut self.ready[place])
    }

    /// Some records of a place as they are collected.
    pub(crate) fn records(&self, place: usize, numbers: std::ops::Range<usize>) -> Records {
        let ids = numbers.map(|number| Id { place, number });
        let all = ids.filter_map(|id| Some((id, self.kind(id)?)));
        match PLACES[place].pipe {
            Pipe::Metrics => Records::Points(all.map(|(id, kind)| point(id, kind)).collect()),
            Pipe::Logs => Records::Lines(all.map(|(id, kind)| line(id, kind)).collect()),
            Pipe::Audit => Records::Events(all.map(|(id, kind)| event(id, kind)).collect()),
        }
    }
}

/// When a record was made.
pub(crate) fn stamp(id: Id) -> Timestamp {
    let at = Duration::from_secs(EPOCH) + Duration::from_millis(id.number as u64);
    Timestamp::from(Wall::from_origin(at))
}

/// Its place and its number, as its text tells them.
pub(crate) fn named(text: &str) -> Option<Id> {
    let (place, number) = text.strip_prefix(HUGE).unwrap_or(text).split_once('.')?;
    Some(Id { place: place.parse().ok()?, number: number.parse().ok()? })
}

fn name(id: Id, kind: Kind) -> String {
    let huge = if kind == Kind::Huge { HUGE } else { "" };
    format!("{huge}{}.{}", id.place, id.number)
}

/// What it measures is its number.
fn point(id: Id, kind: Kind) -> MetricPoint {
    let value = if kind == Kind::Void { f64::NAN } else { id.number as f64 };
    let data = vec![(Reading::CpuUsagePercent, value)];
    MetricPoint { timestamp: stamp(id), group: PointGroup::System, peer_id: None, data }
}

fn line(id: Id, kind: Kind) -> LogEntry {
    let Place { source, name: unit, .. } = PLACES[id.place];
    LogEntry {
        timestamp: stamp(id),
        source: if source == Source::Journald { LogSource::Journald } else { LogSource::File },
        unit: Arc::from(unit),
        message: if kind == Kind::Void { String::new() } else { name(id, kind) },
        severity: if kind == Kind::Minor { Severity::Debug } else { Severity::Notice },
        hostname: Arc::from("sim"),
    }
}

fn event(id: Id, kind: Kind) -> AuditEntry {
    let is_kernel = PLACES[id.place].source == Source::Auditd;
    AuditEntry {
        timestamp: stamp(id),
        source: if is_kernel { AuditOrigin::Auditd } else { AuditOrigin::K8sAudit },
        event_type: "test".to_owned(),
        subject: "{}".to_owned(),
        object: "{}".to_owned(),
        action: name(id, kind),
        result: (kind != Kind::Void).then_some(Outcome::Success),
        hostname: Arc::from("sim"),
        raw: String::new(),
    }
}

/// Where a place goes on behind so many records.
pub(crate) fn position(place: usize, number: usize) -> Position {
    if PLACES[place].source == Source::Journald {
        return Position::Cursor(number.to_string());
    }
    let (inode, offset) = (place as u64, number as u64);
    Position::Offset { device: 1, inode, offset, head_len: 0, head: 0 }
}

/// How many records are in front of a position.
pub(crate) fn number(position: &Position) -> usize {
    match position {
        Position::Cursor(cursor) => cursor.parse().unwrap_or(usize::MAX),
        Position::Offset { offset, .. } => usize::try_from(*offset).unwrap_or(usize::MAX),
    }
}

/// The records that are told of, by what stands in them.
pub(crate) fn ids(records: &Records) -> Vec<Option<Id>> {
    match records {
        Records::Points(points) => points.iter().map(measured).collect(),
        Records::Lines(lines) => lines.iter().map(|line| named(&line.message)).collect(),
        Records::Events(events) => events.iter().map(|event| named(&event.action)).collect(),
    }
}

fn measured(point: &MetricPoint) -> Option<Id> {
    point.data.iter().find_map(|(reading, value)| reads(reading.name(), *value))
}

/// The record that a sample is of.
pub(crate) fn reads(name: &str, value: f64) -> Option<Id> {
    let is_one = name == Reading::CpuUsagePercent.name() && value.is_finite();
    is_one.then_some(Id { place: 0, number: value as usize })
}
