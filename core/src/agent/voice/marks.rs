//! The marks of the feeds of one pipeline: each waits until every record in front of it is sent or given up.

use alloc::{collections::VecDeque, string::String, vec::Vec};

use crate::wire::positions::{POSITIONS_MAX, Position};

/// How many marks wait at most. One that is left out does no harm: its place is read again from an earlier one, or goes
/// on from a later one.
pub const MARKS_MAX: usize = 4 * POSITIONS_MAX;

/// A place, and where it goes on.
pub(super) type Mark = (String, Option<Position>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Each with the number of the record behind it, in ascending order.
    waiting: VecDeque<(u64, Mark)>,
}

impl Marks {
    /// Marks that stand in front of the record with this number.
    pub(super) fn push(&mut self, behind: u64, marks: Vec<Mark>) {
        self.waiting.extend(marks.into_iter().map(|mark| (behind, mark)));
        let over = self.waiting.len().saturating_sub(MARKS_MAX);
        self.waiting.drain(..over);
    }

    /// Whether one of a place waits.
    pub(super) fn hold(&self, place: &str) -> bool {
        self.waiting.iter().any(|(_, (name, _))| name == place)
    }

    /// Takes those in front of which no record is left, the oldest record being that of this number.
    pub(super) fn settle(&mut self, oldest: u64) -> Vec<Mark> {
        let settled = self.waiting.partition_point(|(behind, _)| *behind <= oldest);
        self.waiting.drain(..settled).map(|(_, mark)| mark).collect()
    }
}
