//! A file to which lines are added, followed from its end.
//!
//! | What is found | Where it is read |
//! |---|---|
//! | a file that was never seen | from its end, behind the last whole line |
//! | one that was looked for and was not there before | from its beginning |
//! | one whose place was kept | from there on |
//! | a shorter one, or one that begins otherwise | from its beginning |
//! | another file in its place | the one before to its end, where it still is beside it, then this one from its beginning |
//!
//! A line that has not ended waits; of one that is too long nothing is held.
//!
//! Specification: `decisions.md` section 8 (k8s audit; Offsets and cursors of log sources).

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use meshward_core::wire::positions::{Position, Positions};

use super::place::{self, HEAD_MAX, Head, Identity};

/// How many bytes are read in one round.
const READ_MAX: usize = 8 << 20;

/// How many bytes are asked for at once, as long as no line is longer.
const CHUNK: usize = 64 << 10;

/// How many files are gone through in one round.
const ROTATIONS_MAX: usize = 4;

/// Whether another line is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Go {
    On,
    Stop,
}

/// How a round ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Round {
    /// More can be read at once.
    pub(super) more: bool,
    /// Lines that were too long, or torn by a rotation.
    pub(super) lost: u64,
    /// Why nothing can be read.
    pub(super) trouble: Option<String>,
}

/// A file that is followed.
#[derive(Debug)]
pub(super) struct FollowEnd {
    path: PathBuf,
    /// Of its place, as it is kept.
    name: String,
    line_max: usize,
    at: At,
    /// How many bytes were read of the files before this one, so that places only grow.
    base: u64,
    /// The place that was told last.
    told: Option<Position>,
}

#[derive(Debug)]
enum At {
    /// It was not looked for yet.
    New(Option<Position>),
    /// It was not there, or could not be opened.
    Missing(Option<Position>),
    Open(Reader),
}

#[derive(Debug)]
struct Reader {
    file: File,
    identity: Identity,
    head: Head,
    /// Behind the last line.
    offset: u64,
    /// The line there is too long, and was read up to here.
    skipped: Option<u64>,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// At the end of the file, behind so many bytes of a line that has not ended.
    End(usize),
    Enough,
}

impl FollowEnd {
    /// Follows `path`, whose place is kept by this kind and the path.
    pub(super) fn new(kind: &str, path: &Path, line_max: usize) -> Self {
        let name = place_name(kind, path);
        let (path, at) = (path.to_owned(), At::New(None));
        Self { path, name, line_max, at, base: 0, told: None }
    }

    /// Hands over what was added, line by line and each with its place, as long as more is wanted. Where nothing is, the
    /// file is looked for all the same, so that its end is where it was seen first.
    pub(super) fn read(
        &mut self,
        (from, wanted): (Option<&Positions>, Go),
        mut take: impl FnMut(&[u8], u64) -> Go,
    ) -> Round {
        if let (At::New(kept), Some(from)) = (&mut self.at, from) {
            *kept = from.places.get(&self.name).cloned();
        }
        let mut round = Round::default();
        let read = match wanted {
            Go::On => self.round(&mut round, &mut take),
            Go::Stop => self.open(),
        };
        if let Err(error) = read {
            round.trouble = Some(format!("{}: {error}", self.path.display()));
        }
        round
    }

    /// Where it goes on, if that has changed: behind all lines, or at `first`, which is still needed.
    pub(super) fn mark(&mut self, first: Option<u64>) -> Option<(String, Option<Position>)> {
        let At::Open(reader) = &self.at else { return None };
        let first = first.map_or(u64::MAX, |first| first.saturating_sub(self.base));
        let position = Position::Offset {
            device: reader.identity.device,
            inode: reader.identity.inode,
            offset: reader.offset.min(first),
            head_len: reader.head.length,
            head: reader.head.sum,
        };
        if self.told.as_ref() == Some(&position) {
            return None;
        }
        self.told = Some(position.clone());
        Some((self.name.clone(), Some(position)))
    }

    fn round(
        &mut self,
        round: &mut Round,
        take: &mut impl FnMut(&[u8], u64) -> Go,
    ) -> io::Result<()> {
        self.open()?;
        let mut budget = READ_MAX;
        for _ in 0..ROTATIONS_MAX {
            let At::Open(reader) = &mut self.at else { return Ok(()) };
            if reader.is_another()? {
                self.base += reader.offset;
                reader.begin()?;
            }
            // What is there now is looked at first, since lines may be added to the one before until then.
            let replaced = replaced(&self.path, reader.identity);
            let mut lines = Lines { reader, base: self.base, line_max: self.line_max, round, take };
            match (lines.read(&mut budget)?, replaced) {
                (Stop::Enough, _) => {
                    round.more = true;
                    return Ok(());
                }
                (Stop::End(_), false) => return Ok(()),
                (Stop::End(torn), true) => {
                    let next = place::open(&self.path).and_then(Reader::new)?;
                    round.lost += u64::from(torn > 0);
                    self.base += reader.offset;
                    *reader = next;
                }
            }
        }
        round.more = true;
        Ok(())
    }

