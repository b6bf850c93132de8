//! The refusals of sessions, secrets and reports.
//!
//! Specification: "Errors".

use alloc::string::ToString;

use super::{Denial, Refused};
use crate::{
    plane::{reports, secrets, session},
    wire::problem::Code,
};

impl Refused for session::Refusal {
    const MACHINE: &'static str = "session";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        match self {
            Self::TooLarge
            | Self::Unreadable
            | Self::SessionId
            | Self::Malformed(_)
            | Self::OneOf
            | Self::Command
            | Self::CommandTooLong
            | Self::Verb => Denial::coded(Code::MalformedSessionActivity, detail),
            Self::NotFound => Denial::coded(Code::SessionNotFound, detail),
            Self::AlreadyRevoked => Denial::coded(Code::SessionAlreadyRevoked, detail),
            Self::Expired => Denial::coded(Code::SessionExpired, detail),
            Self::Full => Denial::plain(503, detail),
        }
    }
}

impl Refused for secrets::Refusal {
    const MACHINE: &'static str = "secrets";

    fn denial(self) -> Denial {
        match self {
            Self::NotFound => Denial::coded(Code::SecretNotFound, self),
            Self::InvalidVersion => Denial::coded(Code::InvalidVersion, self),
            Self::RateLimited { retry_after_seconds } => Denial {
                retry_after: Some(retry_after_seconds),
                ..Denial::coded(Code::PerNodeRateLimited, self)
            },
            Self::VersionNotFound => Denial::coded(Code::SecretVersionNotFound, self),
        }
    }
}

impl Refused for secrets::Unconfigured {
    const MACHINE: &'static str = "configure_secrets";

    fn denial(self) -> Denial {
        let status = match self {
            Self::TooLarge => 413,
            Self::Unreadable | Self::Malformed(_) => 400,
        };
        Denial::plain(status, self)
    }
}

impl Refused for reports::Refusal {
    const MACHINE: &'static str = "reports";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        match self {
            Self::Key
            | Self::Unreadable
            | Self::Malformed(_)
            | Self::Value
            | Self::ValueTooLong => Denial::coded(Code::InvalidReport, detail),
            Self::TooLarge => Denial::plain(413, detail),
            Self::NotFound => Denial::coded(Code::ReportNotFound, detail),
            Self::Full => Denial::plain(503, detail),
        }
    }
}
