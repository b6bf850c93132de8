//! The refusals of the journal, verification and faults.
//!
//! Specification: "Errors"; `decisions.md` section 5 (Errors of `/test/` routes).

use alloc::string::ToString as _;

use super::{Denial, Refused};
use crate::plane::{faults::rule, journal, origin, verify};

impl Refused for origin::Refusal {
    const MACHINE: &'static str = "origin";

    fn denial(self) -> Denial {
        Denial::plain(403, self)
    }
}

impl Refused for journal::Refusal {
    const MACHINE: &'static str = "journal";

    fn denial(self) -> Denial {
        match self {
            Self::Query => Denial::plain(400, self),
        }
    }
}

impl Refused for verify::Refusal {
    const MACHINE: &'static str = "verify";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        let status = match self {
            Self::TooLarge => 413,
            Self::Unreadable
            | Self::Malformed(_)
            | Self::Pattern(_)
            | Self::Goal
            | Self::Count
            | Self::Within
            | Self::Full => 400,
            Self::Failed(_) => 409,
        };
        Denial::plain(status, detail)
    }
}

impl Refused for rule::Refusal {
    const MACHINE: &'static str = "faults";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        let status = match self {
            Self::TooLarge => 413,
            Self::Unknown => 404,
            Self::Full
            | Self::Unreadable
            | Self::Malformed(_)
            | Self::Pattern(_)
            | Self::Times
            | Self::Probability
            | Self::Delay
            | Self::Dribble
            | Self::Status
            | Self::Code
            | Self::RetryAfter
            | Self::ContentType
            | Self::Truncate
            | Self::ClockOffset
            | Self::Reset
            | Self::Stream
            | Self::Alone(_, _)
            | Self::Contradiction(_, _, _)
            | Self::Idle => 400,
        };
        Denial::plain(status, detail)
    }
}