    /// Finds the file, and where to go on in it.
    fn open(&mut self) -> io::Result<()> {
        let (kept, was_missing) = match &self.at {
            At::New(kept) => (kept.clone(), false),
            At::Missing(kept) => (kept.clone(), true),
            At::Open(_) => return Ok(()),
        };
        let reader = match (&kept, was_missing) {
            (Some(kept), _) => Reader::kept(&self.path, kept),
            (None, true) => place::open(&self.path).and_then(Reader::new),
            (None, false) => place::open(&self.path)
                .and_then(Reader::new)
                .and_then(|reader| reader.at_end(self.line_max)),
        };
        match reader {
            Ok(reader) => {
                self.at = At::Open(reader);
                Ok(())
            }
            Err(error) => {
                // One that may not be read is there all the same: its end is where it is read from once it may be.
                if was_missing || error.kind() == io::ErrorKind::NotFound {
                    self.at = At::Missing(kept);
                }
                Err(error)
            }
        }
    }
}

/// The name under which the place of a file is kept.
pub(super) fn place_name(kind: &str, path: &Path) -> String {
    format!("{kind}:{}", path.display())
}

/// Whether another file has come into the place.
fn replaced(path: &Path, identity: Identity) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| Identity::of(&found) != identity)
}

impl Reader {
    /// At the beginning.
    fn new(file: File) -> io::Result<Self> {
        let identity = Identity::of(&file.metadata()?);
        let head = Head::of(&file)?;
        Ok(Self { file, identity, head, offset: 0, skipped: None })
    }

    /// Where the kept place is, in the file or in the one that was there before.
    fn kept(path: &Path, kept: &Position) -> io::Result<Self> {
        let Position::Offset { device, inode, offset, head_len, head } = *kept else {
            return Self::new(place::open(path)?);
        };
        let identity = Identity { device, inode };
        let head = Head { length: head_len, sum: head };
        let file = place::open(path)?;
        let same = Identity::of(&file.metadata()?) == identity;
        let before = if same { None } else { place::beside(path, identity) };
        let goes_on = before.as_ref().or_else(|| same.then_some(&file));
        let is_it = |file: &File| -> io::Result<bool> {
            Ok(file.metadata()?.len() >= offset && head.is_of(file)?)
        };
        match goes_on.map(is_it).transpose()? {
            Some(true) => Ok(Self { offset, ..Self::new(before.unwrap_or(file))? }),
            Some(false) | None => Self::new(file),
        }
    }

    /// Behind the last whole line; where that is too far away, the line is one that is too long.
    fn at_end(mut self, line_max: usize) -> io::Result<Self> {
        let size = self.file.metadata()?.len();
        let looked = size.min(line_max as u64);
        let mut tail = vec![0; usize::try_from(looked).unwrap_or_default()];
        self.file.read_exact_at(&mut tail, size - looked)?;
        match tail.iter().rposition(|byte| *byte == b'\n') {
            Some(place) => self.offset = size - looked + place as u64 + 1,
            None if looked < size => (self.offset, self.skipped) = (size - looked, Some(size)),
            None => {}
        }
        Ok(self)
    }

    /// Whether the file was cut or written anew.
    fn is_another(&mut self) -> io::Result<bool> {
        let size = self.file.metadata()?.len();
        if size < self.skipped.unwrap_or(self.offset) || !self.head.is_of(&self.file)? {
            return Ok(true);
        }
        if self.head.length < HEAD_MAX as u64 {
            self.head = Head::of(&self.file)?;
        }
        Ok(false)
    }

    fn begin(&mut self) -> io::Result<()> {
        (self.offset, self.skipped) = (0, None);
        self.head = Head::of(&self.file)?;
        Ok(())
    }
}

/// The lines of a file from where it is read.
struct Lines<'l, T> {
    reader: &'l mut Reader,
    base: u64,
    line_max: usize,
    round: &'l mut Round,
    take: &'l mut T,
}

