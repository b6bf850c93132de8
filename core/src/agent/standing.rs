//! Whether the control plane admits this node, as its answers to authenticated calls tell.

use crate::time::Mono;

/// The node's standing: admitted until a heartbeat or pull is answered 401, and again with the next that is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    #[default]
    Admitted,
    Refused {
        since: Mono,
        in_a_row: u32,
    },
}

impl Standing {
    #[must_use]
    pub const fn refused(self, now: Mono) -> Self {
        match self {
            Self::Admitted => Self::Refused { since: now, in_a_row: 1 },
            Self::Refused { since, in_a_row } => {
                Self::Refused { since, in_a_row: in_a_row.saturating_add(1) }
            }
        }
    }
}
