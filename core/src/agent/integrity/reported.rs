//! What this process has reported, so that it does so once.

use alloc::{
    collections::{BTreeSet, VecDeque},
    string::String,
};

use super::judge::Artifact;

/// How many reports are remembered; behind these the oldest is forgotten, and would be made again.
pub const REPORTED_MAX: usize = 4096;

/// A file, and what was seen of it.
type Report = (Artifact, String);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reported {
    known: BTreeSet<Report>,
    /// The same, the oldest first.
    order: VecDeque<Report>,
}

impl Reported {
    pub(super) fn contains(&self, report: &Report) -> bool {
        self.known.contains(report)
    }

    pub(super) fn insert(&mut self, report: Report) {
        if self.known.insert(report.clone()) {
            self.order.push_back(report);
        }
        if self.order.len() > REPORTED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}
