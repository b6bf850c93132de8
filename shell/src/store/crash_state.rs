//! Every crash point of what is kept below `state/`: promise P7 (a report that was answered for is on the disk, and
//! marked until it was delivered), with the table of reports itself over a disk that forgets.

use std::collections::{BTreeMap, VecDeque};

use meshward_core::{
    agent::{
        Change, Content, Folder, FoundFile, StateFile,
        reports::{Draft, Effect, Input, Reports},
    },
    ids::CallId,
    time::{Now, Wall},
    wire::{
        grammar::{Name, ReportKey},
        json::Raw,
        kept,
    },
};

use super::{
    shadow::{Fate, Shadow},
    shelf::{Most, Shelf},
};

const NO_SPACE: i32 = 28;
const IO_ERROR: i32 = 5;

/// One thing that is done to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Put(&'static str, u32),
    Delete(&'static str),
    /// The control plane has what stands under the key.
    Settle(&'static str),
}

/// What was promised of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Promise {
    /// The last write that was answered for; none is a deletion, or never any write.
    answered: Option<String>,
    /// It was answered for and never told to be delivered.
    unsettled: bool,
    /// What was asked for and not answered with success, and may stand there.
    doubtful: Vec<Option<String>>,
}

type Promises = BTreeMap<ReportKey, Promise>;

#[derive(Debug)]
struct Process {
    reports: Reports,
    shelf: Shelf<Shadow>,
    promises: Promises,
    stopped: bool,
}

fn key(name: &str) -> ReportKey {
    ReportKey::parse(name).expect("a key")
}

fn now() -> Now {
    let wall = Wall::from_origin(std::time::Duration::from_secs(1_800_000_000));
    Now { wall, ..Now::default() }
}

fn draft(value: u32) -> Draft {
    let payload = Raw::parse(&value.to_string()).expect("a number is JSON");
    Draft { content_type: "application/json".to_owned(), payload }
}

fn open(disk: &Shadow) -> Shelf<Shadow> {
    Shelf::open(disk.restarted()).expect("a disk without a fate refuses nothing")
}

/// What a start on this disk has in its table.
fn started(shelf: &mut Shelf<Shadow>) -> Reports {
    let files = shelf.load(Most::REPORTS).expect("a disk without a fate refuses nothing").files;
    let folder = Folder::Report;
    let found = |(name, content)| FoundFile { file: StateFile { folder, name }, content };
    let loaded = Input::Loaded(files.into_iter().map(found).collect());
    let mut step = Reports::default().step(now(), loaded);
    assert_eq!(step.effects, [], "no crash damages a file");
    step = step.state.step(now(), Input::Armed { node: "node".to_owned() });
    step.state
}

fn value(reports: &Reports, key: &ReportKey) -> Option<String> {
    reports.get(key).map(|entry| entry.payload.text().to_owned())
}

fn check(disk: &Shadow, promises: &Promises) {
    let reports = started(&mut open(disk));
    for (key, promise) in promises {
        let found = value(&reports, key);
        let known = found == promise.answered || promise.doubtful.contains(&found);
        assert!(known, "{key:?} is {found:?}, promised {promise:?}");
        let marked = reports.unsynced().contains_key(key.as_str());
        let due = promise.unsettled && found == promise.answered;
        assert!(!due || marked, "{key:?} would never be delivered: {promise:?}");
    }
}

impl Process {
    fn start(disk: &Shadow, promises: &Promises) -> Self {
        let mut shelf = open(disk);
        let reports = started(&mut shelf);
        Self { reports, shelf, promises: promises.clone(), stopped: false }
    }

