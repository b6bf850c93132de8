mod histories;
mod others;
mod rotations;

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::Write as _,
    os::unix::fs::{FileExt as _, chown, lchown, symlink},
    path::PathBuf,
};

use meshward_core::{
    agent::voice::TROUBLES_MAX,
    time::{Mono, Wall},
    wire::{
        positions::{Position, Positions},
        record::{CUT, LogSource, TEXT_MAX},
    },
};
use rustix::io::Errno;
use tempfile::TempDir;

use super::*;

const ROOM: usize = 1000;

/// A folder with logs, and what reads them.
struct Scene {
    folder: TempDir,
    files: Files,
    patterns: Patterns,
    /// What would be in the data directory.
    kept: Positions,
    is_first: bool,
    now: Now,
}

impl Scene {
    fn new(patterns: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = Now { mono: Mono::default(), wall: Wall::from_origin(Duration::from_secs(1)) };
        let (files, own) = Self::files(&folder, patterns);
        Self { folder, files, patterns: own, kept: Positions::default(), is_first: true, now }
    }

    fn texts(folder: &TempDir, patterns: &[&str]) -> Vec<String> {
        let root = folder.path().to_str().unwrap();
        patterns.iter().map(|pattern| format!("{root}/{pattern}")).collect()
    }

    fn files(folder: &TempDir, patterns: &[&str]) -> (Files, Patterns) {
        let patterns = Patterns::new(&Self::texts(folder, patterns));
        (Files::new(patterns.clone(), "node".into()), patterns)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn append(&self, name: &str, text: impl AsRef<[u8]>) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.path(name)).unwrap();
        file.write_all(text.as_ref()).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    /// A round, and the next one where this one tells of files whose lines are yet to come.
    fn feed(&mut self, room: usize) -> Feed {
        let mut feed = self.once(room);
        while feed.more && feed.marks.iter().any(is_begun) {
            let next = self.once(room - feed.records.len());
            let (Records::Lines(lines), Records::Lines(more)) = (&mut feed.records, next.records)
            else {
                panic!("files have lines");
            };
            lines.extend(more);
            (feed.marks, feed.more, feed.troubles) = (next.marks, next.more, next.troubles);
        }
        feed
    }

    fn once(&mut self, room: usize) -> Feed {
        let from = self.is_first.then(|| self.kept.clone());
        self.is_first = false;
        let feed = self.files.round(&Wanted { room, from, peers: Vec::new() }, self.now);
        for (place, position) in &feed.marks {
            match position {
                Some(position) => self.kept.places.insert(place.clone(), position.clone()),
                None => self.kept.places.remove(place),
            };
        }
        feed
    }

    /// The messages of a round that has nothing to complain about.
    fn round(&mut self) -> Vec<String> {
        let feed = self.feed(ROOM);
        assert_eq!(feed.troubles, Vec::<String>::new());
        assert!(!feed.more);
        messages(&feed)
    }

