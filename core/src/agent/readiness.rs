//! Whether this node is useful, and the first reason why it is not.
//!
//! Specification: "Health listener"; `decisions.md` section 8 (readiness texts, `tunnel.backend = "none"`).

use super::standing::Standing;
use crate::wire::local::ReadyPart;

/// What has to be well for a node to be useful, by the reason that is told when it is not.
const PARTS: [(Readiness, &str); 2] =
    [(Readiness::RegistrationPending, "registration"), (Readiness::IdentityRefused, "identity")];

/// The reasons in the order in which the first unmet one is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    RegistrationPending,
    IdentityRefused,
    Ready,
}

impl Readiness {
    pub const fn of(registered: bool, standing: Standing) -> Self {
        match (registered, standing) {
            (false, _) => Self::RegistrationPending,
            (true, Standing::Refused { .. }) => Self::IdentityRefused,
            (true, Standing::Admitted) => Self::Ready,
        }
    }

    /// The parts that were looked at, in order, up to the first that is not ready.
    pub fn parts(self) -> impl Iterator<Item = ReadyPart> {
        let unmet = PARTS.iter().position(|(reason, _)| *reason == self);
        let seen = PARTS.iter().take(unmet.map_or(PARTS.len(), |unmet| unmet + 1));
        seen.map(move |(reason, part)| ReadyPart { part: (*part).into(), ready: *reason != self })
    }

    pub const fn is_ready(self) -> bool {
        matches!(self, Self::Ready)
    }

    /// The line that `GET /readyz` answers, without its newline.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RegistrationPending => "not ready: registration pending",
            Self::IdentityRefused => "not ready: identity refused",
            Self::Ready => "ok",
        }
    }
}
