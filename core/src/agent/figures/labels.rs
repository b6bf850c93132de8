//! The values that labels have: each one of a closed list, so that no peer makes series.

use crate::agent::{
    Level,
    facts::Cause,
    signing::Refused,
    verdict::{Delivery, Fetched},
};

/// A value of a label.
pub trait Label: Copy + Ord + 'static {
    const ALL: &'static [Self];

    fn as_str(self) -> &'static str;
}

macro_rules! labels {
    ($(#[$doc:meta])* $label:ident { $($value:ident => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $label {
            $($value,)*
        }

        impl Label for $label {
            const ALL: &'static [Self] = &[$(Self::$value,)*];

            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }
        }
    };
}

labels! {
    /// How a heartbeat or a pull ended.
    Outcome {
        Ok => "ok",
        Unauthorized => "unauthorized",
        ClockSkew => "clock_skew",
        Failed => "failed",
    }
}

labels! {
    /// How a run ended.
    Ended {
        Succeeded => "succeeded",
        Failed => "failed",
        TimedOut => "timed_out",
        Cancelled => "cancelled",
        Broken => "broken",
        Changed => "changed",
    }
}

labels! {
    /// What became of the delivery of a report.
    Delivered {
        Delivered => "delivered",
        Refused => "refused",
        NotProvisioned => "not_provisioned",
        Failed => "failed",
    }
}

labels! {
    /// Why an event does not count.
    Reason {
        Malformed => "malformed",
        MissingMember => "missing_member",
        NotCanonical => "not_canonical",
        Stale => "stale",
        Future => "future",
        UnknownKey => "unknown_key",
        Signature => "signature",
        Rotation => "rotation",
    }
}

impl Label for Level {
    const ALL: &'static [Self] = &[Self::Error, Self::Warn, Self::Info, Self::Debug];

    fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

impl Outcome {
    pub const fn of<T>(fetched: &Fetched<T>) -> Self {
        match fetched {
            Fetched::Got(_) => Self::Ok,
            Fetched::Unauthorized(_) => Self::Unauthorized,
            Fetched::ClockSkew(_) => Self::ClockSkew,
            Fetched::Failed(_) => Self::Failed,
        }
    }
}

impl Ended {
    pub const fn of(cause: &Cause) -> Self {
        match cause {
            Cause::Exited(0) => Self::Succeeded,
            Cause::Exited(_) | Cause::Signalled(_) => Self::Failed,
            Cause::TimedOut => Self::TimedOut,
            Cause::Cancelled => Self::Cancelled,
            Cause::Broken(_) => Self::Broken,
            Cause::Changed { .. } => Self::Changed,
        }
    }
}

impl Delivered {
    pub const fn of(delivery: &Delivery) -> Self {
        match delivery {
            Delivery::Delivered => Self::Delivered,
            Delivery::Invalid(_) => Self::Refused,
            Delivery::NotProvisioned => Self::NotProvisioned,
            Delivery::Transient(_) => Self::Failed,
        }
    }
}

impl Reason {
    pub const fn of(refused: &Refused) -> Self {
        match refused {
            Refused::Malformed(_) => Self::Malformed,
            Refused::MissingId
            | Refused::MissingType
            | Refused::MissingSignature
            | Refused::MissingIssuedAt => Self::MissingMember,
            Refused::NotCanonical => Self::NotCanonical,
            Refused::Stale => Self::Stale,
            Refused::Future => Self::Future,
            Refused::UnknownKey => Self::UnknownKey,
            Refused::Signature => Self::Signature,
            Refused::Rotation(_) => Self::Rotation,
        }
    }
}
