//! A file that others write: opened without following a link and without waiting, and told from another one that has
//! come into its place.

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::{DirEntryExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use rustix::{fs::OFlags, io::Errno};

/// From how many bytes of its beginning a file is known again.
pub(super) const HEAD_MAX: usize = 256;

/// How many names of a folder are looked at for a file that was renamed.
const NAMES_MAX: usize = 4_096;

/// The number of a file, which a rename does not change; it may be given to another file once this one is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl Identity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The beginning of a file, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Of how many bytes.
    pub(super) length: u64,
    pub(super) sum: u64,
}

impl Head {
    /// Of as much as there is.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        Self::of_first(file, HEAD_MAX)
    }

    /// Whether the file still begins like this.
    pub(super) fn is_of(self, file: &File) -> io::Result<bool> {
        let length = usize::try_from(self.length).unwrap_or(usize::MAX).min(HEAD_MAX);
        Ok(Self::of_first(file, length)? == self)
    }

    fn of_first(file: &File, most: usize) -> io::Result<Self> {
        let mut bytes = [0; HEAD_MAX];
        let mut length = 0;
        while let Some(room) = bytes.get_mut(length..most).filter(|room| !room.is_empty()) {
            match file.read_at(room, length as u64) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { length: length as u64, sum: fnv(bytes.get(..length).unwrap_or_default()) })
    }
}

/// FNV-1a of 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Opens a regular file to be read; a link in its place is none.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(plainly)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// What the kernel calls too many links is the one that stands there.
fn plainly(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => io::Error::other("it is a link: name the file that it leads to"),
        Some(_) | None => error,
    }
}

/// The file of this number among those beside `path`, as after a rename.
pub(super) fn beside(path: &Path, identity: Identity) -> Option<File> {
    let entries = fs::read_dir(path.parent()?).ok()?;
    let named = entries.take(NAMES_MAX).flatten().filter(|entry| entry.ino() == identity.inode);
    let mut files = named.filter_map(|entry| open(&entry.path()).ok());
    files.find(|file| file.metadata().is_ok_and(|found| Identity::of(&found) == identity))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, process::Command};

    use super::{HEAD_MAX, Head, Identity, beside, fnv, open};

    #[test]
    fn only_a_regular_file_that_stands_there_itself_is_opened_and_nothing_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::write(path("file"), "x").unwrap();
        symlink(path("file"), path("link")).unwrap();
        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        assert!(open(&path("file")).is_ok());
        let why = |name: &str| open(&path(name)).unwrap_err().to_string();
        assert!(why("link").contains("it is a link"), "{}", why("link"));
        assert!(why("pipe").contains("no regular file"), "{}", why("pipe"));
        assert!(open(home.path()).unwrap_err().to_string().contains("no regular file"));
        assert_eq!(open(&path("gone")).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_known_by_its_beginning_whatever_comes_behind_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        fs::write(&path, "abc").unwrap();
        let head = Head::of(&open(&path).unwrap()).unwrap();
        assert_eq!((head.length, head.sum), (3, fnv(b"abc")));
        fs::write(&path, "abcdef").unwrap();
        assert!(head.is_of(&open(&path).unwrap()).unwrap());
        for other in ["abx", "ab", ""] {
            fs::write(&path, other).unwrap();
            assert!(!head.is_of(&open(&path).unwrap()).unwrap(), "{other}");
        }
        fs::write(&path, vec![b'a'; 1000]).unwrap();
        assert_eq!(Head::of(&open(&path).unwrap()).unwrap().length, HEAD_MAX as u64);
    }

    #[test]
    fn the_sum_is_that_of_the_published_vectors() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_file_that_was_renamed_is_found_beside_its_place() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("audit.log");
        fs::write(&path, "old").unwrap();
        let identity = Identity::of(&fs::metadata(&path).unwrap());
        fs::rename(&path, home.path().join("audit.log.1")).unwrap();
        fs::write(&path, "new").unwrap();
        let found = beside(&path, identity).expect("it is beside");
        assert_eq!(std::io::read_to_string(found).unwrap(), "old");
        fs::remove_file(home.path().join("audit.log.1")).unwrap();
        assert!(beside(&path, identity).is_none());
    }
}
