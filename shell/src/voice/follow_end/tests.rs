//! Files that are followed from their end: real ones, cut, replaced, renamed, and read again behind a restart.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use meshward_core::wire::positions::{Position, Positions};

use super::{FollowEnd, Go, READ_MAX, Round};

const LINE_MAX: usize = 100;

struct Scene {
    home: tempfile::TempDir,
    follow: FollowEnd,
}

fn followed(path: &Path) -> FollowEnd {
    FollowEnd::new("test", path, LINE_MAX)
}

impl Scene {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let follow = followed(&home.path().join("log"));
        Self { home, follow }
    }

    /// With a file that was seen already.
    fn begun(text: &str) -> Self {
        let mut scene = Self::new();
        scene.add(text);
        assert_eq!(scene.lines(), Vec::<String>::new());
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn add(&self, text: impl AsRef<[u8]>) {
        let mut options = fs::File::options();
        let mut file = options.append(true).create(true).open(self.path("log")).unwrap();
        file.write_all(text.as_ref()).unwrap();
    }

    fn rotate(&self) {
        fs::rename(self.path("log"), self.path("log.1")).unwrap();
    }

    fn round(&mut self, from: Option<&Positions>, most: usize) -> (Vec<String>, Round) {
        let mut lines = Vec::new();
        let go = |count: usize| if count < most { Go::On } else { Go::Stop };
        let round = self.follow.read((from, go(0)), |line, _| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            go(lines.len())
        });
        (lines, round)
    }

    fn lines(&mut self) -> Vec<String> {
        let (lines, round) = self.all(None);
        assert_eq!(round, Round::default());
        lines
    }

    /// Of rounds until there is no more, which go over what was lost.
    fn all(&mut self, from: Option<&Positions>) -> (Vec<String>, Round) {
        let (mut lines, mut round) = self.round(from, usize::MAX);
        while round.more {
            let (more, next) = self.round(None, usize::MAX);
            lines.extend(more);
            round = Round { lost: round.lost + next.lost, ..next };
        }
        (lines, round)
    }

    /// The process ends and another one begins where it was.
    fn restart(&mut self) -> Vec<String> {
        let from = self.kept();
        self.follow = followed(&self.path("log"));
        self.all(Some(&from)).0
    }

    /// What is kept of it.
    fn kept(&mut self) -> Positions {
        self.follow.marks(None);
        self.follow.told.clone()
    }

    fn offset(&mut self) -> u64 {
        self.follow.marks(None);
        match self.follow.told.places.values().next() {
            Some(Position::Offset { offset, .. }) => *offset,
            Some(Position::Cursor(_)) | None => panic!("{:?}", self.follow.told),
        }
    }
}

#[test]
fn a_file_is_read_from_its_end_and_a_line_that_has_not_ended_waits() {
    let mut scene = Scene::begun("old\nhal");
    assert_eq!(scene.offset(), 4);
    scene.add("f");
    assert_eq!(scene.lines(), Vec::<String>::new());
    assert_eq!(scene.offset(), 4);
    scene.add("\n\nnew\r\nx");
    assert_eq!(scene.lines(), ["half", "new\r"]);
    assert_eq!(scene.offset(), 15);
    assert_eq!(scene.follow.marks(None), [], "nothing has changed");
}

#[test]
fn a_file_that_was_not_there_is_read_from_its_beginning_and_its_absence_is_told() {
    let mut scene = Scene::new();
    let trouble = scene.round(None, 9).1.trouble.unwrap();
    assert!(trouble.contains("log: No such file"), "{trouble}");
    scene.add("first\n");
    assert_eq!(scene.lines(), ["first"]);
}

#[test]
fn what_is_no_regular_file_is_told_and_not_waited_for() {
    let mut scene = Scene::new();
    fs::write(scene.path("other"), "secret\n").unwrap();
    symlink(scene.path("other"), scene.path("log")).unwrap();
    let (lines, round) = scene.round(None, 9);
    assert_eq!(lines, Vec::<String>::new());
    assert!(round.trouble.unwrap().contains("it is a link"));
}

#[test]
fn no_more_lines_are_taken_than_are_wanted_and_the_place_is_behind_them() {
    let mut scene = Scene::begun("");
    scene.add("a\nb\nc\n");
    assert_eq!(scene.round(None, 0), (vec![], Round::default()));
    let (lines, round) = scene.round(None, 2);
    assert_eq!((lines.as_slice(), round.more), (&["a".into(), "b".into()][..], true));
    assert_eq!(scene.restart(), ["c"]);
}

