//! Whether this node is useful, and the first reason why it is not.
//!
//! Specification: "Health listener"; `decisions.md` section 8 (readiness texts, `tunnel.backend = "none"`).

use super::standing::Standing;
use crate::wire::local::ReadyPart;

/// The reasons in the order in which the first unmet one is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    RegistrationPending,
    IdentityRefused,
    SubsystemStopped,
    Ready,
}

impl Readiness {
    pub const fn of(registered: bool, standing: Standing, broken: bool) -> Self {
        match (registered, standing, broken) {
            (false, _, _) => Self::RegistrationPending,
            (true, Standing::Refused { .. }, _) => Self::IdentityRefused,
            (true, Standing::Admitted, true) => Self::SubsystemStopped,
            (true, Standing::Admitted, false) => Self::Ready,
        }
    }

    /// The parts that were looked at, in order, up to the first that is not ready.
    pub fn parts(self) -> impl Iterator<Item = ReadyPart> {
        let order = [
            (Self::RegistrationPending, "registration"),
            (Self::IdentityRefused, "identity"),
            (Self::SubsystemStopped, "subsystems"),
        ];
        let looked_at = match self {
            Self::RegistrationPending => 1,
            Self::IdentityRefused => 2,
            Self::SubsystemStopped | Self::Ready => 3,
        };
        let parts = order.into_iter().take(looked_at);
        parts.map(move |(reason, part)| ReadyPart { part: part.into(), ready: reason != self })
    }

    pub const fn is_ready(self) -> bool {
        matches!(self, Self::Ready)
    }

    /// The line that `GET /readyz` answers, without its newline.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RegistrationPending => "not ready: registration pending",
            Self::IdentityRefused => "not ready: identity refused",
            Self::SubsystemStopped => "not ready: subsystem stopped",
            Self::Ready => "ok",
        }
    }
}
