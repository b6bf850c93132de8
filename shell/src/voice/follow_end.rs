//! A file to which lines are added, followed from its end.
//!
//! | What is found | Where it is read |
//! |---|---|
//! | a file that was never seen | from its end, behind the last whole line |
//! | one that was looked for and was not there before | from its beginning |
//! | one whose place was kept | from there on |
//! | a shorter one, or one that begins otherwise | from its beginning |
//! | another file in its place | the one before to its end, where it still is beside it, then this one from its beginning |
//! | one after another in its place while nothing is wanted | each of them in turn, [`LATER_MAX`] at the most |
//! | none in its place, [`GONE_AFTER`] rounds in a row | the one before, which may still be written to; it is told |
//!
//! A line that has not ended waits; one that is too long is counted as soon as that is known, and passed over.
//!
//! Specification: `decisions.md` section 8 (k8s audit; Offsets and cursors of log sources).

use std::{
    collections::{BTreeMap, VecDeque},
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use meshward_core::wire::{
    positions::{self, LATER_MAX, Position, Positions},
    sources::{
        lines::{Line, Lines},
        tail::{Next, Place},
    },
};

use super::place::{self, Identity, Look};

/// How many bytes are read in one round.
const READ_MAX: usize = 8 << 20;

/// How many bytes are asked for at once.
const CHUNK: usize = 64 << 10;

/// In how many rounds a file is missing in its place until that is told; a rotation may leave it empty for a moment.
const GONE_AFTER: u32 = 2;

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
    /// Of its places, as they are kept.
    kind: &'static str,
    line_max: usize,
    at: At,
    /// Those that came into its place, the oldest first.
    later: VecDeque<Reader>,
    /// How many rounds in a row have met no file in its place.
    gone: u32,
    /// How many bytes were read of the files before this one, so that places only grow.
    base: u64,
    /// The places that were told last, by their names.
    told: Positions,
    /// The number of the next file.
    next: u64,
}

#[derive(Debug)]
enum At {
    /// It was not looked for yet; with the places that are kept of it.
    New(Vec<(u64, Position)>),
    /// It was not there, or could not be opened.
    Missing(Vec<(u64, Position)>),
    Open(Reader),
}

#[derive(Debug)]
struct Reader {
    /// Which file of its path it is.
    nth: u64,
    file: File,
    /// Behind the last line that was taken.
    place: Place,
    lines: Lines,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// At the end of the file; a line has perhaps not ended.
    End {
        torn: bool,
    },
    Enough,
}

impl FollowEnd {
    /// Follows `path`, whose place is kept by this kind and the path.
    pub(super) fn new(kind: &'static str, path: &Path, line_max: usize) -> Self {
        let (path, at, later) = (path.to_owned(), At::New(Vec::new()), VecDeque::new());
        Self {
            path,
            kind,
            line_max,
            at,
            later,
            gone: 0,
            base: 0,
            told: Positions::default(),
            next: 0,
        }
    }

    /// Hands over what was added, line by line and each with its place, as long as more is wanted. Where nothing is, the
    /// file is looked for all the same, so that its end is where it was seen first.
    pub(super) fn read(
        &mut self,
        (from, wanted): (Option<&Positions>, Go),
        mut take: impl FnMut(&[u8], u64) -> Go,
    ) -> Round {
        if let (At::New(kept), Some(from)) = (&mut self.at, from) {
            let path = self.path.display().to_string();
            let places = from.files(self.kind).remove(path.as_str()).unwrap_or_default();
            *kept = places.into_iter().map(|(nth, place)| (nth, place.clone())).collect();
            self.next = kept.last().map_or(0, |(nth, _)| nth + 1);
            let named = |(nth, place): &(u64, Position)| {
                (positions::file_name(self.kind, &path, *nth), place.clone())
            };
            self.told.places = kept.iter().map(named).collect();
        }
        let mut round = Round::default();
        let read = match wanted {
            Go::On => self.round(&mut round, &mut take),
            Go::Stop => self.open().and_then(|()| self.notice()),
        };
        if let Err(error) = read {
            round.trouble = Some(format!("{}: {error}", self.path.display()));
        }
        round
    }