    /// One move with all that it sets off; tells how many disks were looked at.
    fn act(&mut self, act: Move) -> usize {
        let asker = CallId(1);
        let input = match act {
            Move::Put(name, number) => {
                let promise = self.promises.entry(key(name)).or_default();
                promise.doubtful.push(Some(number.to_string()));
                Input::Put { asker, key: key(name), draft: draft(number), if_match: None }
            }
            Move::Delete(name) => {
                self.promises.entry(key(name)).or_default().doubtful.push(None);
                Input::Delete { asker, key: key(name) }
            }
            Move::Settle(name) => {
                let Some(generation) = self.reports.unsynced().get(name).copied() else {
                    return 0;
                };
                self.promises.entry(key(name)).or_default().unsettled = false;
                Input::Settled { key: Name::from(name), generation }
            }
        };
        let mut inputs = VecDeque::from([input]);
        let mut looked = 0;
        while let Some(input) = inputs.pop_front() {
            let step = std::mem::take(&mut self.reports).step(now(), input);
            self.reports = step.state;
            let answers = step.effects.iter().any(|effect| matches!(effect, Effect::Answer { .. }));
            for effect in step.effects {
                looked += self.perform(effect, answers, &mut inputs);
            }
        }
        looked
    }

    fn perform(&mut self, effect: Effect, answers: bool, inputs: &mut VecDeque<Input>) -> usize {
        match effect {
            Effect::Keep { file, change } => {
                let group = [(file.name.clone(), change)];
                let outcome = self.shelf.carry_out(&group).remove(0);
                self.stopped |= outcome.is_err();
                if answers && outcome.is_ok() {
                    // The file was brought back to what is known, behind a write that was refused.
                    let key = key(&kept::file_key(&file.name).expect("a key's file"));
                    self.promises.entry(key).or_default().doubtful.clear();
                }
                let outcome = outcome.map_err(|fault| fault.to_string());
                inputs.push_back(Input::Kept { file, outcome });
            }
            Effect::Answer { outcome: Ok(_), .. } => self.answered(),
            Effect::Answer { outcome: Err(_), .. } | Effect::Changed(_) | Effect::Tell(_) => {}
        }
        self.check_all()
    }

    /// The one write that is under way is promised now.
    fn answered(&mut self) {
        let reports = &self.reports;
        for (key, promise) in &mut self.promises {
            if promise.doubtful.last() == Some(&value(reports, key)) {
                promise.answered = promise.doubtful.pop().flatten();
                promise.unsettled = true;
                promise.doubtful.clear();
            }
        }
    }

    /// Of what was refused nothing is left.
    fn has_no_doubt(&self) -> bool {
        let mut promises = self.promises.values();
        promises.all(|promise| promise.doubtful.iter().all(|value| *value == promise.answered))
    }

    fn check_all(&mut self) -> usize {
        let disk = self.shelf.disk();
        check(disk, &self.promises);
        let images = disk.images();
        for image in &images {
            check(image, &self.promises);
        }
        let mut successor = open(disk);
        let told = started(&mut successor);
        for image in successor.disk().images() {
            assert_eq!(started(&mut open(&image)), told, "what was told at the start did not last");
        }
        images.len() + 1
    }
}

/// Runs all moves once for each operation that they take, and has that one meet its fate; tells the points and the
/// disks that were looked at.
fn enumerate(moves: &[Move], fate: Fate) -> (usize, usize) {
    let mut whole = Process::start(&Shadow::default(), &Promises::new());
    let opened = whole.shelf.disk().begun;
    for act in moves {
        whole.act(*act);
    }
    let end = whole.shelf.disk().begun;
    let mut looked = 0;
    for point in opened..end {
        let mut process = Process::start(&Shadow::default(), &Promises::new());
        process.shelf.disk().fate = Some((point, fate));
        for act in moves {
            looked += process.act(*act);
            assert!(fate == Fate::Stop || process.has_no_doubt(), "{:?}", process.promises);
            if process.stopped && fate == Fate::Stop {
                break;
            }
        }
        if fate == Fate::Stop {
            looked += resume(&mut process, moves);
        }
    }
    (end - opened, looked)
}

/// After a crash, each disk that may be left takes all moves again.
fn resume(process: &mut Process, moves: &[Move]) -> usize {
    let mut looked = 0;
    for image in process.shelf.disk().images() {
        let mut successor = Process::start(&image, &process.promises);
        for act in moves {
            looked += successor.act(*act);
        }
    }
    looked
}

