//! The text of a record as it was read: any bytes made a text, and what is too long cut.

use alloc::string::String;

use crate::wire::record::{CUT, TEXT_MAX};

/// The most bytes of one character.
const CHARACTER_MAX: usize = 4;

/// How many bytes of a text are looked at; one that is longer need not be held.
pub(in crate::wire) const LOOKED_MAX: usize = TEXT_MAX + CHARACTER_MAX;

/// The bytes as a text of at most [`TEXT_MAX`] bytes, behind which [`CUT`] stands where there were more.
pub fn cut(bytes: &[u8]) -> String {
    // A character that is torn here lies behind what is kept.
    let looked = bytes.get(..LOOKED_MAX).unwrap_or(bytes);
    let mut text = String::from_utf8_lossy(looked).into_owned();
    if text.len() > TEXT_MAX {
        text.truncate(text.floor_char_boundary(TEXT_MAX));
        text.push_str(CUT);
    }
    text
}

/// The bytes as a text of at most `most` bytes, without a mark where there were more.
pub fn short(bytes: &[u8], most: usize) -> String {
    let looked = bytes.get(..most + CHARACTER_MAX).unwrap_or(bytes);
    let mut text = String::from_utf8_lossy(looked).into_owned();
    text.truncate(text.floor_char_boundary(most));
    text
}