    /// Where it goes on, as far as that has changed: behind all lines, or at `first`, which is still needed; and at the
    /// beginning of each file that came into its place meanwhile.
    pub(super) fn marks(&mut self, first: Option<u64>) -> Vec<(String, Option<Position>)> {
        let At::Open(reader) = &self.at else { return Vec::new() };
        let first = first.map_or(u64::MAX, |first| first.saturating_sub(self.base));
        let now = Place { offset: reader.place.offset.min(first), ..reader.place };
        let later = self.later.iter().map(|reader| (reader.nth, reader.place));
        let path = self.path.display().to_string();
        let named = |(nth, place): (u64, Place)| {
            (positions::file_name(self.kind, &path, nth), place.position())
        };
        let places: BTreeMap<_, _> =
            [(reader.nth, now)].into_iter().chain(later).map(named).collect();
        self.told.turn_into(places)
    }

    /// Numbers the files of the path, each by itself.
    const fn number(&mut self) -> u64 {
        let nth = self.next;
        self.next += 1;
        nth
    }

    fn round(
        &mut self,
        round: &mut Round,
        take: &mut impl FnMut(&[u8], u64) -> Go,
    ) -> io::Result<()> {
        self.open()?;
        let At::Open(reader) = &mut self.at else { return Ok(()) };
        let read = reader.place.offset;
        if reader.look(self.line_max)? {
            self.base += read;
        }
        // What is there now is looked at first, since lines may be added to the one before until then.
        let noticed = self.notice();
        let At::Open(reader) = &mut self.at else { return Ok(()) };
        let mut lines = Taking { reader, base: self.base, round, take };
        match lines.read(READ_MAX)? {
            Stop::Enough => round.more = true,
            Stop::End { torn } => {
                noticed?;
                if let Some(next) = self.later.pop_front() {
                    round.lost += u64::from(torn);
                    self.base += reader.place.offset;
                    *reader = next;
                    // Its beginning is told before any line of it, so that it is found again wherever it is moved.
                    round.more = true;
                } else {
                    self.misses()?;
                }
            }
        }
        Ok(())
    }

    /// Holds what has come into the place, before it is moved on.
    fn notice(&mut self) -> io::Result<()> {
        let At::Open(reader) = &self.at else { return Ok(()) };
        let newest = self.later.back().unwrap_or(reader);
        if self.later.len() < LATER_MAX && replaced(&self.path, Identity::at(&newest.place)) {
            let reader = Reader::new(place::open(&self.path)?, self.line_max)?;
            let nth = self.number();
            self.later.push_back(Reader { nth, ..reader });
        }
        Ok(())
    }

