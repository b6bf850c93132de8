//! The refusals of admission, routing, registration, heartbeat, rotation, executions and configured state.
//!
//! Specification: "Errors".

use alloc::string::ToString;

use super::{Denial, Refused};
use crate::{
    plane::{
        admit, execution, executions, heartbeat, nonce, register, rotation, route, snapshot, upload,
    },
    wire::problem::Code,
};

impl Refused for route::Miss {
    const MACHINE: &'static str = "route";

    fn denial(self) -> Denial {
        let miss = self;
        let detail = miss.to_string();
        match miss {
            route::Miss::NotFound => Denial::plain(404, detail),
            route::Miss::Method { allow } => {
                Denial { allow: Some(allow), ..Denial::plain(405, detail) }
            }
        }
    }
}

impl Refused for admit::Refusal {
    const MACHINE: &'static str = "gate";

    fn denial(self) -> Denial {
        let refusal = self;
        match refusal {
            admit::Refusal::Bearer(_) | admit::Refusal::Node | admit::Refusal::Key => {
                Denial::coded(Code::Unauthorized, refusal)
            }
            admit::Refusal::Local => Denial::plain(401, refusal),
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
        use register::Refusal as R;
        let detail = self.to_string();
        match self {
            R::TooLarge | R::Unreadable | R::Malformed(_) => Denial::plain(400, detail),
            R::NotAString(_) | R::Empty(_) | R::TooLong(_) | R::Nul(_) | R::ProjectId => {
                Denial::plain(422, detail)
            }
            R::PublicKey => Denial::coded(Code::PublicKeyInvalid, detail),
            R::Token => Denial::plain(403, detail),
            R::Kind => Denial::coded(Code::KindMismatch, detail),
            R::TokenConsumed => Denial::coded(Code::TokenConsumed, detail),
            R::TokenExpired => Denial::coded(Code::TokenExpired, detail),
            R::TokenRevoked => Denial::coded(Code::TokenRevoked, detail),
            R::Project => Denial::coded(Code::ProjectMismatch, detail),
            R::Nonce(nonce::Refusal::Collision) => Denial::coded(Code::NonceCollision, detail),
            R::Nonce(nonce::Refusal::Full) => Denial::plain(503, detail),
            R::ResourceNotFound => Denial::coded(Code::ResourceNotFound, detail),
            R::PoolExhausted => Denial::coded(Code::PoolExhausted, detail),
            R::SubrangeExhausted => Denial::coded(Code::SubrangeExhausted, detail),
            R::AllocatorContention => Denial::coded(Code::AllocatorContention, detail),
            R::Internal => Denial::plain(500, detail),
        }
    }
}

impl Refused for heartbeat::Refusal {
    const MACHINE: &'static str = "heartbeat";

    fn denial(self) -> Denial {
        use heartbeat::Refusal as R;
        let detail = self.to_string();
        match self {
            R::TooLarge => Denial::plain(413, detail),
            R::Unreadable | R::Malformed(_) | R::NatSummary => {
                Denial::coded(Code::MalformedHeartbeatRequest, detail)
            }
            R::ClockSkew => Denial::coded(Code::ClockSkew, detail),
            R::Checksum => Denial::coded(Code::BinaryChecksumEmpty, detail),
            R::Version => Denial::coded(Code::BinaryVersionEmpty, detail),
        }
    }
}

impl Refused for rotation::Refusal {
    const MACHINE: &'static str = "rotation";

    fn denial(self) -> Denial {
        use rotation::Refusal as R;
        let detail = self.to_string();
        match self {
            R::TooLarge => Denial::coded(Code::KeysRotateBodyTooLarge, detail),
            R::Unreadable | R::Malformed(_) => {
                Denial::coded(Code::MalformedKeysRotateRequest, detail)
            }
            R::KeyInvalid => Denial::coded(Code::KeysRotatePublicKeyInvalid, detail),
            R::KeyUnchanged => Denial::coded(Code::KeysRotatePublicKeyUnchanged, detail),
            R::NoPendingRotation => Denial::coded(Code::KeysRotateNoPendingRotation, detail),
            R::Full => Denial::plain(503, detail),
        }
    }
}

impl Refused for execution::Refusal {
    const MACHINE: &'static str = "execution";

    fn denial(self) -> Denial {
        use execution::Refusal as R;
        let detail = self.to_string();
        match self {
            R::InlineTooLarge => Denial::coded(Code::InlineOutputTooLarge, detail),
            R::TooLarge
            | R::Unreadable
            | R::Malformed(_)
            | R::ExecutionId
            | R::DeclaredOutput
            | R::InlineNotBase64 => Denial::coded(Code::MalformedExecutionCallback, detail),
        }
    }
}

impl Refused for executions::Refusal {
    const MACHINE: &'static str = "executions";

    fn denial(self) -> Denial {
        let refusal = self;
        use execution::Advance;
        use executions::Refusal as R;
        match refusal {
            R::Advance(Advance::AlreadyTerminal) => {
                Denial::coded(Code::ExecutionAlreadyTerminal, refusal)
            }
            R::Advance(Advance::InvalidTransition) => {
                Denial::coded(Code::InvalidStateTransition, refusal)
            }
            R::Output => Denial::coded(Code::MalformedExecutionCallback, refusal),
            R::Upload(_) | R::Full => Denial::plain(503, refusal),
        }
    }
}

impl Refused for upload::Refusal {
    const MACHINE: &'static str = "upload";

    fn denial(self) -> Denial {
        let refusal = self;
        let status = match refusal {
            upload::Refusal::Unknown => 404,
            upload::Refusal::Used => 409,
            upload::Refusal::TooLarge => 413,
            upload::Refusal::Unreadable => 400,
            upload::Refusal::Full => 503,
        };
        Denial::plain(status, refusal)
    }
}

impl Refused for snapshot::Refusal {
    const MACHINE: &'static str = "snapshot";

    fn denial(self) -> Denial {
        let refusal = self;
        let status = match refusal {
            snapshot::Refusal::TooLarge => 413,
            snapshot::Refusal::Unreadable
            | snapshot::Refusal::Malformed(_)
            | snapshot::Refusal::Reachability
            | snapshot::Refusal::Parameters(_)
            | snapshot::Refusal::Status(_) => 400,
        };
        Denial::plain(status, refusal)
    }
}
