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

#[cfg(test)]
mod tests {
    use alloc::{string::String, sync::Arc, vec};

    use super::*;
    use crate::wire::{
        ingest::Severity,
        record::{
            AuditEntry, AuditOrigin, LogEntry, LogSource, MetricPoint, Outcome, PointGroup, Reading,
        },
        timestamp::Timestamp,
    };

    fn line(message: String) -> Record {
        Record::Line(LogEntry {
            timestamp: Timestamp::parse("2026-03-01T10:00:00Z").expect("a time"),
            source: LogSource::File,
            unit: Arc::from("u"),
            message,
            severity: Severity::Info,
            hostname: Arc::from("h"),
        })
    }

    fn event(text: &str, raw: &str) -> Record {
        Record::Event(AuditEntry {
            timestamp: Timestamp::parse("2026-03-01T10:00:00Z").expect("a time"),
            source: AuditOrigin::K8sAudit,
            event_type: String::new(),
            subject: json_text(text),
            object: json_text(text),
            action: text.into(),
            result: Some(Outcome::Success),
            hostname: Arc::from("h"),
            raw: raw.into(),
        })
    }

    fn json_text(text: &str) -> String {
        String::from_utf8(crate::wire::json::encode(&text)).expect("text")
    }

    /// What is said of a record's length is never too much, and most of what a long one takes.
    #[test]
    fn a_record_takes_at_least_what_is_said_and_not_much_more() {
        let long = "x".repeat(20_000);
        let quoted = "\u{1}".repeat(5_000);
        let records = [
            (Pipe::Logs, line("m".into())),
            (Pipe::Logs, line(long.clone())),
            (Pipe::Logs, line(quoted.clone())),
            (Pipe::Audit, event("a", "")),
            (Pipe::Audit, event(&long, &quoted)),
            (Pipe::Audit, event("a", &long)),
        ];
        for (pipe, record) in records {
            let whole = encode(pipe, [&record].into_iter()).body.len();
            let said = least(&record);
            assert!(said <= whole && whole <= said + 120, "{said} of {whole}: {record:?}");
            let whole = encode_local(pipe, [&record].into_iter()).len();
            let said = least_local(&record);
            assert!(said <= whole && whole <= said + 20_200, "{said} of {whole}: {record:?}");
        }
    }

    #[test]
    fn a_point_takes_at_least_what_is_said_for_each_of_its_readings() {
        let data = vec![(Reading::LoadAvg1, 1.0); 12];
        let timestamp = Timestamp::parse("2026-03-01T10:00:00Z").expect("a time");
        let point = MetricPoint { timestamp, group: PointGroup::System, peer_id: None, data };
        let record = Record::Point(point);
        let whole = encode(Pipe::Metrics, [&record].into_iter()).body.len();
        let said = least(&record);
        assert!(said <= whole && whole <= 3 * said, "{said} of {whole}");
    }

    #[test]
    fn no_more_records_are_tried_than_may_fit() {
        let tried_of = |count: usize, message: String| {
            let records = vec![line(message); count];
            tried(records.iter(), count, least)
        };
        assert_eq!(tried_of(100, "x".repeat(100_000)), 25);
        assert_eq!(tried_of(41, "x".repeat(100_000)), 41, "all of them may fit");
        let a_part_of = CHUNK_BYTES_MAX / 64;
        let exact = "x".repeat(a_part_of - least(&line(String::new())));
        assert_eq!(tried_of(64, exact.clone()), 64, "they may fit to the byte");
        assert_eq!(tried_of(64, exact + "x"), 32);
        assert_eq!(tried_of(100, "\u{1}".repeat(20_000)), 25);
        assert_eq!(tried_of(2, "x".repeat(CHUNK_BYTES_MAX)), 1);
        assert_eq!(tried_of(1, "x".repeat(2 * CHUNK_BYTES_MAX)), 1);
        assert_eq!((tried_of(200, "x".into()), tried_of(0, "x".into())), (200, 0));
    }
}
