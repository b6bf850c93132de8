//! The records of a file from a place on, of which no more is read than a batch takes.
//!
//! A batch of short records is a small part of a file: it is read through a window, and again through a larger one where
//! that held too little. What a window cuts off is not judged.

use std::{collections::VecDeque, io, mem, path::Path};

use meshward_core::wire::spool::{Found, Frames};

use super::segment::read_from;

/// How much of a file is read, whatever it holds: more than is ever written to one, which is twice the length at which the
/// next one is begun, and two records.
pub(super) const FILE_MAX: u64 = 32 << 20;

/// The first window: far more than the records of a usual batch.
const WINDOW_MIN: u64 = 256 << 10;
const WINDOW_GROWTH: u64 = 4;

/// What is wanted of a file.
pub(super) struct Wanted<D> {
    /// How many records at the most.
    pub(super) records: usize,
    /// About how many bytes of them at the most.
    pub(super) bytes: usize,
    /// What a record means, if anything.
    pub(super) decode: D,
}

/// Where a record is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) offset: u64,
    /// It, and those beside it that mean nothing.
    pub(super) frames: u64,
}

/// Some records of a file, one behind the other; without any nothing but damage is left of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<T> {
    pub(super) records: Vec<T>,
    /// Of each record.
    pub(super) ends: VecDeque<End>,
    /// Bytes beside them that are no records, or mean nothing.
    pub(super) damaged: usize,
    /// Those of the records.
    bytes: usize,
    /// How far it goes in the file.
    end: u64,
}

pub(super) fn read<T>(
    path: &Path,
    begin: u64,
    wanted: &Wanted<impl Fn(&[u8]) -> Option<T>>,
) -> io::Result<Part<T>> {
    read_through(path, begin, (wanted, WINDOW_MIN))
}

fn read_through<T>(
    path: &Path,
    begin: u64,
    (wanted, mut window): (&Wanted<impl Fn(&[u8]) -> Option<T>>, u64),
) -> io::Result<Part<T>> {
    let ends = VecDeque::new();
    let mut part = Part { records: Vec::new(), ends, damaged: 0, bytes: 0, end: begin };
    loop {
        let (begin, left) = (part.end, FILE_MAX.saturating_sub(part.end));
        let bytes = read_from(path, begin, window.min(left))?;
        let is_rest = window >= left || (bytes.len() as u64) < window;
        if part.take(&bytes, is_rest, wanted) {
            return Ok(part);
        }
        if part.end == begin {
            window = window.saturating_mul(WINDOW_GROWTH);
        }
    }
}

impl<T> Part<T> {
    /// Takes what is wanted of the bytes behind its last record, and tells whether that is all.
    fn take(
        &mut self,
        bytes: &[u8],
        is_rest: bool,
        wanted: &Wanted<impl Fn(&[u8]) -> Option<T>>,
    ) -> bool {
        let begin = self.end;
        let (mut frames, mut damaged) = (0, 0);
        let mut found = Frames::new(bytes, 0);
        while self.records.len() < wanted.records && self.bytes < wanted.bytes {
            match found.next() {
                Some(Found::Record { payload, end }) => {
                    frames += 1;
                    let Some(record) = (wanted.decode)(payload) else {
                        damaged += payload.len();
                        continue;
                    };
                    self.bytes += payload.len();
                    self.damaged += mem::take(&mut damaged);
                    self.end = begin.saturating_add(end as u64);
                    self.records.push(record);
                    self.ends.push_back(End { offset: self.end, frames: mem::take(&mut frames) });
                }
                Some(Found::Damaged { bytes }) => damaged += bytes,
                None if is_rest => {
                    self.damaged += damaged;
                    self.end = begin.saturating_add(bytes.len() as u64);
                    if let Some(last) = self.ends.back_mut() {
                        (last.offset, last.frames) = (self.end, last.frames + frames);
                    }
                    return true;
                }
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use meshward_core::wire::spool::frame;

    use super::*;

    /// Short and long records, with damage at the start, between two, and at the end.
    fn file() -> Vec<u8> {
        let mut bytes = vec![b'?'; 7];
        for number in 0..40_usize {
            assert!(frame(&mut bytes, &"x".repeat(number * number)));
            if number % 9 == 4 {
                // A torn frame, whose head says more than there is.
                let begun = bytes.len();
                assert!(frame(&mut bytes, &"torn".repeat(20)));
                bytes.truncate(begun + 40);
            }
        }
        bytes.truncate(bytes.len() - 1);
        bytes
    }

    /// Those of odd length mean nothing.
    fn even(payload: &[u8]) -> Option<usize> {
        payload.len().is_multiple_of(2).then_some(payload.len())
    }

    fn parts(path: &Path, (records, bytes): (usize, usize), window: u64) -> Vec<Part<usize>> {
        let wanted = Wanted { records, bytes, decode: even };
        let (mut parts, mut begin) = (Vec::new(), 0);
        loop {
            let part = read_through(path, begin, (&wanted, window)).unwrap();
            let end = part.ends.back().map(|end| end.offset);
            parts.push(part);
            let Some(end) = end else { return parts };
            assert!(end > begin);
            begin = end;
        }
    }

    #[test]
    fn whatever_is_read_at_once_the_same_records_and_damage_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, file()).unwrap();
        for most in [(1, usize::MAX), (7, usize::MAX), (usize::MAX, 1), (usize::MAX, 2_000)] {
            let whole = parts(&path, most, FILE_MAX);
            let frames = whole.iter().flat_map(|part| &part.ends).map(|end| end.frames);
            assert_eq!(frames.sum::<u64>(), 39);
            assert_eq!(whole.iter().map(|part| part.records.len()).sum::<usize>(), 20);
            for window in (1..200).step_by(13).chain([1_000, 1_500, 4_000]) {
                assert_eq!(parts(&path, most, window), whole, "{most:?} through {window} bytes");
            }
        }
    }

    #[test]
    fn the_first_window_holds_the_whole_of_a_usual_batch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut bytes = Vec::new();
        for number in 100_000..200_000 {
            assert!(frame(&mut bytes, &number));
        }
        fs::write(&path, &bytes).unwrap();
        fs::write(&path, &bytes[..WINDOW_MIN as usize]).unwrap();
        let wanted = Wanted { records: 200, bytes: usize::MAX, decode: |_: &[u8]| Some(()) };
        let part = read(&path, 0, &wanted).unwrap();
        assert_eq!(part.records.len(), 200, "the first window holds all of them");
        let one = part.ends[0];
        assert_eq!(part.ends[199], End { offset: 200 * one.offset, frames: 1 });
    }
}
