//! The records of a file from a place on, of which no more is read than a batch takes.
//!
//! A batch of short records is a small part of a file: it is read through a window, and again through a larger one where
//! that held too little. What a window cuts off is not judged.

use std::{io, mem, path::Path};

use meshward_core::wire::spool::{Found, Frames};

use super::segment::read_from;

/// How much of a file is read, whatever it holds: more than is ever written to one, which is twice the length at which the
/// next one is begun, and two records.
pub(super) const FILE_MAX: u64 = 32 << 20;

/// The first window: far more than the records of a usual batch.
const WINDOW_MIN: u64 = 256 << 10;
const WINDOW_GROWTH: u64 = 4;

/// Some records of a file, one behind the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) payloads: Vec<Vec<u8>>,
    /// Bytes between them that are no records.
    pub(super) damaged: usize,
    /// Where the last of them ends, if there is one; without it nothing but damage is left of the file.
    pub(super) end: Option<u64>,
}

/// At most so many records and about so many bytes of them.
pub(super) fn read(path: &Path, begin: u64, most: (usize, usize)) -> io::Result<Part> {
    read_through(path, begin, (most, WINDOW_MIN))
}

fn read_through(
    path: &Path,
    begin: u64,
    (most, mut window): ((usize, usize), u64),
) -> io::Result<Part> {
    loop {
        let left = FILE_MAX.saturating_sub(begin);
        let bytes = read_from(path, begin, window.min(left))?;
        let is_rest = window >= left || (bytes.len() as u64) < window;
        if let Some(part) = take(&bytes, begin, (most, is_rest)) {
            return Ok(part);
        }
        window = window.saturating_mul(WINDOW_GROWTH);
    }
}

/// Nothing where the bytes hold too little, and are not the rest of the file.
fn take(
    bytes: &[u8],
    begin: u64,
    ((most, most_bytes), is_rest): ((usize, usize), bool),
) -> Option<Part> {
    let (mut part, mut taken, mut between) = (Part::default(), 0, 0);
    let mut found = Frames::new(bytes, 0);
    while part.payloads.len() < most && taken < most_bytes {
        match found.next() {
            Some(Found::Record { payload, end }) => {
                taken += payload.len();
                part.damaged += mem::take(&mut between);
                part.end = Some(begin.saturating_add(end as u64));
                part.payloads.push(payload.to_vec());
            }
            Some(Found::Damaged { bytes }) => between += bytes,
            None if is_rest => {
                part.damaged += between;
                break;
            }
            None => return None,
        }
    }
    Some(part)
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

    fn parts(path: &Path, most: (usize, usize), window: u64) -> Vec<Part> {
        let (mut parts, mut begin) = (Vec::new(), 0);
        loop {
            let part = read_through(path, begin, (most, window)).unwrap();
            let end = part.end;
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
            assert_eq!(whole.iter().map(|part| part.payloads.len()).sum::<usize>(), 39);
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
        for number in 0..100_000 {
            assert!(frame(&mut bytes, &number));
        }
        fs::write(&path, &bytes).unwrap();
        let part = read(&path, 0, (200, usize::MAX)).unwrap();
        assert_eq!(part.payloads.len(), 200);
        let window = take(&bytes[..WINDOW_MIN as usize], 0, ((200, usize::MAX), false));
        assert_eq!(window, Some(part), "the first window holds all of it");
    }
}
