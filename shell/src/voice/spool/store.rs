//! The files of one spool: appended to, read, settled, given up.

use std::{
    collections::VecDeque,
    fs::{self, DirBuilder, File},
    io, mem,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use meshward_core::wire::spool::{Found, Frames, Place, segment_name, segment_number};

use rustix::io::Errno;

use super::{
    part::{self, End, FILE_MAX, Wanted},
    segment::{self, Segment, create, read_file},
};

/// The file that holds how far the records are done with.
const PLACE: &str = "place";
const PLACE_NEXT: &str = "place.next";

/// What a file is called behind its number that was put aside.
const ASIDE: &str = "unread";

/// How many files a full spool has, so that giving one up costs little.
const SEGMENTS: u64 = 8;
const SEGMENT_MIN: u64 = 16 << 10;
const SEGMENT_MAX: u64 = 4 << 20;

/// The files of one pipeline.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    max_bytes: u64,
    /// The oldest first; the last is written to.
    segments: VecDeque<Segment>,
    /// Up to where records are done with.
    place: Place,
    /// What was read and is not settled.
    held: Option<Held>,
    writer: Option<File>,
    /// The number of the next file.
    next: u64,
    /// Bytes that are no records, of files that were let go at the start, until they are told.
    damaged: usize,
}

/// What an append has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Appended {
    /// Records that were given up to make room.
    pub(crate) dropped: u64,
}

/// A part of what waits; there are no records where nothing does.
#[derive(Debug)]
pub(crate) struct Batch<T> {
    pub(crate) records: Vec<T>,
    /// Bytes that are no records.
    pub(crate) damaged: usize,
}

/// Records of one file, which is not given up meanwhile.
#[derive(Debug)]
struct Held {
    segment: u64,
    ends: VecDeque<End>,
}

