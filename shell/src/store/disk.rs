//! The few operations on the data directory that the [`Vault`](super::vault::Vault) is made of, so that tests can stop
//! between any two of them.

use std::io;

use zeroize::Zeroizing;

/// The largest file that is read where nothing else is said; an identity file is a few hundred bytes.
pub(super) const FILE_MAX: usize = 64 * 1024;

/// What stands under a name.
pub(super) enum Found {
    Missing,
    /// Not a regular file of at most so many bytes; the text tells what it is.
    Foreign(&'static str),
    Bytes(Zeroizing<Vec<u8>>),
}

/// What names a directory holds.
pub(super) struct Names {
    pub(super) names: Vec<String>,
    /// How many others there are, which are not UTF-8.
    pub(super) foreign: usize,
}

/// One directory. Nothing outlives a power failure before the matching `sync` has returned.
pub(super) trait Disk {
    type File;

    /// Creates a file that was not there, readable by its owner only.
    fn create(&mut self, name: &str) -> io::Result<Self::File>;
    /// Opens a regular file that is there, to be written from its beginning.
    fn reopen(&mut self, name: &str) -> io::Result<Self::File>;
    /// Writes all of it.
    fn write(&mut self, file: &mut Self::File, bytes: &[u8]) -> io::Result<()>;
    /// Takes away what a file has beyond so many bytes.
    fn cut(&mut self, file: &mut Self::File, length: usize) -> io::Result<()>;
    /// Makes the content of a file durable.
    fn sync_file(&mut self, file: &mut Self::File) -> io::Result<()>;
    /// Puts a file in the place of another.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;
    fn unlink(&mut self, name: &str) -> io::Result<()>;
    /// Reads a file of at most `most` bytes.
    fn read_within(&mut self, name: &str, most: usize) -> io::Result<Found>;
    /// Reads a file of at most [`FILE_MAX`] bytes.
    fn read(&mut self, name: &str) -> io::Result<Found> {
        self.read_within(name, FILE_MAX)
    }
    fn names(&mut self) -> io::Result<Names>;
    /// Makes the names in the directory durable.
    fn sync(&mut self) -> io::Result<()>;
    /// How a path from the directory to a folder beside it begins: with its own name. Absent where it has none.
    fn beside(&self) -> Option<String>;
    /// Creates a folder that was not there, open to its owner only; one beside the directory is durable at once.
    fn make_folder(&mut self, folder: &str) -> io::Result<()>;
    /// Removes a folder that is empty.
    fn remove_folder(&mut self, folder: &str) -> io::Result<()>;
    /// Moves whatever stands under a name into a folder.
    fn move_into(&mut self, name: &str, folder: &str) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_folder(&mut self, folder: &str) -> io::Result<()>;
}
