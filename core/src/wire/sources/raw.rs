//! Names as they were read: any bytes made a text, and what is too long cut without a mark.

use alloc::string::String;

use crate::wire::record::TEXT_MAX;

/// The most bytes of one character.
const CHARACTER_MAX: usize = 4;

/// How many bytes of a text are looked at; one that is longer need not be held.
pub(in crate::wire) const LOOKED_MAX: usize = TEXT_MAX + CHARACTER_MAX;

/// The bytes as a text of at most `most` bytes, without a mark where there were more.
pub fn short(bytes: &[u8], most: usize) -> String {
    let looked = bytes.get(..most + CHARACTER_MAX).unwrap_or(bytes);
    let mut text = String::from_utf8_lossy(looked).into_owned();
    text.truncate(text.floor_char_boundary(most));
    text
}