impl<T: FnMut(&[u8], u64) -> Go> Lines<'_, T> {
    fn read(&mut self, budget: &mut usize) -> io::Result<Stop> {
        let mut buffer = vec![0; CHUNK];
        let mut held = 0;
        loop {
            if held == buffer.len() {
                buffer.resize((held * 2).min(self.line_max + 1).max(held + 1), 0);
            }
            let from = self.reader.skipped.unwrap_or(self.reader.offset) + held as u64;
            let room = buffer.get_mut(held..).unwrap_or_default();
            let read = match self.reader.file.read_at(room, from) {
                Ok(0) => return Ok(Stop::End(self.torn(held))),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            *budget = budget.saturating_sub(read);
            let (taken, go) = self.take_lines(buffer.get(..held + read).unwrap_or_default(), held);
            buffer.copy_within(taken..held + read, 0);
            held = held + read - taken;
            if held > self.line_max || (held > 0 && self.reader.skipped.is_some()) {
                let from = self.reader.skipped.unwrap_or(self.reader.offset);
                self.reader.skipped = Some(from + held as u64);
                held = 0;
            }
            if go == Go::Stop || *budget == 0 {
                return Ok(Stop::Enough);
            }
        }
    }

    /// Takes the whole lines of what is held, of which the first `looked` bytes hold no end; tells how many bytes that
    /// were.
    fn take_lines(&mut self, held: &[u8], looked: usize) -> (usize, Go) {
        let (mut taken, mut from) = (0, looked);
        while let Some(end) = held.get(from..).and_then(newline).map(|end| from + end) {
            let line = held.get(taken..end).unwrap_or_default();
            (taken, from) = (end + 1, end + 1);
            if self.take_line(line) == Go::Stop {
                return (taken, Go::Stop);
            }
        }
        (taken, Go::On)
    }

    fn take_line(&mut self, line: &[u8]) -> Go {
        let begins = self.reader.offset;
        let skipped = self.reader.skipped.take();
        self.reader.offset = skipped.unwrap_or(begins) + line.len() as u64 + 1;
        match skipped.is_some() || line.len() > self.line_max {
            true => self.round.lost += 1,
            false if line.is_empty() => {}
            false => return (self.take)(line, self.base + begins),
        }
        Go::On
    }

    fn torn(&self, held: usize) -> usize {
        held + usize::from(self.reader.skipped.is_some())
    }
}

fn newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
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
            let (lines, round) = self.round(None, usize::MAX);
            assert_eq!(round, Round::default());
            lines
        }

        /// The process ends and another one begins where it was.
        fn restart(&mut self) -> Vec<String> {
            self.follow.mark(None);
            let place = (self.follow.name.clone(), self.follow.told.clone().unwrap());
            let from = Positions { places: [place].into() };
            self.follow = followed(&self.path("log"));
            self.round(Some(&from), usize::MAX).0
        }

        fn offset(&mut self) -> u64 {
            self.follow.mark(None);
            match self.follow.told {
                Some(Position::Offset { offset, .. }) => offset,
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
        assert_eq!(scene.follow.mark(None), None, "nothing has changed");
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
        assert_eq!(scene.lines(), Vec::<String>::new());
        assert_eq!(scene.offset(), before, "the place is where the line begins");
        scene.add("w".repeat(10));
        assert_eq!(scene.lines(), Vec::<String>::new());
        scene.add("\nv\n");
        let (lines, round) = scene.round(None, 9);
        assert_eq!((lines, round.lost), (vec!["v".into()], 1));
    }

    #[test]
    fn an_end_in_the_midst_of_a_line_that_is_too_long_begins_with_the_next_one() {
        let mut scene = Scene::begun(&"x".repeat(1000));
        scene.add("x\nnext\n");
        let (lines, round) = scene.round(None, 9);
        assert_eq!((lines, round.lost), (vec!["next".into()], 1));
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
        let (lines, round) = scene.round(None, 9);
        assert_eq!((lines, round.lost), (vec!["e".into()], 1));
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
            scene.follow.read((None, Go::On), |_, place| {
                places.push(place);
                Go::On
            });
            let needed = places[places.len() - 1];
            let Some((_, Some(Position::Offset { offset, .. }))) = scene.follow.mark(Some(needed))
            else {
                panic!("it has changed")
            };
            assert_eq!(offset, 2);
            scene.rotate();
        }
        assert_eq!(places, [0, 2, 4, 6]);
        let Some((_, Some(Position::Offset { offset, .. }))) = scene.follow.mark(Some(0)) else {
            panic!("it has changed")
        };
        assert_eq!(offset, 0, "what began in the file before");
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
}
