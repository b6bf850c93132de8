//! One file that is read as it grows.
//!
//! It is held open while it is followed, so that what is written to it under a new name, or under none, is read as well. A
//! file that had to be closed is found again by what it is.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path, sync::Arc};

use meshward_core::{
    time::{Mono, Now},
    wire::{
        ingest::Severity,
        record::{LogEntry, LogSource},
        sources::{
            lines::{LINE_MAX, Line, Lines},
            tail::{Next, Place},
        },
        timestamp::Timestamp,
    },
};
use rustix::{fs::SeekFrom, io::Errno};

use crate::voice::{
    place::{self, Finder, Identity, Look},
    way::Astray,
};

/// How much of a file is read at a time.
pub(super) const CHUNK: usize = 64 << 10;

/// A file with its place in it.
#[derive(Debug)]
pub(super) struct Tail {
    /// The path by which it was found first, and its lines are known.
    pub(super) unit: Arc<str>,
    /// Which file of its path it is.
    pub(super) nth: u64,
    /// Behind the last line that was given.
    pub(super) place: Place,
    lines: Lines,
    file: Option<File>,
    /// When it was looked at last, in bytes.
    size: u64,
    /// Since when another file, or none, is at its path.
    pub(super) left: Option<Mono>,
    /// It was read to its end after it was left, and the next one may be read.
    pub(super) passed: bool,
    /// When it grew last.
    pub(super) grew: Mono,
}

/// How lines are put down.
#[derive(Debug)]
pub(super) struct Record<'r> {
    pub(super) hostname: &'r Arc<str>,
    pub(super) timestamp: Timestamp,
    pub(super) entries: Vec<LogEntry>,
}

/// How much of a file may be read at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

impl Tail {
    /// The file at its path, if it is this one: from the place that is kept of it, or from its start.
    pub(super) fn open(
        unit: &Arc<str>,
        (identity, kept): (Identity, Option<Place>),
        now: Now,
    ) -> Result<Option<Self>, Astray> {
        let Some(file) = place::regular(Path::new(&**unit))? else { return Ok(None) };
        let look = Look::at(&file)?;
        if look.identity != identity {
            return Ok(None);
        }
        let kept = kept.filter(|kept| kept.next(&look.found()) == Next::On);
        let place = kept.unwrap_or_else(|| Place::at_start(&look.found())).renewed(&look.found());
        Ok(Some(Self::held(unit, file, (place, look.size), now)?))
    }

    /// The file of a place, by whatever name it has in the folder of a path.
    pub(super) fn find(
        unit: &Arc<str>,
        (place, finder): (Place, &mut Finder),
        now: Now,
    ) -> Result<Option<Self>, Astray> {
        let found = finder.find(Path::new(&**unit), place)?;
        let Some((file, look)) = found else { return Ok(None) };
        let place = place.renewed(&look.found());
        Ok(Some(Self::held(unit, file, (place, look.size), now)?))
    }

    fn held(
        unit: &Arc<str>,
        file: File,
        (place, size): (Place, u64),
        now: Now,
    ) -> Result<Self, Errno> {
        let unit = Arc::clone(unit);
        let lines = place::lines(&file, place.offset, LINE_MAX)?;
        let (left, grew) = (None, now.mono);
        Ok(Self { unit, nth: 0, place, lines, file: Some(file), size, left, passed: false, grew })
    }

    pub(super) const fn identity(&self) -> Identity {
        Identity::at(&self.place)
    }

    pub(super) const fn is_held(&self) -> bool {
        self.file.is_some()
    }

    /// Lets the file go; it is opened again where it is wanted.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    /// Whether all that was there at the last look is read.
    pub(super) fn is_at_end(&self) -> bool {
        self.next_byte() >= self.size
    }

    fn next_byte(&self) -> u64 {
        self.place.offset.saturating_add(self.lines.waiting() as u64)
    }

