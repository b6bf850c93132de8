//! One file of a spool, and the calls on it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;

use crate::voice::place;

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) bytes: u64,
    /// Those that are not done with.
    pub(super) records: u64,
}

fn flags() -> i32 {
    (OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK).bits().cast_signed()
}

/// A new file, which nothing stands in the place of.
pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(0o600).custom_flags(flags()).open(path)
}

/// Writes all behind `length` bytes and syncs it; what is not whole is cut off again.
pub(super) fn append(file: &mut File, length: u64, bytes: &[u8]) -> io::Result<()> {
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if written.is_err() {
        // Where not even this succeeds, the torn frame is passed over by its reader.
        let _ = file.set_len(length);
    }
    written
}

/// The whole of a regular file, or so many bytes of it.
pub(super) fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_from(path, 0, most)
}

/// So many bytes of a regular file at the most, from a place in it on.
pub(super) fn read_from(path: &Path, begin: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut file = place::open_own(path)?;
    if begin > 0 {
        file.seek(SeekFrom::Start(begin))?;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(flags());
    options.open(path)?.write_all(bytes)
}

/// A file that is gone already is as good.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