impl Spool {
    /// Opens the folder, which is created if missing, and counts what waits in it.
    pub(crate) fn open(folder: &Path, max_bytes: u64) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let place = read_file(&folder.join(PLACE), 1 << 10).ok();
        let place = place.and_then(|bytes| Place::decode(&bytes)).unwrap_or_default();
        let mut numbers = Vec::new();
        for entry in fs::read_dir(folder)? {
            numbers.extend(entry?.file_name().to_str().and_then(segment_number));
        }
        numbers.sort_unstable();
        // Its file went without the place being kept, and the next one may be given its number.
        let place = match place.offset == 0 || numbers.contains(&place.segment) {
            true => place,
            false => Place { segment: place.segment.saturating_add(1), offset: 0 },
        };
        let next = numbers.last().map_or(place.segment, |last| last.saturating_add(1));
        let mut spool = Self {
            folder: folder.to_owned(),
            max_bytes,
            segments: VecDeque::new(),
            place,
            held: None,
            writer: None,
            next: next.max(place.segment),
            damaged: 0,
        };
        for number in numbers {
            spool.take_over(number)?;
        }
        Ok(spool)
    }

    /// A file of an earlier process is never written to again: it may end in a torn frame.
    fn take_over(&mut self, number: u64) -> io::Result<()> {
        let path = self.path(number);
        if number < self.place.segment {
            return segment::remove(&path);
        }
        let bytes = match read_file(&path, FILE_MAX) {
            Ok(bytes) => bytes,
            Err(error) if is_for_now(&error) => return Err(error),
            Err(_) => {
                let length = fs::symlink_metadata(&path).map_or(0, |found| found.len());
                self.damaged += usize::try_from(length).unwrap_or(usize::MAX);
                self.put_aside(number);
                return Ok(());
            }
        };
        let begin = if number == self.place.segment { self.place.offset } else { 0 };
        let begin = usize::try_from(begin).unwrap_or(usize::MAX);
        let (mut records, mut damaged) = (0, 0);
        for found in Frames::new(&bytes, begin) {
            match found {
                Found::Record { .. } => records += 1,
                Found::Damaged { bytes } => damaged += bytes,
            }
        }
        if records == 0 {
            self.damaged += damaged;
            return segment::remove(&path);
        }
        self.segments.push_back(Segment { number, bytes: bytes.len() as u64, records });
        Ok(())
    }

    /// Bytes that no batch will tell of, which are told once.
    pub(crate) const fn take_damaged(&mut self) -> usize {
        mem::replace(&mut self.damaged, 0)
    }

    /// How many records wait.
    pub(crate) fn waiting(&self) -> u64 {
        self.segments.iter().map(|segment| segment.records).sum()
    }

    /// How many bytes they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Whether there is room for less than another file, so that more would soon make the oldest one give way.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes() + self.file_limit() > self.max_bytes
    }

    /// For how many bytes more there is room without the oldest having to give way.
    pub(crate) fn room(&self) -> u64 {
        self.max_bytes.saturating_sub(self.bytes())
    }

    /// How long a file is before another one is begun; no more is to be appended at once, but for its last record.
    pub(crate) fn file_limit(&self) -> u64 {
        (self.max_bytes / SEGMENTS).clamp(SEGMENT_MIN, SEGMENT_MAX)
    }

    /// Puts frames of so many records on the disk, no longer than [`Spool::file_limit`] and one record: all of them are
    /// durable, or none is there.
    pub(crate) fn append(&mut self, frames: &[u8], records: u64) -> io::Result<Appended> {
        let dropped = self.make_room(frames.len() as u64);
        self.roll()?;
        let (Some(file), Some(segment)) = (&mut self.writer, self.segments.back_mut()) else {
            return Err(io::Error::other("the spool has no file to write to"));
        };
        segment::append(file, segment.bytes, frames)?;
        segment.bytes += frames.len() as u64;
        segment.records += records;
        Ok(Appended { dropped })
    }

    /// Gives up the oldest files until there is room for so much more.
    fn make_room(&mut self, more: u64) -> u64 {
        let mut dropped = 0;
        while self.bytes() + more > self.max_bytes {
            let oldest = self.segments.iter().position(|segment| {
                self.held.as_ref().is_none_or(|held| held.segment != segment.number)
            });
            let Some(segment) = oldest.and_then(|at| self.segments.remove(at)) else { break };
            if self.segments.is_empty() {
                self.writer = None;
            }
            dropped += segment.records;
            // Where not even this succeeds, the next process finds it.
            let _ = segment::remove(&self.path(segment.number));
        }
        dropped
    }

    /// Begins a new file where there is none, or the last one is long enough.
    fn roll(&mut self) -> io::Result<()> {
        let limit = self.file_limit();
        let is_ended = self.segments.back().is_none_or(|segment| segment.bytes >= limit);
        if self.writer.is_some() && !is_ended {
            return Ok(());
        }
        let number = self.next;
        // A name that is taken is not tried again.
        self.next = self.next.saturating_add(1);
        self.writer = Some(create(&self.path(number))?);
        self.segments.push_back(Segment { number, bytes: 0, records: 0 });
        sync_folder(&self.folder)
    }

    /// The oldest records, at most so many and about so many bytes of them, all from one file. An error is one of now,
    /// such as too many open files; a file that cannot be read otherwise is put aside.
    pub(crate) fn read<T>(
        &mut self,
        (records, bytes): (usize, usize),
        decode: impl Fn(&[u8]) -> Option<T>,
    ) -> io::Result<Batch<T>> {
        let wanted = Wanted { records, bytes, decode };
        let mut damaged = 0;
        while let Some(&Segment { number, bytes: length, .. }) = self.segments.front() {
            let begin = if number == self.place.segment { self.place.offset } else { 0 };
            match part::read(&self.path(number), begin, &wanted) {
                Ok(part) => {
                    damaged += part.damaged;
                    if !part.records.is_empty() {
                        self.held = Some(Held { segment: number, ends: part.ends });
                        return Ok(Batch { records: part.records, damaged });
                    }
                }
                Err(error) if is_for_now(&error) => return Err(error),
                Err(_) => {
                    damaged += usize::try_from(length).unwrap_or(usize::MAX);
                    self.put_aside(number);
                }
            }
            // Nothing but damage is left of it.
            self.forget_front();
        }
        Ok(Batch { records: Vec::new(), damaged })
    }

    /// So many of the oldest records that were read last and are not settled are done with.
    pub(crate) fn settle(&mut self, records: usize) {
        let Some(Held { segment, ends }) = &mut self.held else { return };
        let number = *segment;
        let done = ends.drain(..records.min(ends.len()));
        let sum = |sum: End, end: End| End { frames: sum.frames + end.frames, ..end };
        let done = done.reduce(sum);
        if ends.is_empty() {
            self.held = None;
        }
        let front = self.segments.front_mut().filter(|front| front.number == number);
        let (Some(front), Some(End { offset, frames })) = (front, done) else { return };
        front.records = front.records.saturating_sub(frames);
        self.place = Place { segment: number, offset };
        match front.records {
            0 => self.forget_front(),
            _ => self.keep_place(),
        }
    }

    fn forget_front(&mut self) {
        let Some(front) = self.segments.pop_front() else { return };
        if self.segments.is_empty() {
            self.writer = None;
        }
        self.place = Place { segment: front.number.saturating_add(1), offset: 0 };
        // First the place, so that no crash between the two brings the records back.
        self.keep_place();
        // Where the place is not kept, as on a full disk, this does, and makes room; else the next process sends them again.
        let _ = segment::remove(&self.path(front.number));
    }

    /// It would stand in front of all others at each start.
    fn put_aside(&self, number: u64) {
        let path = self.path(number);
        // What cannot even be renamed is met again by the next process.
        let _ = fs::rename(&path, path.with_extension(ASIDE));
    }

    /// Not synced, and tried once: what a power cut or a full disk takes of it is sent once more.
    fn keep_place(&self) {
        let next = self.folder.join(PLACE_NEXT);
        let written = segment::write_whole(&next, &self.place.encode());
        let _ = written.and_then(|()| fs::rename(next, self.folder.join(PLACE)));
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(segment_name(number))
    }
}

/// Whether an error says nothing of the file itself.
fn is_for_now(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN | Errno::INTR))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;
