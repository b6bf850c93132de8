//! The thread of a spool beside a real folder.

use std::{fs, path::Path, sync::Arc};

use meshward_core::{
    time::Wall,
    wire::{
        ingest::Severity,
        record::{LogEntry, LogSource, TEXT_MAX},
        timestamp::Timestamp,
    },
};

use super::*;

fn line(message: &str) -> LogEntry {
    LogEntry {
        timestamp: Timestamp::from(Wall::from_origin(std::time::Duration::from_secs(1 << 30))),
        source: LogSource::File,
        unit: Arc::from("/var/log/app.log"),
        message: message.into(),
        severity: Severity::Info,
        hostname: Arc::from("node-1"),
    }
}

fn lines(numbers: std::ops::Range<usize>, filling: &str) -> Vec<LogEntry> {
    numbers.map(|number| line(&format!("{number} {filling}"))).collect()
}

/// A thread, asked one thing after another.
struct Desk {
    worker: Worker,
    told: mpsc::Receiver<Input>,
}

impl Desk {
    fn at(folder: &Path, max_bytes: u64) -> Self {
        let place = Place { pipe: Pipe::Logs, folder: folder.to_owned(), max_bytes };
        let (facts, told) = mpsc::channel(8);
        Self { worker: Worker::new(place, facts), told }
    }

    /// The same, behind what it says of the folder.
    fn opened(folder: &Path, max_bytes: u64) -> (Self, u64) {
        let mut desk = Self::at(folder, max_bytes);
        let told = desk.ask(SpoolOrder::Open);
        let Spooled::Opened { waiting, damaged: 0, .. } = told else { panic!("{told:?}") };
        (desk, waiting)
    }

    fn ask(&mut self, order: SpoolOrder) -> Spooled {
        assert_eq!(self.worker.order(order), None, "the thread takes it");
        match self.told.blocking_recv() {
            Some(Input::Acted(Acted::Spooled { pipe: Pipe::Logs, spooled })) => *spooled,
            other => panic!("{other:?}"),
        }
    }

    /// What is given up, and what is left over.
    fn append(&mut self, lines: Vec<LogEntry>, gives_way: bool) -> (u64, Vec<LogEntry>) {
        let told = self.ask(SpoolOrder::Append { records: Records::Lines(lines), gives_way });
        let Spooled::Appended { given_up, rest: Records::Lines(rest), .. } = told else {
            panic!("{told:?}")
        };
        (given_up, rest)
    }

    /// All that waits, batch by batch.
    fn drained(&mut self) -> Vec<LogEntry> {
        let mut all = Vec::new();
        loop {
            let told = self.ask(SpoolOrder::Read { most: 50 });
            let Spooled::Read { records: Records::Lines(lines), damaged: 0 } = told else {
                panic!("{told:?}")
            };
            if lines.is_empty() {
                return all;
            }
            let records = lines.len() as u64;
            all.extend(lines);
            assert!(matches!(self.ask(SpoolOrder::Settle { records }), Spooled::Settled { .. }));
        }
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_told_and_opened_once_it_can_be() {
    let base = tempfile::tempdir().unwrap();
    let blocked = base.path().join("spool");
    fs::write(&blocked, "no folder").unwrap();
    let mut desk = Desk::at(&blocked.join("logs"), 1 << 20);
    let Spooled::Failed(reason) = desk.ask(SpoolOrder::Open) else { panic!("it is opened") };
    assert!(reason.contains("spool/logs"), "{reason}");
    let one =
        || SpoolOrder::Append { records: Records::Lines(vec![line("one")]), gives_way: false };
    assert!(matches!(desk.ask(one()), Spooled::Refused { .. }));
    fs::remove_file(&blocked).unwrap();
    let opened = || Spooled::Opened { waiting: 0, is_full: false, damaged: 0 };
    assert_eq!(desk.ask(SpoolOrder::Open), opened());
    fs::remove_dir_all(&blocked).unwrap();
    assert_eq!(desk.append(vec![line("one")], false), (0, Vec::new()), "it is made again");
    assert_eq!(desk.drained(), [line("one")]);
}

/// Found by an attacker: what was brought at once stood in one file, longer than is read of any.
#[test]
fn what_is_brought_at_once_is_kept_in_files_of_the_usual_length() {
    let base = tempfile::tempdir().unwrap();
    let (mut desk, _) = Desk::opened(base.path(), 1 << 30);
    // Each byte takes six on the disk.
    let brought = lines(0..480, &"\u{1}".repeat(TEXT_MAX));
    assert_eq!(desk.append(brought.clone(), false), (0, Vec::new()));
    let longest = fs::read_dir(base.path())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .max()
        .unwrap();
    assert!(longest < 9 << 20, "{longest}");
    let (mut desk, waiting) = Desk::opened(base.path(), 1 << 30);
    assert_eq!(waiting, 480, "another process counts the same");
    assert!(desk.drained() == brought);
}

#[test]
fn what_there_is_no_room_for_comes_back_unless_the_oldest_are_to_give_way() {
    let base = tempfile::tempdir().unwrap();
    let (mut desk, _) = Desk::opened(base.path(), 1 << 20);
    let brought = lines(0..200, &"x".repeat(10_000));
    let (given_up, rest) = desk.append(brought.clone(), false);
    assert_eq!(given_up, 0);
    let kept = brought.len() - rest.len();
    assert!((95..=105).contains(&kept), "a MiB of ten kilobytes each: {kept}");
    assert!(rest == brought[kept..]);
    assert_eq!(desk.append(rest.clone(), false).1.len(), rest.len(), "there is none yet");
    let Spooled::Read { records, .. } = desk.ask(SpoolOrder::Read { most: 20 }) else {
        panic!("nothing is there")
    };
    let read = records.len();
    let settle = SpoolOrder::Settle { records: read as u64 };
    let Spooled::Settled { waiting, .. } = desk.ask(settle) else { panic!("it is not settled") };
    assert_eq!(waiting, (kept - read) as u64);
    let (given_up, rest) = desk.append(rest, false);
    assert!(given_up == 0 && rest.len() < brought.len() - kept, "there is some again");
    let (given_up, left) = desk.append(rest, true);
    assert!(given_up > 0 && left.is_empty());
    let drained = desk.drained();
    assert_eq!(drained.last(), brought.last());
    assert_eq!(read as u64 + given_up + drained.len() as u64, brought.len() as u64);
}
