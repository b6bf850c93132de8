//! Whether this node is useful, and the first reason why it is not.
//!
//! Specification: "Health listener"; `decisions.md` section 8 (readiness texts, `tunnel.backend = "none"`).

use super::{events::Trouble, standing::Standing};
use crate::wire::local::ReadyPart;

/// The reasons in the order in which the first unmet one is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    RegistrationPending,
    IdentityRefused,
    EventsRefused,
    EventsDegraded,
    SubsystemStopped,
    Ready,
}

impl Readiness {
    pub const ALL: [Self; 6] = [
        Self::RegistrationPending,
        Self::IdentityRefused,
        Self::EventsRefused,
        Self::EventsDegraded,
        Self::SubsystemStopped,
        Self::Ready,
    ];

    pub const fn of(
        registered: bool,
        standing: Standing,
        events: Option<Trouble>,
        broken: bool,
    ) -> Self {
        match (registered, standing, events, broken) {
            (false, _, _, _) => Self::RegistrationPending,
            (true, Standing::Refused { .. }, _, _) => Self::IdentityRefused,
            (true, Standing::Admitted, Some(Trouble::Refused), _) => Self::EventsRefused,
            (true, Standing::Admitted, Some(Trouble::Degraded), _) => Self::EventsDegraded,
            (true, Standing::Admitted, None, true) => Self::SubsystemStopped,
            (true, Standing::Admitted, None, false) => Self::Ready,
        }
    }

    /// The parts that were looked at, in order, up to the first that is not ready.
    pub fn parts(self) -> impl Iterator<Item = ReadyPart> {
        let order = ["registration", "identity", "events", "subsystems"];
        let looked_at = match self {
            Self::RegistrationPending => 1,
            Self::IdentityRefused => 2,
            Self::EventsRefused | Self::EventsDegraded => 3,
            Self::SubsystemStopped | Self::Ready => 4,
        };
        let ready = move |at| at + 1 < looked_at || self.is_ready();
        let parts = order.into_iter().take(looked_at).enumerate();
        parts.map(move |(at, part)| ReadyPart { part: part.into(), ready: ready(at) })
    }

    pub const fn is_ready(self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Its name as the value of a label.
    pub const fn word(self) -> &'static str {
        match self {
            Self::RegistrationPending => "registration_pending",
            Self::IdentityRefused => "identity_refused",
            Self::EventsRefused => "events_refused",
            Self::EventsDegraded => "events_degraded",
            Self::SubsystemStopped => "subsystem_stopped",
            Self::Ready => "ready",
        }
    }

    /// The line that `GET /readyz` answers, without its newline.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RegistrationPending => "not ready: registration pending",
            Self::IdentityRefused => "not ready: identity refused",
            Self::EventsRefused => "not ready: event delivery refused",
            Self::EventsDegraded => "not ready: event delivery degraded",
            Self::SubsystemStopped => "not ready: subsystem stopped",
            Self::Ready => "ok",
        }
    }
}