#[test]
fn a_file_that_is_not_read_at_first_is_read_from_where_it_was_seen() {
    let mut scene = Scene::new();
    scene.add("old\n");
    assert_eq!(scene.round(None, 0).0, Vec::<String>::new());
    scene.add("new\n");
    assert_eq!(scene.lines(), ["new"]);
}

#[test]
fn lines_of_the_longest_length_are_taken_and_longer_ones_are_counted_and_held_by_nobody() {
    let mut scene = Scene::begun("");
    let (longest, longer) = ("x".repeat(LINE_MAX), "y".repeat(LINE_MAX + 1));
    scene.add(format!("{longest}\n{longer}\nz\n"));
    let (lines, round) = scene.round(None, 9);
    assert_eq!((lines, round.lost), (vec![longest, "z".into()], 1));
    // It grows over several rounds, and over a restart, which must not begin in its midst.
    let before = scene.offset();
    scene.add("w".repeat(200_000));
    let (lines, round) = scene.round(None, 9);
    assert_eq!((lines, round.lost), (vec![], 1), "it is counted as soon as it is too long");
    assert_eq!(scene.offset(), before + 200_000, "nothing of it is read again");
    scene.add("w".repeat(10));
    assert_eq!(scene.restart(), Vec::<String>::new());
    scene.add("\nv\n");
    assert_eq!(scene.lines(), ["v"]);
}

#[test]
fn an_end_in_the_midst_of_a_line_that_is_too_long_begins_with_the_next_one() {
    let mut scene = Scene::begun(&"x".repeat(1000));
    scene.add("x\nnext\n");
    assert_eq!(scene.lines(), ["next"]);
}

#[test]
fn a_file_that_was_cut_or_written_anew_is_read_from_its_beginning() {
    let mut scene = Scene::begun("one\ntwo\n");
    fs::write(scene.path("log"), "3\n").unwrap();
    assert_eq!(scene.lines(), ["3"]);
    fs::write(scene.path("log"), "four is longer than what was there\n").unwrap();
    assert_eq!(scene.lines(), ["four is longer than what was there"]);
}

#[test]
fn what_is_written_until_a_rotation_and_behind_it_is_read_once_and_in_order() {
    let mut scene = Scene::begun("old\n");
    scene.add("a\n");
    scene.rotate();
    assert_eq!(scene.lines(), ["a"], "the new file is not there yet");
    let mut renamed = fs::File::options().append(true).open(scene.path("log.1")).unwrap();
    renamed.write_all(b"b\n").unwrap();
    scene.add("c\n");
    assert_eq!(scene.lines(), ["b", "c"]);
    scene.add("d\n");
    assert_eq!(scene.lines(), ["d"]);
    scene.add("torn");
    scene.rotate();
    scene.add("e\n");
    let (lines, round) = scene.all(None);
    assert_eq!((lines, round.lost), (vec!["e".into()], 1));
}

#[test]
fn a_file_that_is_gone_for_good_is_told_until_another_one_comes() {
    let mut scene = Scene::begun("old\n");
    scene.rotate();
    assert_eq!(scene.lines(), [""; 0], "a rotation may leave its place empty for a moment");
    let mut file = fs::File::options().append(true).open(scene.path("log.1")).unwrap();
    file.write_all(b"last\n").unwrap();
    let (lines, round) = scene.round(None, usize::MAX);
    assert_eq!(lines, ["last"], "it is read as long as it can be");
    let told = round.trouble.expect("it is told");
    assert!(told.ends_with("log: it is gone, and no other has come in its place"), "{told}");
    assert!(scene.round(None, usize::MAX).1.trouble.is_some());
    scene.add("new\n");
    assert_eq!(scene.lines(), ["new"]);
    scene.rotate();
    assert_eq!(scene.lines(), [""; 0], "it counts from the beginning again");
}

#[test]
fn the_beginning_of_the_next_file_is_told_before_any_line_of_it() {
    let mut scene = Scene::begun("old\n");
    scene.add("a\n");
    scene.rotate();
    scene.add("b\n");
    let (lines, round) = scene.round(None, usize::MAX);
    assert_eq!((lines, round.more, scene.offset()), (vec!["a".into()], true, 0));
    // No line of it is taken before the process ends, and it is moved once meanwhile.
    let kept = scene.kept();
    assert_eq!(scene.lines(), ["b"]);
    scene.rotate();
    scene.add("c\n");
    scene.follow = followed(&scene.path("log"));
    let (lines, _) = scene.all(Some(&kept));
    assert_eq!(lines, ["b", "c"]);
}

