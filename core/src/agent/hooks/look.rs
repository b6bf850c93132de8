//! When the directory is looked at, and who waits for it.

use alloc::{string::String, vec::Vec};
use core::mem;

use super::{DEBOUNCE, DEBOUNCE_MAX, Effect, Hooks, RELOAD_LOOKS_MAX, RELOADS_MAX};
use crate::{ids::CallId, step::Step, time::Mono};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Off,
    Looking {
        stirred: bool,
    },
    Resting {
        due: Option<Mono>,
        /// Since when something stirs.
        since: Option<Mono>,
    },
}

impl Hooks {
    /// When the next [`Input::Ticked`](super::Input::Ticked) is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match self.phase {
            Phase::Resting { due, .. } => due,
            Phase::Off | Phase::Looking { .. } => None,
        }
    }

    /// A look that settles what an earlier one met is owed to the same as that one.
    pub(super) fn look(mut self) -> Step<Self, Effect> {
        let stirs = matches!(self.phase, Phase::Resting { since: Some(_), .. });
        self.stirred = stirs || (self.stirred && !self.unsettled.is_empty());
        self.phase = Phase::Looking { stirred: false };
        Step::to(self).emit(Effect::Look)
    }

    /// Waits for the directory to come to rest, but not for ever, and not where somebody waits for an answer.
    pub(super) fn stir(mut self, now: Mono) -> Self {
        self.phase = match self.phase {
            Phase::Off => Phase::Off,
            Phase::Looking { .. } => Phase::Looking { stirred: true },
            Phase::Resting { .. } if !self.asking.is_empty() => self.phase,
            Phase::Resting { since, .. } => {
                let since = since.unwrap_or(now);
                let due = now.after(DEBOUNCE).min(since.after(DEBOUNCE_MAX));
                Phase::Resting { due: Some(due), since: Some(since) }
            }
        };
        self
    }

    pub(super) fn reload(mut self, asker: CallId) -> Step<Self, Effect> {
        let crowded = self.asking.len() + self.queued.len() >= RELOADS_MAX;
        match self.phase {
            Phase::Off => Step::to(self).emit(Effect::Refuse { asker, crowded: false }),
            _ if crowded => Step::to(self).emit(Effect::Refuse { asker, crowded }),
            Phase::Looking { .. } => {
                self.queued.push(asker);
                Step::to(self)
            }
            Phase::Resting { .. } => {
                self.asking.push(asker);
                self.look()
            }
        }
    }

    /// Answers the reloads that the look was for, unless a hook is being written at this moment; those that came
    /// during it need one of their own.
    pub(super) fn answer(mut self, failure: Option<String>) -> Step<Self, Effect> {
        self.looks += 1;
        let again = !self.unsettled.is_empty() && self.looks < RELOAD_LOOKS_MAX;
        let answer = if self.asking.is_empty() || again {
            None
        } else {
            let (askers, wrong) = (mem::take(&mut self.asking), self.wrong.iter().cloned());
            Some(Effect::Answer { askers, wrong: wrong.collect(), failure })
        };
        if self.asking.is_empty() {
            self.looks = 0;
        }
        let mut queued = mem::take(&mut self.queued);
        if queued.is_empty() {
            return Step::to(self).emit_all(answer);
        }
        self.asking.append(&mut queued);
        let Step { state, effects } = self.look();
        Step::to(state).emit_all(answer).emit_all(effects)
    }

    pub(super) fn quieted(mut self) -> Step<Self, Effect> {
        self.phase = Phase::Off;
        let asking = mem::take(&mut self.asking).into_iter().chain(mem::take(&mut self.queued));
        let refused = |asker| Effect::Refuse { asker, crowded: false };
        let refused: Vec<_> = asking.map(refused).collect();
        Step::to(self).emit_all(refused)
    }
}
