//! The refusals of admission, routing, registration, heartbeat, rotation, executions and configured state.
//!
//! Specification: "Errors".

use alloc::string::ToString;

use super::{Denial, Refused};
use crate::{
    plane::{
        admit, execution, executions, heartbeat, nonce, register, rotation, route, snapshot, upload,
    },
    wire::{framing, problem::Code},
};

impl Refused for framing::Flaw {
    const MACHINE: &'static str = "head";

    fn denial(self) -> Denial {
        Denial::plain(self.status(), self)
    }
}

impl Refused for route::Miss {
    const MACHINE: &'static str = "route";

    fn denial(self) -> Denial {
        let miss = self;
        let detail = miss.to_string();
        match miss {
            Self::NotFound => Denial::plain(404, detail),
            Self::Method { allow } => Denial { allow: Some(allow), ..Denial::plain(405, detail) },
        }
    }
}

impl Refused for admit::Refusal {
    const MACHINE: &'static str = "gate";

    fn denial(self) -> Denial {
        let refusal = self;
        match refusal {
            Self::Bearer(_) | Self::Node | Self::Key => Denial::coded(Code::Unauthorized, refusal),
            Self::Local => Denial::plain(401, refusal),
        }
    }
}

impl Refused for admit::NodeMismatch {
    const MACHINE: &'static str = "guard";

    fn denial(self) -> Denial {
        let refusal = self;
        Denial::coded(Code::NskNodeMismatch, refusal)
    }
}

impl Refused for register::Refusal {
    const MACHINE: &'static str = "register";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        match self {
            Self::TooLarge | Self::Unreadable | Self::Malformed(_) => Denial::plain(400, detail),
            Self::NotAString(_)
            | Self::Empty(_)
            | Self::TooLong(_)
            | Self::Nul(_)
            | Self::ProjectId => Denial::plain(422, detail),
            Self::PublicKey => Denial::coded(Code::PublicKeyInvalid, detail),
            Self::Token => Denial::plain(403, detail),
            Self::Kind => Denial::coded(Code::KindMismatch, detail),
            Self::TokenConsumed => Denial::coded(Code::TokenConsumed, detail),
            Self::TokenExpired => Denial::coded(Code::TokenExpired, detail),
            Self::TokenRevoked => Denial::coded(Code::TokenRevoked, detail),
            Self::Project => Denial::coded(Code::ProjectMismatch, detail),
            Self::Nonce(nonce::Refusal::Collision) => Denial::coded(Code::NonceCollision, detail),
            Self::Nonce(nonce::Refusal::Full) => Denial::plain(503, detail),
            Self::ResourceNotFound => Denial::coded(Code::ResourceNotFound, detail),
            Self::PoolExhausted => Denial::coded(Code::PoolExhausted, detail),
            Self::SubrangeExhausted => Denial::coded(Code::SubrangeExhausted, detail),
            Self::AllocatorContention => Denial::coded(Code::AllocatorContention, detail),
            Self::Internal => Denial::plain(500, detail),
        }
    }
}

impl Refused for heartbeat::Refusal {
    const MACHINE: &'static str = "heartbeat";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        match self {
            Self::TooLarge => Denial::plain(413, detail),
            Self::Unreadable | Self::Malformed(_) | Self::NatSummary => {
                Denial::coded(Code::MalformedHeartbeatRequest, detail)
            }
            Self::ClockSkew => Denial::coded(Code::ClockSkew, detail),
            Self::Checksum => Denial::coded(Code::BinaryChecksumEmpty, detail),
            Self::Version => Denial::coded(Code::BinaryVersionEmpty, detail),
        }
    }
}

impl Refused for rotation::Refusal {
    const MACHINE: &'static str = "rotation";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        match self {
            Self::TooLarge => Denial::coded(Code::KeysRotateBodyTooLarge, detail),
            Self::Unreadable | Self::Malformed(_) => {
                Denial::coded(Code::MalformedKeysRotateRequest, detail)
            }
            Self::KeyInvalid => Denial::coded(Code::KeysRotatePublicKeyInvalid, detail),
            Self::KeyUnchanged => Denial::coded(Code::KeysRotatePublicKeyUnchanged, detail),
            Self::NoPendingRotation => Denial::coded(Code::KeysRotateNoPendingRotation, detail),
            Self::Full => Denial::plain(503, detail),
        }
    }
}

impl Refused for execution::Refusal {
    const MACHINE: &'static str = "execution";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        match self {
            Self::InlineTooLarge => Denial::coded(Code::InlineOutputTooLarge, detail),
            Self::TooLarge
            | Self::Unreadable
            | Self::Malformed(_)
            | Self::ExecutionId
            | Self::DeclaredOutput
            | Self::InlineNotBase64 => Denial::coded(Code::MalformedExecutionCallback, detail),
        }
    }
}

impl Refused for executions::Refusal {
    const MACHINE: &'static str = "executions";

    fn denial(self) -> Denial {
        let refusal = self;
        use execution::Advance;
        match refusal {
            Self::Advance(Advance::AlreadyTerminal) => {
                Denial::coded(Code::ExecutionAlreadyTerminal, refusal)
            }
            Self::Advance(Advance::InvalidTransition) => {
                Denial::coded(Code::InvalidStateTransition, refusal)
            }
            Self::Output => Denial::coded(Code::MalformedExecutionCallback, refusal),
            Self::Upload(_) | Self::Full => Denial::plain(503, refusal),
        }
    }
}

impl Refused for upload::Refusal {
    const MACHINE: &'static str = "upload";

    fn denial(self) -> Denial {
        let refusal = self;
        let status = match refusal {
            Self::Unknown => 404,
            Self::Used => 409,
            Self::TooLarge => 413,
            Self::Unreadable => 400,
            Self::Full => 503,
        };
        Denial::plain(status, refusal)
    }
}

impl Refused for snapshot::Refusal {
    const MACHINE: &'static str = "snapshot";

    fn denial(self) -> Denial {
        let refusal = self;
        let status = match refusal {
            Self::TooLarge => 413,
            Self::Unreadable
            | Self::Malformed(_)
            | Self::Reachability
            | Self::Parameters(_)
            | Self::Status(_)
            | Self::Target(_) => 400,
        };
        Denial::plain(status, refusal)
    }
}