    /// Another process goes on.
    fn restart(&mut self, patterns: &[&str]) {
        (self.files, self.patterns) = Self::files(&self.folder, patterns);
        self.is_first = true;
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    fn offsets(&self) -> BTreeMap<String, u64> {
        let name = |place: &str| place.rsplit('/').next().unwrap().to_owned();
        let offset = |position: &Position| match position {
            Position::Offset { offset, .. } => *offset,
            Position::Cursor(cursor) => panic!("{cursor}"),
        };
        self.kept.places.iter().map(|(place, position)| (name(place), offset(position))).collect()
    }
}

fn is_begun((_, position): &(String, Option<Position>)) -> bool {
    matches!(position, Some(Position::Offset { offset: 0, .. }))
}

fn messages(feed: &Feed) -> Vec<String> {
    let Records::Lines(lines) = &feed.records else { panic!("{feed:?}") };
    lines.iter().map(|line| line.message.clone()).collect()
}

fn names(feed: &Feed) -> Vec<String> {
    let Records::Lines(lines) = &feed.records else { panic!("{feed:?}") };
    lines.iter().map(|line| line.unit.rsplit('/').next().unwrap().to_owned()).collect()
}

fn nothing() -> Vec<String> {
    Vec::new()
}

#[test]
fn a_file_is_read_from_its_start_and_then_as_it_grows() {
    let mut scene = Scene::new(&["*.log"]);
    assert_eq!(scene.round(), nothing());
    scene.append("a.log", "one\n\ntwo\r\n");
    let feed = scene.feed(ROOM);
    let Records::Lines(lines) = &feed.records else { panic!("{feed:?}") };
    let line = &lines[0];
    assert_eq!(
        (line.source, line.severity),
        (LogSource::File, meshward_core::wire::ingest::Severity::Info)
    );
    assert_eq!(
        (&*line.hostname, line.timestamp.to_string()),
        ("node", "1970-01-01T00:00:01Z".into())
    );
    assert_eq!(&*line.unit, scene.path("a.log").to_str().unwrap());
    assert_eq!(messages(&feed), ["one", "two"]);
    assert_eq!(feed.marks[0].0, format!("file:{}", line.unit));
    assert_eq!(scene.round(), nothing());
    scene.append("a.log", "three\n");
    scene.append("b.log", "other\n");
    assert_eq!(messages(&scene.once(ROOM)), ["three"], "the other one is told of first");
    assert_eq!(scene.round(), ["other"]);
    scene.append("a.log", "four\n");
    scene.append("b.log", "more\n");
    assert_eq!(scene.round(), ["more", "four"], "the one that had no turn yet is the first");
}

#[test]
fn a_line_that_has_not_ended_waits_and_the_place_is_in_front_of_it() {
    let mut scene = Scene::new(&["a"]);
    scene.append("a", "one\ntw");
    assert_eq!(scene.round(), ["one"]);
    assert_eq!(scene.offsets()["a"], 4);
    assert_eq!(scene.round(), nothing());
    scene.restart(&["a"]);
    assert_eq!(scene.round(), nothing());
    scene.append("a", "o\n");
    assert_eq!(scene.round(), ["two"]);
    assert_eq!(scene.offsets()["a"], 8);
}

#[test]
fn a_line_taken_back_in_a_short_file_has_no_other_told_twice() {
    let mut scene = Scene::new(&["log"]);
    scene.append("log", "one\nPART");
    assert_eq!(scene.round(), ["one"]);
    let file = OpenOptions::new().write(true).open(scene.path("log")).unwrap();
    file.set_len(4).unwrap();
    assert_eq!(scene.round(), nothing());
    scene.append("log", "two\n");
    assert_eq!(scene.round(), ["two"]);
}

#[test]
fn a_line_that_its_writer_takes_back_before_its_end_is_no_part_of_the_next_one() {
    let mut scene = Scene::new(&["log"]);
    let before = format!("{}\n", "x".repeat(90)).repeat(4);
    scene.append("log", &before);
    assert_eq!(scene.round().len(), 4);
    for (is_looked_at, written) in [(false, "a longer one"), (true, "short")] {
        let file = OpenOptions::new().write(true).open(scene.path("log")).unwrap();
        let length = file.metadata().unwrap().len();
        scene.append("log", "PARTIAL");
        assert_eq!(scene.round(), nothing());
        file.set_len(length).unwrap();
        if is_looked_at {
            assert_eq!(scene.round(), nothing(), "nothing is told twice");
        }
        scene.append("log", format!("{written}\n"));
        assert_eq!(scene.round(), [written]);
    }
}

#[test]
fn only_regular_files_are_read_and_the_others_are_told() {
    let mut scene = Scene::new(&["in/*", "in/folder", "way/x"]);
    fs::create_dir_all(scene.path("in/folder")).unwrap();
    scene.append("secret", "secret\n");
    symlink(scene.path("secret"), scene.path("in/link")).unwrap();
    assert!(
        std::process::Command::new("mkfifo").arg(scene.path("in/pipe")).status().unwrap().success()
    );
    let _socket = std::os::unix::net::UnixListener::bind(scene.path("in/socket")).unwrap();
    scene.append("in/plain", "plain\n");
    fs::create_dir(scene.path("real")).unwrap();
    scene.append("real/x", "through a link that is named\n");
    symlink(scene.path("real"), scene.path("way")).unwrap();
    let feed = scene.feed(ROOM);
    assert_eq!(messages(&feed), ["plain", "through a link that is named"]);
    let root = scene.folder.path().to_str().unwrap();
    let told: Vec<&str> =
        feed.troubles.iter().map(|text| text.strip_prefix(root).unwrap()).collect();
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(told[0].starts_with("/in/folder: it is a folder"), "{told:#?}");
    assert!(told[1].starts_with("/in/link: it is a symbolic link, which is not followed"));
    assert!(told[2].starts_with("/in/pipe: it is no regular file"));
    assert!(told[3].starts_with("/in/socket: it is no regular file"));
}

#[test]
fn folders_below_are_looked_into_and_links_among_them_are_not() {
    let mut scene = Scene::new(&["top/**/*.log"]);
    fs::create_dir_all(scene.path("top/a/b")).unwrap();
    scene.append("top/x.log", "x\n");
    scene.append("top/a/b/y.log", "y\n");
    scene.append("top/a/b/y.txt", "no\n");
    symlink(scene.path("top"), scene.path("top/a/loop")).unwrap();
    assert_eq!(scene.round(), ["y", "x"]);
}

#[test]
fn no_file_keeps_the_others_from_their_turns() {
    let mut scene = Scene::new(&["*"]);
    for at in 0..100 {
        scene.append(&format!("{at:02}"), format!("{at}\n").repeat(40));
    }
    let mut met = BTreeMap::<String, usize>::new();
    let mut rounds = 0;
    loop {
        let feed = scene.feed(64);
        assert!(messages(&feed).len() <= 64);
        rounds += 1;
        for name in names(&feed) {
            *met.entry(name).or_default() += 1;
        }
        if rounds == 25 {
            assert_eq!(met.len(), 100, "each had its turn by now");
        }
        if !feed.more {
            break;
        }
    }
    assert!(met.values().all(|lines| *lines == 40) && met.len() == 100);
    assert_eq!(rounds, 63, "no round is wasted");
}

#[test]
fn a_round_without_room_reads_nothing_and_says_that_there_is_more() {
    let mut scene = Scene::new(&["a"]);
    scene.append("a", "one\n");
    let feed = scene.feed(0);
    assert_eq!((messages(&feed), feed.more), (nothing(), true));
    assert_eq!(scene.offsets()["a"], 0);
    assert_eq!(scene.round(), ["one"]);
}

#[test]
fn a_giant_line_is_cut_and_ends_within_a_few_rounds() {
    let mut scene = Scene::new(&["a", "b"]);
    scene.append("a", "first\n");
    let file = OpenOptions::new().write(true).open(scene.path("a")).unwrap();
    let giant = vec![0; 40 << 20];
    file.write_all_at(&giant, 6).unwrap();
    file.write_all_at(b"\nbehind\n", 6 + giant.len() as u64).unwrap();
    scene.append("b", "other\n");
    let (mut lines, mut rounds) = (Vec::new(), 0);
    loop {
        let feed = scene.feed(ROOM);
        lines.extend(messages(&feed));
        rounds += 1;
        if rounds == 1 {
            assert!(lines.contains(&"other".to_owned()) && feed.more);
            // Within a line whose start was given.
            scene.restart(&["a", "b"]);
        }
        if !feed.more {
            break;
        }
    }
    assert_eq!(rounds, 2);
    let cut = format!("{}{CUT}", "\0".repeat(TEXT_MAX));
    assert!(lines == ["first".to_owned(), cut, "other".to_owned(), "behind".to_owned()]);
}

#[test]
fn a_hole_of_a_terabyte_takes_no_reading() {
    let mut scene = Scene::new(&["a"]);
    let file = OpenOptions::new().write(true).create_new(true).open(scene.path("a")).unwrap();
    let terabyte = 1 << 40;
    file.set_len(terabyte).unwrap();
    let cut = format!("{}{CUT}", "\0".repeat(TEXT_MAX));
    // Of a longer line its start is told, and no round says that there is more.
    assert!(scene.round() == [cut]);
    assert_eq!(scene.offsets()["a"], terabyte);
    file.write_all_at(b"\nbehind\n", terabyte + (1 << 30)).unwrap();
    assert_eq!(scene.round(), ["behind"]);
}

#[test]
fn patterns_that_are_replaced_are_followed_from_the_next_round_on() {
    let mut scene = Scene::new(&["a"]);
    scene.append("a", "a1\n");
    scene.append("b", "b1\n");
    assert_eq!(scene.round(), ["a1"]);
    scene.patterns.replace(&Scene::texts(&scene.folder, &["b", "[", "*/../x"]));
    scene.append("a", "a2\n");
    assert_eq!(scene.round(), ["b1"]);
    assert_eq!(scene.offsets(), BTreeMap::from([("b".into(), 3)]));
}

#[test]
fn more_files_than_are_followed_are_told_once_a_round() {
    let mut scene = Scene::new(&["*"]);
    for at in 0..=glob::FILES_MAX {
        scene.append(&format!("{at:04}"), "x\n");
    }
    let feed = scene.feed(ROOM);
    assert_eq!(messages(&feed).len(), glob::FILES_MAX);
    assert_eq!(feed.troubles.len(), 1);
    assert!(feed.troubles[0].contains("more than 512 files"), "{}", feed.troubles[0]);
    // Most of them had to be closed meanwhile.
    for at in 0..=glob::FILES_MAX {
        scene.append(&format!("{at:04}"), "y\n");
    }
    assert_eq!(messages(&scene.feed(ROOM)), ["y"; glob::FILES_MAX]);
    scene.rename("0000", "elsewhere");
    scene.append("elsewhere", "z\n");
    let found = messages(&scene.feed(ROOM));
    assert_eq!(found, ["z", "x", "y"], "found by what it is, and the one that has its place");
}

#[test]
fn a_name_that_is_no_text_is_told_and_the_others_are_read() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut scene = Scene::new(&["*"]);
    fs::write(scene.folder.path().join(std::ffi::OsStr::from_bytes(b"a\xff\x1b")), "x\n").unwrap();
    scene.append("b", "read\n");
    let feed = scene.feed(ROOM);
    assert_eq!(messages(&feed), ["read"]);
    assert_eq!(feed.troubles.len(), 1);
    assert!(feed.troubles[0].contains("/a\u{fffd}\u{fffd}: its name is not UTF-8: rename it"));
}

#[test]
fn what_may_not_be_read_is_told_with_the_way_to_mend_it() {
    let mut troubles = troubles::Troubles::default();
    troubles.refused("/var/log/auth.log", Errno::ACCESS);
    troubles.refused("/var/log/auth.log", Errno::ACCESS);
    troubles.refused("/var/log/x", Errno::IO);
    let texts = troubles.texts();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("/var/log/auth.log: Permission denied"), "{}", texts[0]);
    assert!(texts[0].ends_with("to the group that may read it, such as adm"), "{}", texts[0]);
    assert!(texts[1].starts_with("/var/log/x: it cannot be read: Input/output error"));
    let mut many = troubles::Troubles::default();
    (0..10).for_each(|at| many.tell(&format!("/{at}"), "x"));
    many.tell_of_all("too many files".into());
    many.gone(&["/gone".into()]);
    let told = many.texts();
    assert_eq!(told.len(), TROUBLES_MAX, "no more than the log is given");
    assert_eq!(told.last().unwrap(), "5 more are not told");
    assert!(told.iter().any(|text| text.starts_with("/gone: it was read before, and is found")));
}
