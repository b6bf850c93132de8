//! The places of one listener: who has one, and who gives it up when another comes.
//!
//! | State of a place | Input | Then |
//! |---|---|---|
//! | none | entered, room | idle |
//! | none | entered, no room, but one that is idle | idle, and the one that is idle for the longest has none |
//! | none | entered, and all the others are at work | none |
//! | idle | begun | at work, once |
//! | at work | begun | at work, once more |
//! | at work | ended, the last of its work | idle from now on |
//! | any | left | none |
//!
//! What comes of a head without its end does not count: a connection is idle until a whole one is there.
//!
//! Specification: none; `docs/deviations.md` (Connections of a listener).

use alloc::collections::BTreeMap;

use crate::time::Mono;

/// The name of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceId(pub u64);

/// What comes of a connection that enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Given {
        place: PlaceId,
        /// Whose connection has to end for it.
        instead_of: Option<PlaceId>,
    },
    /// Nobody can be asked to go.
    Full,
}

/// The places that are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    max: usize,
    last: PlaceId,
    taken: BTreeMap<PlaceId, Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// How many of its requests are in work; on a connection one may be answered while the next begins.
    work: usize,
    /// Since when it had none the last time.
    idle_since: Mono,
}

impl Places {
    /// So many places, all of them free.
    pub const fn new(max: usize) -> Self {
        Self { max, last: PlaceId(0), taken: BTreeMap::new() }
    }

    /// Gives a place to a connection.
    pub fn enter(&mut self, now: Mono) -> Entry {
        let instead_of = match self.taken.len() < self.max {
            true => None,
            false => match self.idlest() {
                None => return Entry::Full,
                idlest => idlest,
            },
        };
        if let Some(gone) = instead_of {
            self.leave(gone);
        }
        self.last = PlaceId(self.last.0.wrapping_add(1));
        self.taken.insert(self.last, Place { work: 0, idle_since: now });
        Entry::Given { place: self.last, instead_of }
    }

    /// A request is there as a whole head.
    pub fn begin(&mut self, place: PlaceId) {
        if let Some(place) = self.taken.get_mut(&place) {
            place.work = place.work.saturating_add(1);
        }
    }

    /// The answer of a request has been sent, or never will be.
    pub fn end(&mut self, place: PlaceId, now: Mono) {
        if let Some(place) = self.taken.get_mut(&place) {
            *place = Place { work: place.work.saturating_sub(1), idle_since: now };
        }
    }

    /// A connection is gone, or has to go.
    pub fn leave(&mut self, place: PlaceId) {
        self.taken.remove(&place);
    }

    pub fn is_taken(&self, place: PlaceId) -> bool {
        self.taken.contains_key(&place)
    }

    /// The one without work for the longest.
    fn idlest(&self) -> Option<PlaceId> {
        let idle = self.taken.iter().filter(|(_, place)| place.work == 0);
        idle.min_by_key(|(_, place)| place.idle_since).map(|(id, _)| *id)
    }
}
