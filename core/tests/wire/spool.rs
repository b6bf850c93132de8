//! Records on the disk: each comes back as it was, and a damaged one takes no other with it.

use std::sync::Arc;

use meshward_core::wire::{
    ingest::Severity,
    record::{LogEntry, LogSource, MetricPoint, PointGroup, Reading},
    spool::{
        Found, Frames, HEAD_LEN, MARK, Place, RECORD_MAX, frame, read, segment_name, segment_number,
    },
    timestamp::Timestamp,
};
use proptest::prelude::*;

use crate::support::seeds_in;

fn line(message: &str) -> LogEntry {
    LogEntry {
        timestamp: Timestamp::parse("2026-03-01T10:00:00.25Z").expect("a time"),
        source: LogSource::File,
        unit: Arc::from("/var/log/app.log"),
        message: message.into(),
        severity: Severity::Info,
        hostname: Arc::from("node-1"),
    }
}

fn written(messages: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        assert!(frame(&mut bytes, &line(message)));
    }
    bytes
}

/// The messages that are found, and how many bytes are passed over.
fn found(bytes: &[u8]) -> (Vec<String>, usize) {
    let (mut messages, mut damaged) = (Vec::new(), 0);
    for found in Frames::new(bytes, 0) {
        match found {
            Found::Record { payload, .. } => {
                messages.push(read::<LogEntry>(payload).expect("a whole record").message);
            }
            Found::Damaged { bytes } => damaged += bytes,
        }
    }
    (messages, damaged)
}

#[test]
fn what_is_written_comes_back_in_its_order() {
    let messages = ["first", "", "third \u{0} \u{ff} \"quoted\"\n"];
    let (back, damaged) = found(&written(&messages));
    assert_eq!((back, damaged), (messages.map(str::to_owned).into(), 0));
    assert_eq!(found(b""), (vec![], 0));
}

#[test]
fn a_number_comes_back_to_its_last_bit() {
    let numbers = [0.1 + 0.2, f64::MIN_POSITIVE, -0.0, f64::MAX, 4.9e-324];
    for number in numbers {
        let point = MetricPoint {
            timestamp: Timestamp::parse("2026-03-01T10:00:00Z").expect("a time"),
            group: PointGroup::System,
            peer_id: Some("peer".into()),
            data: vec![(Reading::LoadAvg15, number)],
        };
        let mut bytes = Vec::new();
        assert!(frame(&mut bytes, &point));
        let Some(Found::Record { payload, .. }) = Frames::new(&bytes, 0).next() else {
            panic!("no record");
        };
        let back: MetricPoint = read(payload).expect("a whole record");
        assert_eq!(back.data[0].1.to_bits(), number.to_bits());
        assert_eq!(back, point);
    }
}

#[test]
fn a_damaged_byte_costs_the_record_that_it_is_in_and_no_other() {
    let whole = written(&["one", "two", "three"]);
    let ends: Vec<usize> = Frames::new(&whole, 0)
        .map(|found| match found {
            Found::Record { end, .. } => end,
            Found::Damaged { .. } => panic!("nothing is damaged yet"),
        })
        .collect();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let hit = ends.iter().filter(|end| **end <= at).count();
            let left: Vec<String> = ["one", "two", "three"]
                .iter()
                .enumerate()
                .filter(|(number, _)| *number != hit)
                .map(|(_, message)| (*message).to_owned())
                .collect();
            let begin = if hit == 0 { 0 } else { ends[hit - 1] };
            assert_eq!(found(&bytes), (left, ends[hit] - begin), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn a_write_that_was_cut_off_costs_what_it_had_not_finished() {
    let whole = written(&["one", "two"]);
    let first = written(&["one"]).len();
    for length in 0..whole.len() {
        let (messages, damaged) = found(&whole[..length]);
        let sound = if length >= first { first } else { 0 };
        assert_eq!(messages.len(), usize::from(length >= first), "{length}");
        assert_eq!(damaged, length - sound, "{length}");
    }
}

#[test]
fn a_record_that_is_too_long_is_not_written() {
    let mut bytes = Vec::new();
    assert!(!frame(&mut bytes, &line(&"x".repeat(RECORD_MAX))));
    assert!(bytes.is_empty());
    let quotes = 2;
    assert!(!frame(&mut bytes, &"x".repeat(RECORD_MAX - quotes + 1)));
    assert!(frame(&mut bytes, &"x".repeat(RECORD_MAX - quotes)));
    let longest = Found::Record { payload: &bytes[HEAD_LEN..], end: bytes.len() };
    assert_eq!(Frames::new(&bytes, 0).collect::<Vec<_>>(), [longest]);
}

/// The CRC-32, bit by bit.
fn sum(bytes: &[u8]) -> u32 {
    let bit = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), bit))
}

/// All is right about it but its length.
#[test]
fn a_frame_that_is_longer_than_any_is_none() {
    let payload = vec![b'x'; RECORD_MAX + 1];
    let summed = [&(payload.len() as u32).to_le_bytes()[..], &payload].concat();
    let bytes = [&MARK[..], &sum(&summed).to_le_bytes(), &summed].concat();
    let found: Vec<_> = Frames::new(&bytes, 0).collect();
    assert_eq!(found, [Found::Damaged { bytes: bytes.len() }]);
}

#[test]
fn damage_that_holds_marks_is_told_in_one_piece() {
    let bytes = [&MARK[..], b"torn", &MARK, b"again", &written(&["whole"])].concat();
    let mut found = Frames::new(&bytes, 0);
    assert_eq!(found.next(), Some(Found::Damaged { bytes: 17 }));
    assert!(matches!(found.next(), Some(Found::Record { .. })));
}

#[test]
fn a_length_beyond_the_limit_or_the_file_is_no_frame() {
    for length in [u32::MAX, RECORD_MAX as u32 + 1, 100] {
        let mut bytes = MARK.to_vec();
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&[0; 20]);
        assert_eq!(found(&bytes), (vec![], HEAD_LEN + 20));
    }
}

#[test]
fn a_place_and_a_name_come_back() {
    let place = Place { segment: 7, offset: 4_096 };
    assert_eq!(Place::decode(&place.encode()), Some(place));
    assert_eq!(Place::decode(b"{\"segment\":7}"), None);
    assert_eq!(segment_number(&segment_name(u64::MAX)), Some(u64::MAX));
    for name in ["7.spool", "00000000000000000007", "0000000000000000000x.spool", ".spool"] {
        assert_eq!(segment_number(name), None, "{name}");
    }
}

proptest! {
    #![proptest_config(seeds_in("spool"))]

    /// Garbage between sound frames is passed over, and nothing that is sound is lost.
    #[test]
    fn whatever_lies_between_frames_no_frame_is_lost(
        garbage in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 4),
    ) {
        let mut bytes = garbage[0].clone();
        for (number, between) in garbage[1..].iter().enumerate() {
            bytes.extend(written(&[&number.to_string()]));
            bytes.extend(between);
        }
        let (messages, damaged) = found(&bytes);
        prop_assert_eq!(messages, vec!["0", "1", "2"]);
        prop_assert_eq!(damaged, garbage.iter().map(Vec::len).sum::<usize>());
    }
}
