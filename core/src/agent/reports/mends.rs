//! Files that do not say what is known, and are to be written again: a mark of delivery is missing, or a refused write may
//! have left something. Nobody waits for that, so few are under way at once, and the others until there is room.
//!
//! What a crash takes of them costs no more than a delivery that is made twice. What the disk refuses of them is tried
//! again when it has taken something else.

use alloc::{collections::BTreeSet, vec::Vec};

use super::{
    Effect, REPORTS_MAX, Reports,
    slot::{Errand, Slot, file},
};
use crate::wire::grammar::ReportKey;

/// How many are under way at once, so that none of them is long in the way of a write that somebody waits for.
pub const MENDS_MAX: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Mends {
    due: BTreeSet<ReportKey>,
    under_way: usize,
    /// Until the disk takes something.
    refused: BTreeSet<ReportKey>,
}

impl Mends {
    pub(super) fn want(&mut self, key: ReportKey) {
        self.due.insert(key);
    }

    /// The file has been written as a whole.
    pub(super) fn needless(&mut self, key: &ReportKey) {
        self.due.remove(key);
        self.refused.remove(key);
    }

    pub(super) fn is_due(&self, key: &ReportKey) -> bool {
        self.due.contains(key)
    }

    pub(super) fn due(&self) -> usize {
        self.due.len()
    }

    /// One that was under way is done, or was refused.
    pub(super) const fn ended(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// Beyond so many they are left to the next start.
    pub(super) fn refused(&mut self, key: ReportKey) {
        if self.refused.len() < REPORTS_MAX {
            self.refused.insert(key);
        }
    }

    /// The disk has taken a change.
    pub(super) fn recovered(&mut self) {
        self.due.append(&mut self.refused);
    }
}

impl Reports {
    /// Begins as many as there is room for; those of keys that are being written come behind.
    pub(super) fn mend(&mut self, effects: &mut Vec<Effect>) {
        while self.mends.under_way < MENDS_MAX
            && let Some(key) = self.next_mend()
        {
            self.mends.due.remove(&key);
            let is_unsynced = self.unsynced.contains_key(key.as_str());
            let slot = self.slots.entry(key.clone()).or_default();
            let change = slot.mending(&key, is_unsynced);
            slot.errand = Some(Errand::Mend);
            self.mends.under_way += 1;
            effects.push(Effect::Keep { file: file(&key), change });
        }
    }

    fn next_mend(&self) -> Option<ReportKey> {
        let is_free = |key: &&ReportKey| !self.slots.get(*key).is_some_and(Slot::is_busy);
        self.mends.due.iter().find(is_free).cloned()
    }
}