    /// Looks how long it is by now, and whether it was written anew. Tells whether it is still there.
    pub(super) fn look(&mut self, now: Now) -> Result<bool, Astray> {
        if self.file.is_none() && !self.reopen()? {
            return Ok(false);
        }
        let Some(file) = &self.file else { return Ok(false) };
        let look = Look::at(file)?;
        match self.place.next(&look.found()) {
            Next::On => {
                self.place = self.place.renewed(&look.found());
                // What has not ended is read once more: its writer may have taken it back, or written it anew.
                if self.lines.waiting() > 0 {
                    self.lines = place::lines(file, self.place.offset, LINE_MAX)?;
                }
            }
            Next::Rewritten | Next::Other => {
                self.place = Place::at_start(&look.found());
                self.lines = Lines::new(LINE_MAX);
                self.size = 0;
            }
        }
        if look.size > self.size {
            self.grew = now.mono;
        }
        self.size = look.size;
        Ok(true)
    }

    /// A file that has left its path has another name in its folder, or is not found.
    fn reopen(&mut self) -> Result<bool, Astray> {
        let opened = match self.left {
            None => place::regular(Path::new(&*self.unit))?,
            Some(_) => place::find(Path::new(&*self.unit), self.place)?.map(|(file, _)| file),
        };
        let Some(file) = opened else { return Ok(false) };
        if Look::at(&file)?.identity != self.identity() {
            return Ok(false);
        }
        self.lines = place::lines(&file, self.place.offset, LINE_MAX)?;
        self.file = Some(file);
        Ok(true)
    }

    /// Reads on for as long as its share lasts, and tells how many bytes that took.
    pub(super) fn read(
        &mut self,
        share: Share,
        buffer: &mut [u8],
        record: &mut Record<'_>,
    ) -> io::Result<usize> {
        let (mut lines, mut bytes) = (share.lines, 0);
        while lines > 0 && bytes < share.bytes && !self.is_at_end() {
            let Some(file) = &self.file else { break };
            if self.lines.is_passing() {
                self.place.offset = behind_hole(file, self.place.offset).min(self.size);
                if self.is_at_end() {
                    break;
                }
            }
            let at = self.next_byte();
            let wanted = usize::try_from(self.size - at).unwrap_or(CHUNK).min(buffer.len());
            let read = match file.read_at(&mut buffer[..wanted], at) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if read == 0 {
                // It is shorter than it was; the next look says what that means.
                self.size = at;
                break;
            }
            bytes += read;
            lines -= self.take(&buffer[..read], lines, record);
        }
        Ok(bytes)
    }

    /// Takes up to so many lines out of what was read, and tells how many these were.
    fn take(&mut self, chunk: &[u8], most: usize, record: &mut Record<'_>) -> usize {
        let at = self.next_byte();
        let mut rest = chunk;
        let mut taken = 0;
        while taken < most {
            let Some(line) = self.lines.next(&mut rest) else { break };
            if let Some(message) = line.text() {
                record.put(&self.unit, message);
                taken += 1;
            }
        }
        let read = at.saturating_add((chunk.len() - rest.len()) as u64);
        self.place.offset = read.saturating_sub(self.lines.waiting() as u64);
        taken
    }

    /// Gives the line that nobody has ended, of a file that nobody writes to any more.
    pub(super) fn finish(&mut self, record: &mut Record<'_>) {
        if let Some(message) = self.lines.last().and_then(Line::text) {
            record.put(&self.unit, message);
        }
    }
}

/// The next byte that was written, from here on: a hole ends no line, and anybody can make one of a terabyte.
fn behind_hole(file: &File, at: u64) -> u64 {
    match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(behind) => behind.max(at),
        // Nothing but a hole is left.
        Err(Errno::NXIO) => u64::MAX,
        // A file system that cannot tell is read.
        Err(_) => at,
    }
}

impl Record<'_> {
    fn put(&mut self, unit: &Arc<str>, message: String) {
        self.entries.push(LogEntry {
            timestamp: self.timestamp,
            source: LogSource::File,
            unit: Arc::clone(unit),
            message,
            severity: Severity::Info,
            hostname: Arc::clone(self.hostname),
        });
    }
}
