//! Frames of records on the disk: whatever became of a file, each frame that is whole in it is found, and as it was.

use arbitrary::{Result, Unstructured};
use meshward_core::wire::spool::{
    Found, Frames, HEAD_LEN, MARK, Place, RECORD_MAX, frame, read, segment_name, segment_number,
};

/// How many frames a file has at most, and how often it is damaged.
const FRAMES_MAX: usize = 12;
const DAMAGES_MAX: usize = 8;

/// What befalls a file. Places are counted on from its beginning, once round where they are beyond its end.
#[derive(Debug)]
enum Damage {
    Flip {
        at: u16,
        bits: u8,
    },
    Cut {
        at: u16,
    },
    Remove {
        at: u16,
        count: u8,
    },
    Insert {
        at: u16,
        bytes: Vec<u8>,
    },
    /// The beginning of a frame that is said to be so long.
    Head {
        at: u16,
        sum: u32,
        length: u32,
    },
    /// A part of the file stands in it once more.
    Repeat {
        from: u16,
        count: u8,
        at: u16,
    },
}

/// The bytes as a file, then as what befalls one that was written.
pub fn spool(bytes: &[u8]) {
    for at in [0, bytes.len() / 2, bytes.len(), usize::MAX] {
        walk(bytes, at);
    }
    if let Some(place) = Place::decode(bytes) {
        assert_eq!(Place::decode(&place.encode()), Some(place));
    }
    let name = String::from_utf8_lossy(bytes);
    if let Some(number) = segment_number(&name) {
        assert_eq!(segment_name(number), name);
    }
    let mut drawn = Unstructured::new(bytes);
    let texts = drawn.arbitrary::<Vec<String>>().unwrap_or_default();
    let damages = (0..DAMAGES_MAX).map_while(|_| Damage::drawn(&mut drawn).ok()).collect();
    written(texts, damages);
}

/// Every byte is part of one thing that is found, in their order; what is found is a frame.
fn walk(bytes: &[u8], begin: usize) -> Vec<(usize, &[u8])> {
    let mut at = begin;
    let mut frames = Vec::new();
    let mut was_damaged = false;
    for found in Frames::new(bytes, begin) {
        match found {
            Found::Record { payload, end } => {
                assert_eq!(end, at + HEAD_LEN + payload.len(), "nothing lies between");
                assert!(bytes[at..].starts_with(&MARK) && payload.len() <= RECORD_MAX);
                frames.push((at, payload));
                (at, was_damaged) = (end, false);
            }
            Found::Damaged { bytes } => {
                assert!(bytes > 0 && !was_damaged, "what is damaged is told at once");
                (at, was_damaged) = (at + bytes, true);
            }
        }
    }
    assert_eq!(at, begin.max(bytes.len()), "it is read to its end");
    frames
}

/// A byte of a file, with the frame that it was written for.
type Written = (u8, Option<usize>);

fn written(texts: Vec<String>, damages: Vec<Damage>) {
    let mut file: Vec<Written> = Vec::new();
    let mut frames = Vec::new();
    for (number, text) in texts.into_iter().take(FRAMES_MAX).enumerate() {
        let mut bytes = Vec::new();
        assert!(frame(&mut bytes, &text), "it is short");
        file.extend(bytes.iter().map(|byte| (*byte, Some(number))));
        frames.push(bytes);
    }
    damages.into_iter().for_each(|damage| damage.befalls(&mut file));
    let bytes: Vec<u8> = file.iter().map(|(byte, _)| *byte).collect();
    let found = walk(&bytes, 0);
    for (_, payload) in &found {
        let again = read::<String>(payload).map(|text| {
            let mut bytes = Vec::new();
            assert!(frame(&mut bytes, &text));
            bytes
        });
        if let Ok(again) = again {
            assert!(frames.contains(&again), "what is read back was written");
        }
    }
    for (number, frame) in frames.iter().enumerate() {
        let Some(at) = whole(&file, number, frame) else { continue };
        let payload = &frame[HEAD_LEN..];
        assert!(found.contains(&(at, payload)), "frame {number} is whole and not found");
    }
}

/// Where a frame stands that nothing has befallen.
fn whole(file: &[Written], number: usize, frame: &[u8]) -> Option<usize> {
    let at = file.iter().position(|(_, of)| *of == Some(number))?;
    let there = file.get(at..at + frame.len())?;
    let is_whole = there.iter().zip(frame).all(|(there, byte)| *there == (*byte, Some(number)));
    is_whole.then_some(at)
}

impl Damage {
    /// None where nothing is left to draw from.
    fn drawn(from: &mut Unstructured<'_>) -> Result<Self> {
        if from.is_empty() {
            return Err(arbitrary::Error::NotEnoughData);
        }
        let (kind, at) = (from.int_in_range(0..=5)?, from.arbitrary()?);
        Ok(match kind {
            0 => Self::Flip { at, bits: from.arbitrary()? },
            1 => Self::Cut { at },
            2 => Self::Remove { at, count: from.arbitrary()? },
            3 => Self::Insert { at, bytes: from.arbitrary()? },
            4 => Self::Head { at, sum: from.arbitrary()?, length: from.arbitrary()? },
            _ => Self::Repeat { from: from.arbitrary()?, count: from.arbitrary()?, at },
        })
    }

    fn befalls(self, file: &mut Vec<Written>) {
        let place = |at: u16, file: &[Written]| usize::from(at) % (file.len() + 1);
        match self {
            Self::Flip { at, bits } => {
                let at = place(at, file);
                file.get_mut(at).into_iter().for_each(|(byte, _)| *byte ^= bits);
            }
            Self::Cut { at } => file.truncate(place(at, file)),
            Self::Remove { at, count } => {
                let at = place(at, file);
                file.drain(at..(at + usize::from(count)).min(file.len()));
            }
            Self::Insert { at, bytes } => put(file, place(at, file), bytes),
            Self::Head { at, sum, length } => {
                let parts = [MARK, sum.to_le_bytes(), length.to_le_bytes()];
                put(file, place(at, file), parts.concat());
            }
            Self::Repeat { from, count, at } => {
                let from = place(from, file);
                let end = (from + usize::from(count)).min(file.len());
                let part = file[from..end].iter().map(|(byte, _)| *byte).collect();
                put(file, place(at, file), part);
            }
        }
    }
}

fn put(file: &mut Vec<Written>, at: usize, bytes: Vec<u8>) {
    file.splice(at..at, bytes.into_iter().map(|byte| (byte, None)));
}
