//! Reads of secrets: each is fetched from the control plane, a few at once, the others waiting their turn.
//!
//! | State of a read | Input | Then |
//! |---|---|---|
//! | none | asked, room in flight | in flight |
//! | none | asked, room in the queue | queued |
//! | none | asked, no room | refused |
//! | queued | another one answered | in flight, in the order they came |
//! | queued | waited for [`QUEUED_FOR_MAX`] | refused |
//! | in flight | answered | answered |
//! | any | quieted | refused |
//!
//! Specification: "Local HTTP API" (secret read outcomes).

use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use core::{mem, time::Duration};

use super::verdict::secret::Fetched;
use crate::{
    ids::CallId,
    step::Step,
    time::{Mono, Now},
    wire::{grammar::SecretKey, local::KeySummary},
};

/// How many fetches are under way at once: each may bring a megabyte.
pub const FLYING_MAX: usize = 16;

/// How many reads wait for their turn.
pub const QUEUED_MAX: usize = 64;

/// How long a read waits for its turn; with the fetch behind it, it is answered before its asker gives up.
pub const QUEUED_FOR_MAX: Duration = Duration::from_secs(15);

/// How long one fetch may take.
pub const FETCH_MAX: Duration = Duration::from_secs(10);

/// The reads under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    /// The names and versions that are known without having been asked for; the pull brings none.
    pub index: BTreeMap<SecretKey, u64>,
    /// By their askers.
    flying: BTreeMap<CallId, SecretKey>,
    queued: VecDeque<Queued>,
}

/// A program's wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub asker: CallId,
    pub key: SecretKey,
    /// Absent for the current one.
    pub version: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Queued {
    wish: Wish,
    until: Mono,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Asked(Wish),
    /// The fetch for this asker ended.
    Answered {
        asker: CallId,
        fetched: Fetched,
    },
    /// There is no identity any more by which secrets are fetched and opened, or the process ends.
    Quieted,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Fetch(Wish),
    Answer {
        asker: CallId,
        key: SecretKey,
        fetched: Fetched,
    },
    /// It cannot be fetched in time.
    Refuse(CallId),
}

impl Secrets {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Asked(wish) => self.asked(now, wish),
            Input::Answered { asker, fetched } => self.answered(asker, fetched),
            Input::Quieted => self.quieted(),
            Input::Ticked => self.ticked(now.mono),
        }
    }

    /// The names and versions, without values.
    pub fn summary(&self) -> Vec<KeySummary> {
        let row = |(key, version): (&SecretKey, &u64)| KeySummary {
            key: key.as_str().into(),
            version: *version,
        };
        self.index.iter().map(row).collect()
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        self.queued.front().map(|first| first.until)
    }

    fn asked(mut self, now: Now, wish: Wish) -> Step<Self, Effect> {
        if self.flying.len() < FLYING_MAX {
            return self.fly(wish);
        }
        if self.queued.len() >= QUEUED_MAX {
            return Step::to(self).emit(Effect::Refuse(wish.asker));
        }
        self.queued.push_back(Queued { wish, until: now.mono.after(QUEUED_FOR_MAX) });
        Step::to(self)
    }

    fn fly(mut self, wish: Wish) -> Step<Self, Effect> {
        self.flying.insert(wish.asker, wish.key.clone());
        Step::to(self).emit(Effect::Fetch(wish))
    }

    fn answered(mut self, asker: CallId, fetched: Fetched) -> Step<Self, Effect> {
        let Some(key) = self.flying.remove(&asker) else { return Step::to(self) };
        let answer = Effect::Answer { asker, key, fetched };
        let Some(next) = self.queued.pop_front() else { return Step::to(self).emit(answer) };
        let Step { state, effects } = self.fly(next.wish);
        Step::to(state).emit(answer).emit_all(effects)
    }

    fn quieted(mut self) -> Step<Self, Effect> {
        let flying = mem::take(&mut self.flying).into_keys();
        let queued = mem::take(&mut self.queued).into_iter().map(|queued| queued.wish.asker);
        let refused: Vec<_> = flying.chain(queued).map(Effect::Refuse).collect();
        Step::to(self).emit_all(refused)
    }

    /// Those that have waited longest stand first.
    fn ticked(mut self, now: Mono) -> Step<Self, Effect> {
        let late = self.queued.iter().take_while(|queued| queued.until <= now).count();
        let refused: Vec<_> =
            self.queued.drain(..late).map(|queued| Effect::Refuse(queued.wish.asker)).collect();
        Step::to(self).emit_all(refused)
    }
}
