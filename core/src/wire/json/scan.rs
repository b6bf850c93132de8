//! How far a string goes on without a byte that means something, eight bytes at a look.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The number of bytes in front of the first quote, backslash or control character.
pub(super) fn plain(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return at * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let tail = rest.iter().take_while(|byte| !is_special(**byte)).count();
    words.len() * 8 + tail
}

const fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Sets the highest bit of each special byte. A byte behind one may be marked by a borrow, the lowest mark is right.
const fn marks(word: u64) -> u64 {
    let quotes = zeros(word ^ (ONES * b'"' as u64));
    let backslashes = zeros(word ^ (ONES * b'\\' as u64));
    let controls = word.wrapping_sub(ONES * b' ' as u64) & !word;
    (quotes | backslashes | controls) & HIGHS
}

const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plainly(bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| !is_special(**byte)).count()
    }

    #[test]
    fn every_byte_at_every_place_is_judged_as_one_by_one() {
        for byte in 0..=u8::MAX {
            for length in 0..26 {
                for place in 0..length {
                    for filler in [b'a', 0x21, 0x80, 0xff, 0xa2, 0xdc] {
                        let mut bytes = [filler; 26];
                        bytes[place] = byte;
                        let bytes = &bytes[..length];
                        assert_eq!(plain(bytes), plainly(bytes), "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_of_two_special_bytes_counts() {
        for first in 0..=u8::MAX {
            for second in [0, 1, 0x1f, b'"', b'\\', 0x80, 0x9f, 0xa2] {
                for place in 0..7 {
                    let mut bytes = [b'x'; 9];
                    (bytes[place], bytes[place + 1]) = (first, second);
                    assert_eq!(plain(&bytes), plainly(&bytes), "{bytes:?}");
                }
            }
        }
    }
}
