//! The checksum of the running image, read through the process and not by its path, where another file may stand.
//!
//! Specification: `binary_checksum` in `decisions.md` section 5.

use std::{
    fs::File,
    io::{self, Read},
};

use meshward_core::wire::grammar::Checksum;
use sha2::{Digest, Sha256};

const CHUNK: usize = 64 * 1024;

/// Reads the whole image; it blocks.
pub fn checksum() -> io::Result<Checksum> {
    digest(&mut File::open("/proc/self/exe")?)
}

/// Reads to the end, a piece at a time; it blocks.
pub(crate) fn digest(image: &mut impl Read) -> io::Result<Checksum> {
    let mut digest = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match image.read(&mut chunk) {
            Ok(0) => return Ok(Checksum::from_bytes(digest.finalize().into())),
            Ok(length) => digest.update(&chunk[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_that_of_the_file_this_test_runs_from() {
        let path = std::env::current_exe().unwrap();
        let output = std::process::Command::new("sha256sum").arg(path).output().unwrap();
        let hex = String::from_utf8(output.stdout).unwrap();
        let expected = meshward_core::wire::grammar::Checksum::parse(&hex[..64]).unwrap();
        assert_eq!(super::checksum().unwrap(), expected);
    }
}
