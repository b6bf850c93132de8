//! A wait for the next round: for a while by the one clock, or until what was reported is about to lapse by the other.

use core::time::Duration;

use super::MARGIN;
use crate::{
    time::{Mono, Now},
    wire::timestamp::Timestamp,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    earliest: Mono,
    latest: Mono,
    /// When the endpoint lapses, by the clock of the control plane.
    stale_after: Option<Timestamp>,
    /// When it is likely over, by the clocks as they were looked at last.
    pub(super) hint: Mono,
}

impl Wait {
    pub(super) fn until(due: Mono) -> Self {
        Self { earliest: due, latest: due, stale_after: None, hint: due }
    }

    /// At least `floor` and at most `most`, and no longer than until `stale_after` is near.
    pub(super) fn between(
        now: Now,
        floor: Duration,
        most: Duration,
        stale_after: Option<Timestamp>,
    ) -> Self {
        let (earliest, latest) = (now.mono.after(floor), now.mono.after(most.max(floor)));
        Self { earliest, latest, stale_after, hint: latest }.looked(now)
    }

    /// The same wait, cut to `most` from now on where it may be that short.
    pub(super) fn at_most(self, now: Now, most: Duration) -> Self {
        let latest = self.latest.min(now.mono.after(most)).max(self.earliest);
        Self { latest, ..self }.looked(now)
    }

    /// A wall clock that was set forward ends the wait, one that was set back does not make it longer.
    pub(super) fn is_over(&self, now: Now) -> bool {
        let lapses = self.stale_after.is_some_and(|at| at.left(now.wall) <= MARGIN);
        self.earliest <= now.mono && (self.latest <= now.mono || lapses)
    }

    /// The same wait, with the clocks as they are now.
    pub(super) fn looked(self, now: Now) -> Self {
        let lapses =
            self.stale_after.map(|at| now.mono.after(at.left(now.wall).saturating_sub(MARGIN)));
        let soonest = lapses.map_or(self.latest, |lapses| lapses.min(self.latest));
        Self { hint: soonest.max(self.earliest), ..self }
    }
}
