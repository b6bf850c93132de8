//! How the journal is read on from where the last round ended.
//!
//! | What is known | What is asked for |
//! |---|---|
//! | nothing yet | the last minute |
//! | the last entry that was read | that entry and what stands behind it, in order; it is there, or something is lost |
//! | it is gone, and later entries are there | these; that some are lost is told |
//! | it is gone, and nothing stands behind its place | the last minute; that some may be lost is told |
//! | the last round failed, or was late, and came to nothing | the same, but for long messages: one may take more than a run has |
//! | the tool is missing | nothing, for five minutes |
//!
//! A round is one run of the tool, or two where the first one leads nowhere.
//!
//! Specification: `gaps-agent.md` section 4.1 (journald); `decisions.md` section 8 (Offsets and cursors of log sources).

use alloc::string::String;
use core::time::Duration;

use super::is_cursor;
use crate::{time::Mono, wire::positions::Position};

/// When a tool that is missing is looked for again.
pub const AGAIN: Duration = Duration::from_secs(300);

/// Where the reading of a journal stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The last entry that was read.
    cursor: Option<String>,
    /// The last round came to nothing, so that the next one leaves long messages out.
    is_brief: bool,
    /// In the second run of a round.
    is_second: bool,
    /// The tool is missing, and is not asked before.
    missing_until: Option<Mono>,
    /// How many lines behind the last entry that was read are none, and were counted.
    passed: u64,
}

/// What the tool is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// This entry and what stands behind it; the last minute where there is none.
    pub from: Option<String>,
    /// Without the messages that are long.
    pub is_brief: bool,
}

/// How a run of the tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It had no more to say, and no fault.
    Good,
    /// It had no more to say, and a fault.
    Failed,
    /// Enough was taken of it.
    Enough,
    /// Its time was over.
    Late,
}

/// What a run has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The last entry that it brought, whatever that was.
    pub last: Option<String>,
    /// The entry from which was asked was among them.
    pub is_found: bool,
    pub end: End,
    /// Lines that are no entries, behind the entry from which was asked and before another one ...
    pub first_bad: u64,
    /// ... and behind the last one, which the next run meets again.
    pub last_bad: u64,
}

/// What follows from a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Move {
    /// What it brought stands right behind what was read before.
    Follow,
    /// What it brought stands behind what was read before, and entries between are lost.
    Gap,
    /// What it brought is where the reading begins anew; what stands between may be lost.
    Anew,
    /// Nothing can be read, which says nothing of the last entry.
    Unreadable,
    /// The tool is run once more.
    Again(Ask),
}

impl Reading {
    /// Goes on from what is kept, where that can be a place of a journal. Tells whether it can, or nothing is kept.
    pub fn go_on(&mut self, kept: Option<&Position>) -> bool {
        match kept {
            None => true,
            Some(Position::Cursor(cursor)) if is_cursor(cursor) => {
                self.cursor = Some(cursor.clone());
                true
            }
            Some(Position::Cursor(_) | Position::Offset { .. }) => self.cursor.is_some(),
        }
    }

    /// Where it goes on; absent before anything was read.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.cursor.clone().map(Position::Cursor)
    }

    /// Begins a round; none while the tool is missing.
    pub fn begin(&mut self, now: Mono) -> Option<Ask> {
        if self.missing_until.is_some_and(|until| now < until) {
            return None;
        }
        self.is_second = false;
        Some(Ask { from: self.cursor.clone(), is_brief: self.is_brief })
    }

    /// Ends a round of a tool that is not there.
    pub const fn missing(&mut self, now: Mono) {
        self.missing_until = Some(now.after(AGAIN));
    }

    /// Goes on behind a run of the tool. Tells also how many of its lines that are no entries were counted by an earlier one.
    pub fn ran(&mut self, ran: Ran) -> (Move, u64) {
        self.missing_until = None;
        let leads_nowhere = ran.last.is_none() && matches!(ran.end, End::Good | End::Failed);
        let next = match (&self.cursor, self.is_second) {
            (Some(_), false) if leads_nowhere => {
                self.is_second = true;
                return (Move::Again(Ask { from: None, is_brief: self.is_brief }), 0);
            }
            (Some(_), false) if ran.last.is_some() && !ran.is_found => Move::Gap,
            (None, _) | (Some(_), false) => Move::Follow,
            (Some(_), true) if ran.end == End::Failed => Move::Unreadable,
            (Some(_), true) => Move::Anew,
        };
        let met = if next == Move::Unreadable { 0 } else { self.meet(&ran) };
        let is_nothing = next == Move::Unreadable || self.move_to(ran.last, next == Move::Anew);
        self.is_brief = !self.is_brief && ran.end != End::Good && is_nothing;
        (next, met)
    }

    /// A run that came to the same entry, or to none yet, meets what an earlier one has passed over.
    fn meet(&mut self, ran: &Ran) -> u64 {
        let is_same = ran.is_found || self.cursor.is_none();
        let met = if is_same { self.passed.min(ran.first_bad) } else { 0 };
        if ran.last.is_some() && ran.last != self.cursor {
            self.passed = ran.last_bad;
        } else if is_same {
            self.passed = self.passed.max(ran.first_bad);
        }
        met
    }

    /// Goes on behind this entry, if there is one. Tells whether that is where it was.
    fn move_to(&mut self, last: Option<String>, is_anew: bool) -> bool {
        let next = if is_anew { last } else { last.or_else(|| self.cursor.clone()) };
        let is_same = next == self.cursor;
        self.cursor = next;
        is_same
    }
}
