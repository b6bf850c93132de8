//! Records of any content: what is written of them is what the control plane takes, all of it.

use arbitrary::{Result, Unstructured};
use meshward_core::{
    plane::ingest::read,
    wire::{
        call::Sink,
        http::Body,
        ingest::{
            RECORDS_MAX, Severity,
            encode::{events, lines, samples, sent_of},
        },
        json::{Raw, decode_strict},
        record::{
            self, AuditEntry, AuditOrigin, LogEntry, LogSource, MetricPoint, Outcome, PointGroup,
            Reading,
        },
        timestamp::Timestamp,
    },
};

/// The most records of one kind.
const EACH_MAX: usize = 16;

/// The bytes are drawn from, record by record.
pub fn encode(bytes: &[u8]) {
    let mut drawn = Unstructured::new(bytes);
    let points = some(&mut drawn, point);
    let entries = some(&mut drawn, line);
    let audited = some(&mut drawn, event);
    let expected = points.iter().map(sent_of).sum();
    taken(Sink::Metrics, expected, |into| samples(into, &points));
    let expected = entries.iter().map(sent_of).sum();
    taken(Sink::Logs, expected, |into| lines(into, &entries));
    let expected = audited.iter().map(sent_of).sum();
    taken(Sink::Audit, expected, |into| events(into, &audited));
    kept(points.len(), |into| record::encode::points(into, &points));
    kept(entries.len(), |into| record::encode::lines(into, &entries));
    kept(audited.len(), |into| record::encode::events(into, &audited));
}

/// The control plane takes what is written, and counts what was expected.
fn taken(sink: Sink, expected: usize, write: impl Fn(&mut Vec<u8>) -> usize) {
    assert!(expected < RECORDS_MAX, "so few are drawn");
    let mut bytes = Vec::new();
    assert_eq!(write(&mut bytes), expected);
    match expected {
        0 => assert!(bytes.is_empty(), "nothing is sent of nothing"),
        count => assert_eq!(read(sink, &Body::Whole(bytes)), Ok(count)),
    }
}

/// A local endpoint is given one array of everything.
fn kept(expected: usize, write: impl Fn(&mut Vec<u8>) -> usize) {
    let mut bytes = Vec::new();
    assert_eq!(write(&mut bytes), expected);
    let records: Vec<Raw> = decode_strict(&bytes).expect("an array");
    assert_eq!(records.len(), expected);
    assert!(records.iter().all(Raw::is_object));
}

fn some<T>(
    drawn: &mut Unstructured<'_>,
    one: impl Fn(&mut Unstructured<'_>) -> Result<T>,
) -> Vec<T> {
    let count = drawn.int_in_range(0..=EACH_MAX).unwrap_or_default();
    (0..count).map_while(|_| one(drawn).ok()).collect()
}

/// Now and then the one that stands for "not set".
fn time(drawn: &mut Unstructured<'_>) -> Result<Timestamp> {
    let texts = [
        "0001-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999999Z",
        "2026-01-15T10:30:00.12Z",
        "9999-12-31T23:59:59.999999999Z",
    ];
    Ok(Timestamp::parse(drawn.choose(&texts)?).expect("it is well spelled"))
}

fn point(drawn: &mut Unstructured<'_>) -> Result<MetricPoint> {
    let groups = [PointGroup::System, PointGroup::Tunnel, PointGroup::Latency, PointGroup::Agent];
    let first = drawn.choose_index(Reading::ALL.len())?;
    let last = drawn.int_in_range(first..=Reading::ALL.len())?;
    let readings = &Reading::ALL[first..last];
    Ok(MetricPoint {
        timestamp: time(drawn)?,
        group: *drawn.choose(&groups)?,
        peer_id: drawn.arbitrary()?,
        data: readings
            .iter()
            .map(|reading| Ok((*reading, drawn.arbitrary()?)))
            .collect::<Result<_>>()?,
    })
}

fn line(drawn: &mut Unstructured<'_>) -> Result<LogEntry> {
    Ok(LogEntry {
        timestamp: time(drawn)?,
        source: *drawn.choose(&[LogSource::Journald, LogSource::File])?,
        severity: *drawn.choose(&Severity::ALL)?,
        unit: drawn.arbitrary::<&str>()?.into(),
        message: drawn.arbitrary()?,
        hostname: drawn.arbitrary::<&str>()?.into(),
    })
}

fn event(drawn: &mut Unstructured<'_>) -> Result<AuditEntry> {
    let sources = [AuditOrigin::Auditd, AuditOrigin::K8sAudit, AuditOrigin::Process];
    Ok(AuditEntry {
        timestamp: time(drawn)?,
        source: *drawn.choose(&sources)?,
        event_type: drawn.arbitrary()?,
        subject: drawn.arbitrary()?,
        object: drawn.arbitrary()?,
        action: drawn.arbitrary()?,
        result: *drawn.choose(&[None, Some(Outcome::Success), Some(Outcome::Failure)])?,
        hostname: drawn.arbitrary::<&str>()?.into(),
        raw: drawn.arbitrary()?,
    })
}
