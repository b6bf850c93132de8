//! The records that a pipeline holds, in the order in which they came, each with a number that is never given twice but to
//! the parts of a point that was split.

use alloc::{
    collections::{VecDeque, vec_deque},
    vec::Vec,
};

use crate::{
    agent::facts::Records,
    wire::{
        record::{AuditEntry, AuditOrigin, LogEntry, MetricPoint, Reading, TEXT_MAX},
        sources::k8s::LINE_MAX,
    },
};

/// How much a pipeline holds, in bytes; "twice the batch size" of records is the other limit.
pub const BUFFER_BYTES_MAX: usize = 8 << 20;

/// More than any record takes whose texts are cut where they are to be, in bytes; what else an event holds is beside it.
pub const RECORD_BYTES_MAX: usize = TEXT_MAX + (2 << 10);

/// How many bytes so many records of the longest take, to which sources keep whose records may be longer.
pub const fn bytes_of(records: usize) -> usize {
    records.saturating_mul(RECORD_BYTES_MAX)
}

/// How many records of the longest there is room for, with so many bytes taken. As much as an event of a Kubernetes API
/// server may have beside its text stays free, so that the last one of a round makes no other give way.
pub(super) const fn room_beside(bytes: usize) -> usize {
    (BUFFER_BYTES_MAX - 2 * LINE_MAX).saturating_sub(bytes) / RECORD_BYTES_MAX
}

/// A record of any pipeline.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Record {
    Point(MetricPoint),
    Line(LogEntry),
    Event(AuditEntry),
}

/// What is no number is left out where a record is made.
impl Eq for Record {}

impl Record {
    /// About what it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Point(point) => {
                    point.peer_id.as_ref().map_or(0, |id| id.len())
                        + point.data.len() * size_of::<(Reading, f64)>()
                }
                Self::Line(line) => line.message.len(),
                Self::Event(event) => event.text_bytes(),
            }
    }

    pub(super) const fn point(&self) -> Option<&MetricPoint> {
        match self {
            Self::Point(point) => Some(point),
            Self::Line(_) | Self::Event(_) => None,
        }
    }

    pub(super) const fn line(&self) -> Option<&LogEntry> {
        match self {
            Self::Line(line) => Some(line),
            Self::Point(_) | Self::Event(_) => None,
        }
    }

    pub(super) const fn event(&self) -> Option<&AuditEntry> {
        match self {
            Self::Event(event) => Some(event),
            Self::Point(_) | Self::Line(_) => None,
        }
    }

    /// Takes half of the samples out of a point that has several.
    fn halved(&mut self) -> Option<Self> {
        let Self::Point(point) = self else { return None };
        let samples = point.data.iter().enumerate().filter(|(_, (_, value))| value.is_finite());
        let (second, _) = samples.clone().nth(samples.count().div_ceil(2))?;
        let data = point.data.split_off(second);
        let (timestamp, group) = (point.timestamp, point.group);
        Some(Self::Point(MetricPoint { timestamp, group, peer_id: point.peer_id.clone(), data }))
    }

    /// Whether the control plane has no word for it.
    pub(super) fn is_local_only(&self) -> bool {
        match self {
            Self::Event(event) => event.source == AuditOrigin::Process,
            Self::Point(_) | Self::Line(_) => false,
        }
    }
}

/// Each of the records by itself.
pub(super) fn each(records: Records) -> Vec<Record> {
    match records {
        Records::Points(points) => points.into_iter().map(Record::Point).collect(),
        Records::Lines(lines) => lines.into_iter().map(Record::Line).collect(),
        Records::Events(events) => events.into_iter().map(Record::Event).collect(),
    }
}

