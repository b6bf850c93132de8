//! Whether a file is the one that was read before, and where it goes on.
//!
//! | What is found | Is |
//! |---|---|
//! | the same inode, the same start, at least as long as it was read | the same file, which goes on |
//! | the same inode, another start or fewer bytes | a file that was emptied and written anew, from its start |
//! | another inode | another file; the one before may have a new name |
//!
//! The number of the device counts only where the start is too short to tell files apart, since it may change when the
//! host is started again.
//!
//! Specification: "Limits" (File log source); `gaps-agent.md` section 4.1 (files).

use crate::wire::positions::Position;

/// How much of the start of a file tells it apart from others, in bytes.
pub const HEAD_MAX: usize = 256;

/// With so many bytes, the start and the inode are enough.
const HEAD_SURE: u64 = 64;

/// Up to where a file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub device: u64,
    pub inode: u64,
    /// In bytes.
    pub offset: u64,
    pub head: Head,
}

/// The start of a file: FNV-1a of its first bytes, and how many these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub length: u64,
    pub digest: u64,
}

/// A file as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'b> {
    pub device: u64,
    pub inode: u64,
    /// In bytes.
    pub size: u64,
    /// Its first bytes, [`HEAD_MAX`] of them where it has that many.
    pub start: &'b [u8],
}

/// What a file is to the place that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    On,
    Other,
    Rewritten,
}

impl Place {
    /// Before the first byte of a file.
    pub fn at_start(found: &Found<'_>) -> Self {
        let Found { device, inode, .. } = *found;
        Self { device, inode, offset: 0, head: Head::of(lasting(found.start, 0)) }
    }

    /// The same place, with the start of the file as it is by now.
    #[must_use]
    pub fn renewed(self, found: &Found<'_>) -> Self {
        let head = Head::of(lasting(found.start, self.offset));
        Self { offset: self.offset, head, ..Self::at_start(found) }
    }

    /// What is found instead of the file that was known.
    pub fn next(&self, found: &Found<'_>) -> Next {
        let is_sure = self.head.length >= HEAD_SURE;
        if self.inode != found.inode || (self.device != found.device && !is_sure) {
            return Next::Other;
        }
        let is_same = self.head.is_of(found.start);
        if is_same && self.offset <= found.size {
            return Next::On;
        }
        if self.device == found.device { Next::Rewritten } else { Next::Other }
    }

    /// `None` of a place that is none in a file.
    pub const fn read(position: &Position) -> Option<Self> {
        match *position {
            Position::Cursor(_) => None,
            Position::Offset { device, inode, offset, head_len: length, head: digest } => {
                Some(Self { device, inode, offset, head: Head { length, digest } })
            }
        }
    }

    /// As it is kept.
    pub const fn position(self) -> Position {
        let Self { device, inode, offset, head: Head { length, digest } } = self;
        Position::Offset { device, inode, offset, head_len: length, head: digest }
    }
}

/// What was read of the start, and the lines that have ended, since another one may be taken back; where there are none,
/// all of it.
fn lasting(start: &[u8], read: u64) -> &[u8] {
    let start = &start[..start.len().min(HEAD_MAX)];
    let read = usize::try_from(read).unwrap_or(usize::MAX).min(start.len());
    let end = start.iter().rposition(|byte| *byte == b'\n').map_or(start.len(), |end| end + 1);
    &start[..end.max(read)]
}

impl Head {
    /// Of the first bytes of a file, of which the first [`HEAD_MAX`] count.
    pub fn of(start: &[u8]) -> Self {
        let start = &start[..start.len().min(HEAD_MAX)];
        let digest = start
            .iter()
            .fold(FNV_OFFSET, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(FNV_PRIME));
        Self { length: start.len() as u64, digest }
    }

    fn is_of(self, start: &[u8]) -> bool {
        let length = usize::try_from(self.length).unwrap_or(usize::MAX);
        start.get(..length).is_some_and(|start| Self::of(start) == self)
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
