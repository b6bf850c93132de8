//! The checksum of a fingerprint: the CRC-32 of ITU V.42.

const POLYNOMIAL: u32 = 0xedb8_8320;

/// Bit by bit: a message is short, and few are read.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (POLYNOMIAL & (crc & 1).wrapping_neg())
        })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_has_its_check_value() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