/// The life of keys: made, changed, delivered, deleted, that delivered, and made again.
const LIFE: [Move; 10] = [
    Move::Put("a", 1),
    Move::Put("a", 2),
    Move::Settle("a"),
    Move::Put("b", 7),
    Move::Put("a", 3),
    Move::Delete("a"),
    Move::Settle("b"),
    Move::Settle("a"),
    Move::Put("a", 4),
    Move::Delete("b"),
];

#[test]
fn a_report_that_was_answered_for_is_on_the_disk_whatever_stops_the_process() {
    let (points, disks) = enumerate(&LIFE, Fate::Stop);
    assert_eq!((points, disks), (47, 12_190), "points of a crash, and disks looked at");
}

#[test]
fn a_report_that_was_refused_by_the_disk_changes_nothing() {
    for code in [NO_SPACE, IO_ERROR] {
        let (points, disks) = enumerate(&LIFE, Fate::Fail(code));
        assert_eq!((points, disks), (47, 3_872), "points of a failure, and disks looked at");
    }
}

/// Each of several files is the old or the new one, and all are new when the group has been carried out.
#[test]
fn a_group_of_changes_is_durable_together_and_each_is_whole_at_any_time() {
    let write = |text: &str| Change::Write(Content(text.into()));
    let group = [
        ("a.json".to_owned(), write("new a")),
        ("b.json".to_owned(), write("new b")),
        ("c.json".to_owned(), Change::Remove),
        ("d.json".to_owned(), Change::Rename("d.json.damaged-now".to_owned())),
    ];
    let mut start = Shadow::default();
    for name in ["a", "c", "d"] {
        start.plant(&format!("{name}.json"), format!("old {name}").as_bytes());
    }
    let allowed: [(&str, &[Option<&str>]); 5] = [
        ("a.json", &[Some("old a"), Some("new a")]),
        ("b.json", &[None, Some("new b")]),
        ("c.json", &[Some("old c"), None]),
        ("d.json", &[Some("old d"), None]),
        ("d.json.damaged-now", &[None, Some("old d")]),
    ];
    let opened = open(&start).disk().begun;
    let end = {
        let mut shelf = open(&start);
        assert!(shelf.carry_out(&group).iter().all(Result::is_ok));
        for (name, states) in allowed {
            let content = shelf.disk().images().remove(0);
            let content =
                content.content(name).map(|bytes| std::str::from_utf8(bytes).unwrap_or(""));
            assert_eq!(content, states[1], "{name}");
        }
        shelf.disk().begun
    };
    for point in opened..=end {
        let mut shelf = open(&start);
        shelf.disk().fate = Some((point, Fate::Stop));
        let outcomes = shelf.carry_out(&group);
        assert_eq!(outcomes.iter().all(Result::is_ok), point == end);
        for image in shelf.disk().images() {
            for (name, states) in allowed {
                let content =
                    image.content(name).map(|bytes| std::str::from_utf8(bytes).unwrap_or(""));
                assert!(states.contains(&content), "{name} is {content:?}");
            }
        }
    }
}

/// One file that the disk refuses keeps none of the others back.
#[test]
fn of_a_group_only_what_the_disk_refuses_fails() {
    let write = |text: &str| Change::Write(Content(text.into()));
    let group = [("a.json".to_owned(), write("a")), ("b.json".to_owned(), write("b"))];
    let mut shelf = open(&Shadow::default());
    let opened = shelf.disk().begun;
    shelf.disk().fate = Some((opened, Fate::Fail(NO_SPACE)));
    let outcomes: Vec<_> = shelf.carry_out(&group).iter().map(Result::is_ok).collect();
    assert_eq!(outcomes, [false, true]);
    assert_eq!(shelf.disk().content("a.json"), None);
    assert_eq!(shelf.disk().content("b.json"), Some(&b"b"[..]));
}