/// Records of one kind, which those of one pipeline are.
pub(super) fn together(records: Vec<Record>) -> Records {
    let (mut points, mut lines, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for record in records {
        match record {
            Record::Point(point) => points.push(point),
            Record::Line(line) => lines.push(line),
            Record::Event(event) => events.push(event),
        }
    }
    match (points.is_empty(), lines.is_empty()) {
        (false, _) => Records::Points(points),
        (true, false) => Records::Lines(lines),
        (true, true) => Records::Events(events),
    }
}

/// A record with its number and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) number: u64,
    bytes: usize,
    /// It may have been collected before what stands in front of it.
    is_older: bool,
    pub(super) record: Record,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Buffer {
    held: VecDeque<Held>,
    /// What those take that are held, and those that are taken out.
    bytes: usize,
    /// Taken out, and neither put back nor let go yet.
    taken: usize,
    /// The number of the next record.
    next: u64,
}

impl Buffer {
    pub(super) fn push(&mut self, record: Record) {
        let held = Held { number: self.next, bytes: record.bytes(), is_older: false, record };
        self.bytes += held.bytes;
        self.next += 1;
        self.held.push_back(held);
    }

    /// The same for records that may have been collected before those that are held; they are in order among themselves.
    pub(super) fn push_older(&mut self, records: Vec<Record>) {
        let begin = self.held.len();
        records.into_iter().for_each(|record| self.push(record));
        if let Some(first) = self.held.get_mut(begin) {
            first.is_older = true;
        }
    }

    /// How many of those that wait from this number on are in the order in which they were collected.
    pub(super) fn in_order(&self, number: u64) -> usize {
        let mut waiting = self.from(number);
        waiting.next().map_or(0, |_| 1 + waiting.take_while(|held| !held.is_older).count())
    }

    /// Takes the first records out, to be given back by [`Buffer::put_back`] or [`Buffer::let_go`].
    pub(super) fn take(&mut self, count: usize) -> Vec<Held> {
        self.taken += count.min(self.held.len());
        self.held.drain(..count.min(self.held.len())).collect()
    }

    pub(super) fn put_back(&mut self, records: Vec<Held>) {
        self.taken -= records.len();
        for held in records.into_iter().rev() {
            self.held.push_front(held);
        }
    }

    /// Makes two of one of these that are taken out, where it is a point of several samples, and tells whether it was. Both
    /// have its number.
    pub(super) fn split(&mut self, records: &mut Vec<Held>, at: usize) -> bool {
        let Some(first) = records.get_mut(at) else { return false };
        let Some(record) = first.record.halved() else { return false };
        let number = first.number;
        let second = Held { number, bytes: record.bytes(), is_older: false, record };
        self.bytes -= first.bytes;
        first.bytes = first.record.bytes();
        self.bytes += first.bytes + second.bytes;
        self.taken += 1;
        records.insert(at + 1, second);
        true
    }

    pub(super) fn let_go(&mut self, records: &[Held]) {
        self.taken -= records.len();
        self.bytes -= records.iter().map(|held| held.bytes).sum::<usize>();
    }

    /// How many of the oldest are too many, with so many records allowed; those that are taken out stay.
    pub(super) fn excess(&self, records_max: usize) -> usize {
        let by_count = self.records().saturating_sub(records_max);
        let mut bytes = self.bytes;
        let is_over = |held: &&Held| {
            let over = bytes > BUFFER_BYTES_MAX;
            bytes -= held.bytes;
            over
        };
        let by_bytes = self.held.iter().take_while(is_over).count();
        by_count.max(by_bytes).min(self.held.len())
    }

    /// How many more records there is room for, however large they are.
    pub(super) fn room(&self, records_max: usize) -> usize {
        records_max.saturating_sub(self.records()).min(room_beside(self.bytes))
    }

    /// How many of these there is room for, the first ones first.
    pub(super) fn fitting(&self, records: &[Record], records_max: usize) -> usize {
        let mut bytes = self.bytes;
        let fits = |record: &&Record| {
            bytes = bytes.saturating_add(record.bytes());
            bytes <= BUFFER_BYTES_MAX
        };
        let room = records_max.saturating_sub(self.records());
        records.iter().take(room).take_while(fits).count()
    }

    /// How many are held, those included that are taken out.
    pub(super) fn records(&self) -> usize {
        self.held.len() + self.taken
    }

    /// How many can be taken.
    pub(super) fn waiting(&self) -> usize {
        self.held.len()
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn iter(&self) -> vec_deque::Iter<'_, Held> {
        self.held.iter()
    }

    /// Those from this number on.
    pub(super) fn from(&self, number: u64) -> vec_deque::Iter<'_, Held> {
        self.held.range(self.held.partition_point(|held| held.number < number)..)
    }

    /// The number of the oldest that can be taken, or the next one.
    pub(super) fn first(&self) -> u64 {
        self.held.front().map_or(self.next, |held| held.number)
    }

    /// The number of the next record.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }
}