    /// Tells that nothing more will come of a file, where that is so for long.
    fn misses(&mut self) -> io::Result<()> {
        let is_there = fs::symlink_metadata(&self.path).is_ok();
        self.gone = if is_there { 0 } else { self.gone.saturating_add(1) };
        if self.gone < GONE_AFTER {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            "it is gone, and no other has come in its place",
        ))
    }

    /// Finds the file, and where to go on in it.
    fn open(&mut self) -> io::Result<()> {
        let (kept, was_missing) = match &self.at {
            At::New(kept) => (kept.clone(), false),
            At::Missing(kept) => (kept.clone(), true),
            At::Open(_) => return Ok(()),
        };
        let found = place::open(&self.path).and_then(|file| {
            let mut found = Reader::all_kept(&self.path, &kept, self.line_max)?;
            if found.is_empty() {
                let reader = Reader::new(file, self.line_max)?;
                let is_unseen = kept.is_empty() && !was_missing;
                let reader = if is_unseen { reader.at_end(self.line_max)? } else { reader };
                found.push_back(Reader { nth: self.number(), ..reader });
            }
            Ok(found)
        });
        match found {
            Ok(mut found) => {
                if let Some(first) = found.pop_front() {
                    (self.at, self.later) = (At::Open(first), found);
                }
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

/// Whether another file has come into the place.
fn replaced(path: &Path, identity: Identity) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| Identity::of(&found) != identity)
}

impl Reader {
    /// At the beginning.
    fn new(file: File, line_max: usize) -> io::Result<Self> {
        let place = Place::at_start(&Look::at(&file)?.found());
        Ok(Self { nth: 0, file, place, lines: Lines::new(line_max) })
    }

    /// Where the kept places are, as far as their files are found.
    fn all_kept(
        path: &Path,
        kept: &[(u64, Position)],
        line_max: usize,
    ) -> io::Result<VecDeque<Self>> {
        let mut found: VecDeque<Self> = VecDeque::new();
        for (nth, position) in kept {
            let Some(kept) = Place::read(position) else { continue };
            let is_held = |held: &Self| Identity::at(&held.place) == Identity::at(&kept);
            if !found.iter().any(is_held) {
                let reader = Self::kept(path, kept, line_max)?;
                found.extend(reader.map(|reader| Self { nth: *nth, ..reader }));
            }
        }
        Ok(found)
    }

    /// Where a kept place is, in the file or in one that was there before.
    fn kept(path: &Path, kept: Place, line_max: usize) -> io::Result<Option<Self>> {
        let file = place::open(path)?;
        let look = Look::at(&file)?;
        let same = match kept.next(&look.found()) {
            Next::On => Some((file, look)),
            Next::Rewritten => None,
            Next::Other => place::find(path, kept)?,
        };
        let Some((file, look)) = same else { return Ok(None) };
        let lines = place::lines(&file, kept.offset, line_max)?;
        Ok(Some(Self { nth: 0, file, place: kept.renewed(&look.found()), lines }))
    }

    /// Behind the last whole line; where that is too far away, within one that is too long.
    fn at_end(mut self, line_max: usize) -> io::Result<Self> {
        let size = self.file.metadata()?.len();
        let looked = size.min(line_max as u64);
        let mut tail = vec![0; usize::try_from(looked).unwrap_or_default()];
        self.file.read_exact_at(&mut tail, size - looked)?;
        match tail.iter().rposition(|byte| *byte == b'\n') {
            Some(place) => self.place.offset = size - looked + place as u64 + 1,
            None if looked < size => {
                (self.place.offset, self.lines) = (size, Lines::within(line_max));
            }
            None => {}
        }
        Ok(self)
    }

    /// Looks at the file; whether it was cut or written anew, and is read from its beginning again.
    fn look(&mut self, line_max: usize) -> io::Result<bool> {
        let look = Look::at(&self.file)?;
        let is_another = self.place.next(&look.found()) != Next::On;
        if is_another {
            (self.place, self.lines) = (Place::at_start(&look.found()), Lines::new(line_max));
        } else {
            self.place = self.place.renewed(&look.found());
            // What has not ended is read once more: its writer may have taken it back, or written it anew.
            if self.lines.waiting() > 0 {
                self.lines = place::lines(&self.file, self.place.offset, line_max)?;
            }
        }
        Ok(is_another)
    }

    const fn next_byte(&self) -> u64 {
        self.place.offset + self.lines.waiting() as u64
    }
}

/// Lines that are being taken.
struct Taking<'r, T> {
    reader: &'r mut Reader,
    base: u64,
    round: &'r mut Round,
    take: &'r mut T,
}

impl<T: FnMut(&[u8], u64) -> Go> Taking<'_, T> {
    fn read(&mut self, mut budget: usize) -> io::Result<Stop> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = match self.reader.file.read_at(&mut buffer, self.reader.next_byte()) {
                Ok(0) => return Ok(Stop::End { torn: self.reader.lines.waiting() > 0 }),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            budget = budget.saturating_sub(read);
            if self.take_lines(&buffer[..read]) == Go::Stop || budget == 0 {
                return Ok(Stop::Enough);
            }
        }
    }

    fn take_lines(&mut self, chunk: &[u8]) -> Go {
        let (at, mut rest, mut go) = (self.reader.next_byte(), chunk, Go::On);
        while go == Go::On {
            let begins = self.reader.place.offset;
            let line = self.reader.lines.next(&mut rest);
            let is_line = line.is_some();
            match line {
                Some(Line::Whole(line)) if !line.is_empty() => {
                    go = (self.take)(line, self.base + begins);
                }
                Some(Line::Start(_)) => self.round.lost += 1,
                Some(Line::Whole(_)) | None => {}
            }
            let behind = at + (chunk.len() - rest.len()) as u64;
            self.reader.place.offset = behind - self.reader.lines.waiting() as u64;
            if !is_line {
                break;
            }
        }
        go
    }
}

#[cfg(test)]
mod tests;
