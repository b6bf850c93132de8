//! Records as they are sent: what of them goes into one body.
//!
//! Specification: "Agent-side conversion rules for ingest" and "Internal record shapes (local endpoint delivery)".

use alloc::vec::Vec;

use super::buffer::Record;
use crate::{
    agent::facts::Pipe,
    wire::{
        ingest::encode::{self, sent_of},
        json::{QUOTED_MAX, quoted_len},
        record::encode as local,
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

/// How many of the first `count` records are tried in one body: half of them, and half again, as long as they are certainly
/// too long for it, so that no body is written that is many times as long as one may be.
pub(super) fn tried<'r>(
    records: impl Iterator<Item = &'r Record> + Clone,
    mut count: usize,
    least: fn(&Record) -> usize,
) -> usize {
    let all =
        |count: usize, of: fn(&Record) -> usize| records.clone().take(count).map(of).sum::<usize>();
    while count > 1
        && all(count, Record::bytes) > CHUNK_BYTES_MAX / QUOTED_MAX
        && all(count, least) > CHUNK_BYTES_MAX
    {
        count /= 2;
    }
    count
}

/// The names of the members of a record, in bytes.
const REST: usize = 60;

/// What a record takes in a body for a local endpoint at the least, in bytes.
pub(super) fn least_local(record: &Record) -> usize {
    match record {
        Record::Event(event) => {
            REST + event.subject.len() + event.object.len() + quoted_len(&event.raw)
        }
        Record::Point(_) | Record::Line(_) => least(record),
    }
}

/// What a record takes in a body for the control plane at the least, in bytes.
pub(super) fn least(record: &Record) -> usize {
    match record {
        Record::Point(point) => point.data.len() * REST,
        Record::Line(line) => REST + quoted_len(&line.message),
        Record::Event(event) => REST + event.action.len(),
    }
}

/// Encodes records for the control plane.
pub(super) fn encode<'r>(pipe: Pipe, records: impl Iterator<Item = &'r Record> + Clone) -> Batch {
    let survivors = records.clone().filter(|record| is_sent(record)).count();
    let mut body = Vec::new();
    match pipe {
        Pipe::Metrics => encode::samples(&mut body, records.filter_map(Record::point)),
        Pipe::Logs => encode::lines(&mut body, records.filter_map(Record::line)),
        Pipe::Audit => encode::events(&mut body, records.filter_map(Record::event)),
    };
    Batch { body, survivors }
}

/// Whether a body holds something of it.
pub(super) fn is_sent(record: &Record) -> bool {
    0 < match record {
        Record::Point(point) => sent_of(point),
        Record::Line(line) => sent_of(line),
        Record::Event(event) => sent_of(event),
    }
}

/// Encodes records for a local endpoint, all of them.
pub(super) fn encode_local<'r>(pipe: Pipe, records: impl Iterator<Item = &'r Record>) -> Vec<u8> {
    let mut body = Vec::new();
    match pipe {
        Pipe::Metrics => local::points(&mut body, records.filter_map(Record::point)),
        Pipe::Logs => local::lines(&mut body, records.filter_map(Record::line)),
        Pipe::Audit => local::events(&mut body, records.filter_map(Record::event)),
    };
    body
}
