//! The file of how far sources were read: one change of it at a time, and not more than one a while.
//!
//! Specification: `decisions.md` section 8 (Offsets and cursors of log sources).

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;

use super::{effect::Effect, marks::Mark};
use crate::{
    agent::{
        facts::{Change, Content, FoundContent},
        notice::Notice,
        pen::{Failed, KEEP_RETRY, Pen},
    },
    time::{Mono, Now},
    wire::{
        json::quoted_len,
        kept::{self, POSITIONS},
        positions::{PLACE_MAX, POSITIONS_MAX, Position, Positions},
        timestamp::Timestamp,
    },
};

/// How long a write of the file follows the one before at the earliest.
pub const KEEP_SPACING: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Keeping {
    known: Positions,
    pen: Pen,
}

impl Keeping {
    pub(super) const fn known(&self) -> &Positions {
        &self.known
    }

    /// Reads what a start found; what is damaged is put aside.
    pub(super) fn load(&mut self, now: Now, content: FoundContent, effects: &mut Vec<Effect>) {
        let reason = match content {
            FoundContent::Bytes(Content(bytes)) => match Positions::decode(&bytes) {
                Ok(known) => return self.known = known,
                Err(fault) => fault.to_string(),
            },
            FoundContent::Foreign(kind) => format!("it is {kind}"),
        };
        let aside = kept::damaged_name(POSITIONS, Timestamp::from(now.wall.second()));
        let beside = aside.as_deref().unwrap_or("nothing");
        effects.push(Effect::Tell(Notice::warn(format!(
            "state/{POSITIONS} does not tell how far logs were read, {reason}; it is kept beside as {beside}, and lines \
             may be told twice or not at all"
        ))));
        if let Some(aside) = aside {
            self.pen.set_aside();
            effects.push(Effect::Keep(Change::Rename(aside)));
        }
    }

    pub(super) fn settle(&mut self, marks: Vec<Mark>) {
        for (place, position) in marks {
            match position {
                Some(position) if fits(&place, &position) => self.note(place, position),
                Some(_) => {}
                None => {
                    if self.known.places.remove(&place).is_some() {
                        self.pen.blot();
                    }
                }
            }
        }
    }

    /// Where there are as many as may be, a new one is not kept: whoever makes files without end pushes nobody else's place
    /// out.
    fn note(&mut self, place: String, position: Position) {
        let before = self.known.places.get(&place);
        let has_room = before.is_some() || self.known.places.len() < POSITIONS_MAX;
        if has_room && before != Some(&position) {
            self.pen.blot();
            self.known.places.insert(place, position);
        }
    }

    /// Writes what is not on the disk, unless a change is under way or was made just now; at a drain at once.
    pub(super) fn advance(&mut self, now: Mono, is_draining: bool, effects: &mut Vec<Effect>) {
        if self.pen.takes_up(now, is_draining) {
            effects.push(Effect::Keep(Change::Write(Content(self.known.encode()))));
        }
    }

    pub(super) fn kept(
        &mut self,
        now: Mono,
        outcome: Result<(), String>,
        effects: &mut Vec<Effect>,
    ) {
        let text = match self.pen.ended(now, outcome, KEEP_SPACING) {
            None => return,
            Some(Failed::Aside(reason)) => {
                format!("state/{POSITIONS} cannot be renamed: {reason}; the next write replaces it")
            }
            Some(Failed::Write(reason)) => format!(
                "how far logs were read is not kept on the disk, which is tried again every {} s: {reason}",
                KEEP_RETRY.as_secs()
            ),
        };
        effects.push(Effect::Tell(Notice::warn(text)));
    }

    pub(super) fn wakeup(&self) -> Option<Mono> {
        self.pen.wakeup()
    }

    /// Whether nothing is on its way to the disk.
    pub(super) const fn is_idle(&self) -> bool {
        !self.pen.is_moving()
    }
}

/// Whether a mark is short enough to be kept, as it stands in the file: whoever makes names that grow there keeps nobody
/// else's place from it.
fn fits(place: &str, position: &Position) -> bool {
    let fits = |text: &str| quoted_len(text) <= PLACE_MAX + QUOTES;
    match position {
        Position::Cursor(cursor) => fits(place) && fits(cursor),
        Position::Offset { .. } => fits(place),
    }
}

/// Those around a text.
const QUOTES: usize = 2;
