//! Whether the control plane admits this node, as its answers to heartbeats, pulls and batches of records tell.
//!
//! | state | input | next | also |
//! |---|---|---|---|
//! | admitted | unauthorized | refused | |
//! | refused | unauthorized | refused | after five in a row over a minute and longer: look for a token, and count anew |
//! | any | admitted | admitted | |
//!
//! Other answers, such as a refused clock, count on neither side. Specification: `decisions.md` section 5 (Identity
//! refused).

use core::time::Duration;

use crate::{step::Step, time::Mono};

/// So many refusals in a row lead to a fresh registration ...
pub const REFUSALS_MIN: u32 = 5;
/// ... where they are spread over at least this long.
pub const REFUSED_FOR_MIN: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    #[default]
    Admitted,
    Refused {
        /// When the first refusal that counts came.
        since: Mono,
        in_a_row: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A heartbeat, a pull or a batch was accepted.
    Admitted,
    /// A heartbeat, a pull or a batch was answered 401.
    Unauthorized,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Register afresh, where there is a token for it.
    LookForToken,
}

impl Standing {
    /// Moves on one input.
    pub fn step(self, now: Mono, input: Input) -> Step<Self, Effect> {
        let (since, in_a_row) = match (self, input) {
            (Self::Admitted | Self::Refused { .. }, Input::Admitted) => {
                return Step::to(Self::Admitted);
            }
            (Self::Admitted | Self::Refused { in_a_row: 0, .. }, Input::Unauthorized) => (now, 1),
            (Self::Refused { since, in_a_row }, Input::Unauthorized) => (since, in_a_row + 1),
        };
        if in_a_row >= REFUSALS_MIN && now.since(since) >= REFUSED_FOR_MIN {
            return Step::to(Self::Refused { since: now, in_a_row: 0 }).emit(Effect::LookForToken);
        }
        Step::to(Self::Refused { since, in_a_row: in_a_row.min(REFUSALS_MIN) })
    }
}
