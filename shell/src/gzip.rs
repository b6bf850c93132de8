//! One compressor for all batches, whose state and buffer are kept between them.
//!
//! A new one costs as much as a small batch: a quarter of a megabyte that is cleared.

use flate2::{Compress, Compression, FlushCompress, Status};

/// The least level whose output is within a twentieth of that of the usual encoder at its usual level 6.
const LEVEL: u32 = 4;

/// The window of the format, as a power of two.
const WINDOW_BITS: u8 = 15;

/// How much room the buffer is given at once, and how much of it is kept behind a batch.
const STEP: usize = 32 << 10;
const KEPT_MAX: usize = 1 << 20;

/// A compressor that is used again and again.
#[derive(Debug)]
pub struct Packer {
    compress: Compress,
    buffer: Vec<u8>,
}

impl Default for Packer {
    fn default() -> Self {
        Self::new()
    }
}

impl Packer {
    pub fn new() -> Self {
        Self {
            compress: Compress::new_gzip(Compression::new(LEVEL), WINDOW_BITS),
            buffer: Vec::new(),
        }
    }

    /// The bytes as one member of gzip; `None` where the compressor fails, which it has no reason to.
    pub fn pack(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.compress.reset();
        self.buffer.clear();
        loop {
            let read = usize::try_from(self.compress.total_in()).ok()?;
            self.buffer.reserve(STEP);
            let rest = bytes.get(read..)?;
            let status =
                self.compress.compress_vec(rest, &mut self.buffer, FlushCompress::Finish).ok()?;
            match status {
                Status::StreamEnd => break,
                Status::Ok | Status::BufError => {}
            }
        }
        let packed = self.buffer.as_slice().to_vec();
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_MAX);
        Some(packed)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::MultiGzDecoder;

    use super::Packer;

    fn inflated(packed: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        MultiGzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_packed_is_the_same_behind_it_however_often_the_compressor_was_used() {
        let mut packer = Packer::new();
        let noise: Vec<u8> =
            (0..300_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for bytes in [&b""[..], b"one", &[b'x'; 1 << 20], &noise, b"one"] {
            let packed = packer.pack(bytes).unwrap();
            assert_eq!(inflated(&packed), bytes);
        }
        assert_eq!(packer.pack(b"one"), packer.pack(b"one"));
    }

    #[test]
    fn what_repeats_itself_becomes_small() {
        let line = "{\"severity\":\"info\",\"message\":\"the same again\"}\n".repeat(1_000);
        assert!(Packer::new().pack(line.as_bytes()).unwrap().len() < line.len() / 50);
    }
}
