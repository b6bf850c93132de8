//! The answer to the last pull, kept for as long as nothing can have changed it: most nodes pull the same thing again.
//!
//! Whatever moves the desired state or an execution drops it; time does where an entry lapses, or is set back.
//!
//! Specification: "GET /v1/nodes/{id}/state".

use alloc::vec::Vec;
use core::fmt;

use crate::time::Wall;

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pulled {
    body: Vec<u8>,
    from: Wall,
    /// When the first entry in it lapses.
    until: Option<Wall>,
}

impl Pulled {
    pub(super) const fn new(body: Vec<u8>, from: Wall, until: Option<Wall>) -> Self {
        Self { body, from, until }
    }

    /// The answer, if it is still the one of this moment.
    pub(super) fn at(&self, wall: Wall) -> Option<Vec<u8>> {
        let holds = self.from <= wall && self.until.is_none_or(|until| wall < until);
        holds.then(|| self.body.clone())
    }
}

impl fmt::Debug for Pulled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes from {:?} until {:?}", self.body.len(), self.from, self.until)
    }
}
