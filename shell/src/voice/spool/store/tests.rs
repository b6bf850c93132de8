//! Spools in real folders: killed at any byte, full, damaged, and drained.

use std::{fs, path::Path};

use meshward_core::wire::spool::{frame, read};

use super::{Batch, Spool};

/// What a record of these tests is.
fn text(payload: &[u8]) -> Option<String> {
    read(payload).ok()
}

const LARGE: u64 = 1 << 20;
const ALL: usize = usize::MAX;

fn frames(texts: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in texts {
        assert!(frame(&mut bytes, text));
    }
    bytes
}

fn texts(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| format!("record {number}")).collect()
}

fn append(spool: &mut Spool, texts: &[String]) -> u64 {
    spool.append(&frames(texts), texts.len() as u64).unwrap().dropped
}

fn batch(spool: &mut Spool, most: usize) -> Batch<String> {
    spool.read((most, ALL), text).unwrap()
}

/// Everything that waits, settled batch by batch.
fn drain(spool: &mut Spool, most: usize) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let Batch { records, .. } = batch(spool, most);
        if records.is_empty() {
            return all;
        }
        spool.settle(records.len());
        all.extend(records);
    }
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension() == Some("spool".as_ref()))
        .count()
}

#[test]
fn what_was_appended_comes_back_in_its_order_and_is_gone_once_it_is_settled() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    append(&mut spool, &texts(0..3));
    append(&mut spool, &texts(3..7));
    assert_eq!(spool.waiting(), 7);
    assert_eq!(drain(&mut spool, 2), texts(0..7));
    assert_eq!((spool.waiting(), spool.bytes(), files(folder.path())), (0, 0, 0));
    append(&mut spool, &texts(7..8));
    assert_eq!(drain(&mut spool, 2), texts(7..8));
}

#[test]
fn what_is_not_settled_is_there_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    append(&mut spool, &texts(0..10));
    assert_eq!(batch(&mut spool, 4).records, texts(0..4));
    spool.settle(4);
    assert_eq!(batch(&mut spool, 4).records, texts(4..8));
    drop(spool);
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    assert_eq!(spool.waiting(), 6);
    append(&mut spool, &texts(10..12));
    assert_eq!(drain(&mut spool, 100), texts(4..12));
}

#[test]
fn a_batch_that_is_not_settled_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    append(&mut spool, &texts(0..2));
    assert_eq!(batch(&mut spool, 1).records, texts(0..1));
    assert_eq!(batch(&mut spool, 1).records, texts(0..1));
    assert_eq!(spool.read((9, 1), text).unwrap().records, texts(0..1));
}

#[test]
fn of_a_batch_that_is_settled_in_part_the_rest_is_read_by_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    append(&mut spool, &texts(0..10));
    batch(&mut spool, 8);
    for (settled, waiting) in [(3, 7), (0, 7), (1, 6)] {
        spool.settle(settled);
        assert_eq!(spool.waiting(), waiting);
        let mut killed = Spool::open(folder.path(), LARGE).unwrap();
        let left = usize::try_from(waiting).unwrap();
        assert_eq!(
            (killed.waiting(), batch(&mut killed, 99).records),
            (waiting, texts(10 - left..10))
        );
    }
    // More than was read is not there to be settled.
    spool.settle(99);
    assert_eq!((spool.waiting(), drain(&mut spool, 9)), (2, texts(8..10)));
    spool.settle(1);
    assert_eq!(spool.waiting(), 0);
}

/// As those of another version; they are counted with the damage, once, and gone with the records beside them.
#[test]
fn what_means_nothing_is_passed_over_wherever_it_stands() {
    for unknown in [0..1, 0..2, 1..3, 2..3, 3..5, 0..5] {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), LARGE).unwrap();
        append(&mut spool, &texts(0..5));
        let known = |payload: &[u8]| {
            let record = text(payload)?;
            let is_known = !texts(unknown.clone()).contains(&record);
            is_known.then_some(record)
        };
        let (mut all, mut damaged) = (Vec::new(), 0);
        loop {
            let batch = spool.read((2, ALL), known).unwrap();
            damaged += batch.damaged;
            if batch.records.is_empty() {
                break;
            }
            // Each by itself.
            batch.records.iter().for_each(|_| spool.settle(1));
            all.extend(batch.records);
        }
        let expected = [texts(0..unknown.start), texts(unknown.end..5)].concat();
        assert_eq!((all, damaged), (expected, unknown.len() * "\"record 0\"".len()), "{unknown:?}");
        assert_eq!((spool.waiting(), files(folder.path())), (0, 0), "{unknown:?}");
    }
}

#[test]
fn a_process_that_dies_within_a_write_loses_only_what_it_had_not_finished() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    append(&mut spool, &texts(0..3));
    let path = spool.path(0);
    drop(spool);
    let whole = fs::read(&path).unwrap();
    let each = whole.len() / 3;
    for length in 0..whole.len() {
        let folder = tempfile::tempdir().unwrap();
        let name = path.file_name().unwrap();
        fs::write(folder.path().join(name), &whole[..length]).unwrap();
        let mut spool = Spool::open(folder.path(), LARGE).unwrap();
        append(&mut spool, &texts(9..10));
        let mut expected = texts(0..length / each);
        expected.extend(texts(9..10));
        assert_eq!(drain(&mut spool, 100), expected, "{length}");
    }
}

#[test]
fn a_damaged_byte_costs_one_record_and_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    append(&mut spool, &texts(0..3));
    let path = spool.path(0);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x20;
        fs::write(&path, bytes).unwrap();
        let batch = batch(&mut spool, 100);
        assert_eq!(batch.records.len(), 2, "{at}");
        assert_eq!(batch.damaged, whole.len() / 3, "{at}");
    }
}

