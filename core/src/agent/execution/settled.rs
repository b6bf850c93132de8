//! The executions this node is done with, by the digest of their ids: those that the last pull lists, and the latest of
//! the others.
//!
//! One that is listed is never forgotten, however many there are: a pull holds no more than [`LISTED_MAX`] that count.

use alloc::collections::{BTreeSet, VecDeque};

use sha2::{Digest as _, Sha256};

use super::LISTED_MAX;
use crate::ids::ExecutionId;

/// How many settled executions are remembered that no pull lists any more.
pub const SETTLED_MAX: usize = 8192;

/// The most that are held between two pulls: each settles no more than it lists.
const HELD_MAX: usize = SETTLED_MAX + 2 * LISTED_MAX;

/// So long an id costs no memory.
type Mark = [u8; 32];

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Settled {
    known: BTreeSet<Mark>,
    /// The same, the oldest first.
    order: VecDeque<Mark>,
}

impl Settled {
    pub(super) fn contains(&self, execution: &ExecutionId) -> bool {
        self.known.contains(&mark(execution))
    }

    pub(super) fn insert(&mut self, execution: &ExecutionId) {
        let mark = mark(execution);
        if self.known.insert(mark) {
            self.order.push_back(mark);
            self.forget(self.order.len().saturating_sub(HELD_MAX));
        }
    }

    /// Forgets the oldest beyond the limit, but for those that are listed.
    pub(super) fn listed(&mut self, listed: &BTreeSet<ExecutionId>) {
        if self.order.len() <= SETTLED_MAX {
            return;
        }
        let listed: BTreeSet<_> = listed.iter().map(mark).collect();
        let (kept, unlisted): (VecDeque<_>, VecDeque<_>) =
            self.order.drain(..).partition(|mark| listed.contains(mark));
        let surplus = unlisted.len().saturating_sub(SETTLED_MAX);
        self.order = unlisted.into_iter().chain(kept).collect();
        self.forget(surplus);
    }

    fn forget(&mut self, count: usize) {
        for mark in self.order.drain(..count) {
            self.known.remove(&mark);
        }
    }
}

fn mark(execution: &ExecutionId) -> Mark {
    Sha256::digest(&execution.0).into()
}