#[test]
fn files_that_come_one_after_another_while_nothing_is_wanted_are_all_read() {
    let mut scene = Scene::begun("old\n");
    for name in ["a", "b", "c", "d"] {
        scene.add(format!("{name}\n"));
        assert!(!scene.round(None, 0).1.more, "there is no room");
        fs::rename(scene.path("log"), scene.path(name)).unwrap();
    }
    scene.add("e\n");
    assert_eq!(scene.lines(), ["a", "b", "c", "d", "e"]);
    scene.add("f\n");
    assert_eq!(scene.lines(), ["f"]);
}

#[test]
fn a_restart_goes_on_where_it_was_also_behind_a_rotation() {
    let mut scene = Scene::begun("old\n");
    scene.add("a\n");
    assert_eq!(scene.restart(), ["a"]);
    scene.add("b\n");
    scene.rotate();
    scene.add("c\n");
    assert_eq!(scene.restart(), ["b", "c"]);
    fs::remove_file(scene.path("log.1")).unwrap();
    scene.add("d\n");
    scene.rotate();
    fs::remove_file(scene.path("log.1")).unwrap();
    scene.add("e\n");
    assert_eq!(scene.restart(), ["e"], "what is gone is gone");
}

/// Found by an attacker: while nothing was wanted, as in an outage, only the oldest file and the newest were found again.
#[test]
fn files_that_came_while_nothing_was_wanted_are_all_read_by_another_process() {
    let mut scene = Scene::begun("old\n");
    scene.add("one\n");
    for nth in 1..=3 {
        for before in (1..nth).rev() {
            let [from, to] = [before, before + 1].map(|at| scene.path(&format!("log.{at}")));
            fs::rename(from, to).unwrap();
        }
        scene.rotate();
        scene.add(format!("{nth}\n"));
        assert_eq!(scene.round(None, 0).0, [""; 0]);
    }
    assert_eq!(scene.kept().places.len(), 4);
    assert_eq!(scene.restart(), ["one", "1", "2", "3"]);
    assert_eq!(scene.restart(), [""; 0]);
    assert_eq!(scene.kept().places.len(), 1, "those that were read are kept no longer");
}

#[test]
fn a_line_that_its_writer_takes_back_before_its_end_is_no_part_of_the_next_one() {
    let mut scene = Scene::begun(&format!("{}\n", "x".repeat(90)).repeat(4));
    for (is_looked_at, written) in [(false, "a longer one"), (true, "short")] {
        let file = fs::File::options().write(true).open(scene.path("log")).unwrap();
        let before = file.metadata().unwrap().len();
        scene.add("PARTIAL");
        assert_eq!(scene.lines(), [""; 0]);
        file.set_len(before).unwrap();
        if is_looked_at {
            assert_eq!(scene.lines(), [""; 0], "nothing is told twice");
        }
        scene.add(format!("{written}\n"));
        assert_eq!(scene.lines(), [written]);
    }
}

#[test]
fn a_file_that_was_cut_while_nobody_read_is_read_from_its_beginning() {
    let mut scene = Scene::begun("one\ntwo\n");
    fs::write(scene.path("log"), "x\n").unwrap();
    assert_eq!(scene.restart(), ["x"]);
}

#[test]
fn a_place_of_a_file_whose_number_another_one_has_is_none() {
    let mut scene = Scene::begun("one\ntwo\n");
    fs::write(scene.path("log"), "other and longer\n").unwrap();
    assert_eq!(scene.restart(), ["other and longer"]);
}

#[test]
fn the_place_stays_in_front_of_what_is_still_needed_and_places_only_grow() {
    let mut scene = Scene::begun("");
    let mut places = Vec::new();
    for _ in 0..2 {
        scene.add("a\nb\n");
        while scene
            .follow
            .read((None, Go::On), |_, place| {
                places.push(place);
                Go::On
            })
            .more
        {}
        let needed = places[places.len() - 1];
        let marks = scene.follow.marks(Some(needed));
        let place = marks.iter().find_map(|(_, place)| place.clone());
        assert!(matches!(place, Some(Position::Offset { offset: 2, .. })), "{marks:?}");
        scene.rotate();
    }
    assert_eq!(places, [0, 2, 4, 6]);
    let marks = scene.follow.marks(Some(0));
    let began_before = matches!(marks[0].1, Some(Position::Offset { offset: 0, .. }));
    assert!(began_before, "what began in the file before: {marks:?}");
}

#[test]
fn a_round_reads_so_much_and_the_next_one_goes_on() {
    let mut scene = Scene::begun("");
    let line = format!("{}\n", "x".repeat(63));
    let count = READ_MAX / line.len() + 1;
    scene.add(line.repeat(count));
    let (lines, round) = scene.round(None, usize::MAX);
    assert!(round.more && lines.len() < count);
    let (rest, round) = scene.round(None, usize::MAX);
    assert_eq!((lines.len() + rest.len(), round.more), (count, false));
}