#[test]
fn a_file_of_nothing_but_damage_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    append(&mut spool, &texts(0..1));
    let path = spool.path(0);
    drop(spool);
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    append(&mut spool, &texts(1..2));
    fs::write(path, b"garbage").unwrap();
    let read = batch(&mut spool, 9);
    assert_eq!((read.records, read.damaged), (texts(1..2), 7));
    fs::write(folder.path().join("00000000000000000099.spool"), b"garbage").unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    assert_eq!((spool.take_damaged(), spool.take_damaged()), (7, 0));
    assert_eq!(drain(&mut spool, 9), texts(1..2));
}

#[test]
fn a_full_spool_gives_up_its_oldest_file_and_counts_its_records() {
    let folder = tempfile::tempdir().unwrap();
    let max = 64 << 10;
    let mut spool = Spool::open(folder.path(), max).unwrap();
    let long: Vec<String> = (0..100).map(|number| format!("{number:01000}")).collect();
    let mut dropped = 0;
    for text in &long {
        dropped += append(&mut spool, std::slice::from_ref(text));
        assert!(spool.bytes() <= max);
    }
    assert!(dropped > 0);
    let left = drain(&mut spool, 7);
    assert_eq!(left.len() as u64 + dropped, 100);
    assert_eq!(left, long[100 - left.len()..]);
}

#[test]
fn the_file_of_a_batch_under_way_is_not_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 64 << 10).unwrap();
    let long: Vec<String> = (0..100).map(|number| format!("{number:01000}")).collect();
    append(&mut spool, &long[..1]);
    batch(&mut spool, 1);
    let dropped: u64 = long[1..].chunks(1).map(|text| append(&mut spool, text)).sum();
    spool.settle(1);
    assert_eq!(spool.waiting() + dropped + 1, 100);
}

#[test]
fn a_folder_that_cannot_be_written_to_gives_the_records_back() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("spool");
    let mut spool = Spool::open(&inner, LARGE).unwrap();
    fs::remove_dir(&inner).unwrap();
    assert!(spool.append(&frames(&texts(0..1)), 1).is_err());
    assert_eq!(spool.waiting(), 0);
    fs::create_dir(&inner).unwrap();
    append(&mut spool, &texts(1..2));
    assert_eq!(drain(&mut spool, 9), texts(1..2));
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let aim = folder.path().join("aim");
    fs::write(&aim, frames(&texts(0..1))).unwrap();
    let inner = folder.path().join("spool");
    fs::create_dir(&inner).unwrap();
    std::os::unix::fs::symlink(&aim, inner.join("00000000000000000000.spool")).unwrap();
    let mut spool = Spool::open(&inner, LARGE).unwrap();
    assert_eq!((spool.waiting(), drain(&mut spool, 9)), (0, texts(0..0)));
    assert!(inner.join("00000000000000000000.unread").is_symlink());
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_put_aside_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    let long: Vec<String> = (0..3).map(|_| "x".repeat(200 << 10)).collect();
    long.chunks(1).for_each(|text| {
        append(&mut spool, text);
    });
    assert_eq!(files(folder.path()), 3);
    let broken = |number: u64| {
        let path = folder.path().join(format!("{number:020}.spool"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(path).unwrap();
    };
    broken(0);
    let read = batch(&mut spool, 9);
    assert_eq!((read.records, spool.waiting()), (long[1..2].to_vec(), 2));
    assert!(read.damaged > 200 << 10, "{}", read.damaged);
    broken(1);
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    assert_eq!(spool.waiting(), 1);
    assert!(spool.take_damaged() > 0);
    assert_eq!(drain(&mut spool, 9), long[2..]);
    assert_eq!(files(folder.path()), 0);
}

#[test]
fn a_place_that_cannot_be_kept_stops_nothing_and_costs_no_later_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    append(&mut spool, &texts(0..4));
    batch(&mut spool, 2);
    spool.settle(2);
    // From now on nothing can be written there, as on a full disk.
    fs::create_dir(folder.path().join("place.next")).unwrap();
    assert_eq!(drain(&mut spool, 1), texts(2..4));
    assert_eq!(files(folder.path()), 0, "what is done with makes room");
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    append(&mut spool, &texts(4..7));
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    assert_eq!(drain(&mut spool, 1), texts(4..7));
}

#[test]
fn what_is_more_than_the_limit_gives_up_its_oldest_and_files_are_read_whatever_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), LARGE).unwrap();
    let long = |number: usize| format!("{number} {}", "x".repeat(30 << 10));
    let all: Vec<String> = (0..100).map(long).collect();
    let dropped: u64 = all.chunks(3).map(|three| append(&mut spool, three)).sum();
    let dropped = usize::try_from(dropped).unwrap();
    assert!((65..=71).contains(&dropped), "{dropped}");
    assert!(spool.bytes() <= LARGE && spool.waiting() == 100 - dropped as u64 && spool.is_full());
    drop(spool);
    let mut spool = Spool::open(folder.path(), LARGE / 4).unwrap();
    assert_eq!(spool.waiting(), 100 - dropped as u64, "the limit was more");
    let read = batch(&mut spool, 1);
    assert_eq!((read.records, read.damaged), (vec![long(dropped)], 0));
    let given_up = usize::try_from(append(&mut spool, &texts(0..1))).unwrap();
    let left = drain(&mut spool, 100);
    assert_eq!(left.len(), 100 - dropped - given_up + 1);
    assert_eq!(left[0], all[dropped], "the file of a batch stays");
    assert_eq!(left[left.len() - 1..], texts(0..1));
    assert!(!spool.is_full());
}
