//! What the kernel and other programs write of a node: whatever it is, it becomes records or nothing.

use core::time::Duration;
use std::sync::Arc;

use meshward_core::{
    time::Mono,
    wire::{
        json::Raw,
        record::{AuditEntry, CUT, TEXT_MAX},
        sources::{
            auditd::{Events, OPEN_MAX, Record},
            k8s,
        },
    },
};

/// How many records come in one second.
const A_SECOND: u64 = 8;

/// The bytes are lines of the log, each of which is taken for a message of the kernel where it is no line.
pub fn auditd(bytes: &[u8]) {
    let mut events = Events::new(Arc::from("node-1"));
    let (mut records, mut entries, mut late) = (0, 0, 0);
    for (place, line) in (0_u64..).zip(bytes.split(|byte| *byte == b'\n')) {
        let now = Mono::from_origin(Duration::from_secs(place / A_SECOND));
        if let Some(record) = Record::of_line(line).or_else(|| message(line)) {
            events.take(&record, place, now);
            records += 1;
        }
        events.ripen(now);
        assert!(events.first().is_none_or(|first| first <= place));
        late += events.take_late();
        while let Some(entry) = events.next_ended() {
            whole(&entry);
            entries += 1;
        }
    }
    events.ripen(Mono::from_origin(Duration::MAX));
    assert!(!events.is_waiting() && events.ended() <= OPEN_MAX);
    while let Some(entry) = events.next_ended() {
        whole(&entry);
        entries += 1;
    }
    assert!(entries + late <= records, "{entries} entries and {late} late of {records} records");
}

/// Two bytes of a type, then a payload.
fn message(line: &[u8]) -> Option<Record<'_>> {
    let (number, payload) = line.split_first_chunk::<2>()?;
    Record::of_message(u16::from_le_bytes(*number), payload)
}

/// A line of the audit log of an API server.
pub fn k8s_audit(bytes: &[u8]) {
    if let Some(entry) = k8s::entry(bytes, &Arc::from("node-1")) {
        whole(&entry);
        assert!(Raw::parse(&entry.object).is_some_and(|json| json.text().starts_with('"')));
    }
}

fn whole(entry: &AuditEntry) {
    assert!(Raw::parse(&entry.subject).is_some_and(|json| json.is_object()), "{}", entry.subject);
    assert!(Raw::parse(&entry.object).is_some(), "{}", entry.object);
    assert!(!entry.event_type.is_empty() && !entry.timestamp.is_zero());
    assert!(entry.raw.len() <= TEXT_MAX + CUT.len());
}
