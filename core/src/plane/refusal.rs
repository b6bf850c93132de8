//! The one table from every refusal to its status and code, and the problem body it is sent as.
//!
//! Specification: "Errors" and "Problem body (error)"; `decisions.md` section 5 (`instance`, 401 in the fixture).

use alloc::{
    format,
    string::{String, ToString},
};

use super::{
    Settings, admit, execution, executions, heartbeat, nonce, register, rotation, route, snapshot,
    upload,
};
use crate::{
    ids::CorrelationId,
    wire::{
        http::Response,
        json,
        problem::{CONTENT_TYPE, CORRELATION_HEADER, Code, Problem, title},
    },
};

const REGISTER: &str = "/v1/register";

/// What an error answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub status: u16,
    pub code: Option<Code>,
    pub detail: String,
    /// The `Allow` header of a 405.
    pub allow: Option<String>,
}

impl Denial {
    /// An error without a code.
    pub fn plain(status: u16, detail: impl ToString) -> Self {
        Self { status, code: None, detail: detail.to_string(), allow: None }
    }

    fn coded(code: Code, detail: impl ToString) -> Self {
        Self { status: code.status(), code: Some(code), detail: detail.to_string(), allow: None }
    }

    /// The problem body for a request to `path`, which is as it was received.
    pub fn response(self, settings: &Settings, path: &str, correlation: CorrelationId) -> Response {
        let code = self.code.as_ref().map(Code::as_str);
        let is_register = route::segments(path).is_some_and(|way| way == ["v1", "register"]);
        let problem = Problem {
            kind: code.map_or_else(
                || "about:blank".to_string(),
                |code| format!("{}/{code}", settings.problem_base_url),
            ),
            title: title(self.status),
            status: self.status,
            detail: self.detail,
            instance: if is_register { REGISTER } else { path }.to_string(),
            correlation_id: correlation.to_string(),
            code: code.map(ToString::to_string),
        };
        let mut response = Response::empty(self.status)
            .with("content-type", CONTENT_TYPE)
            .with(CORRELATION_HEADER, &problem.correlation_id);
        if let Some(allow) = self.allow {
            response = response.with("allow", &allow);
        }
        response.body = json::encode(&problem);
        response.body.push(b'\n');
        response
    }
}

impl From<route::Miss> for Denial {
    fn from(miss: route::Miss) -> Self {
        let detail = miss.to_string();
        match miss {
            route::Miss::NotFound => Self::plain(404, detail),
            route::Miss::Method { allow } => {
                Self { allow: Some(allow), ..Self::plain(405, detail) }
            }
        }
    }
}

impl From<admit::Refusal> for Denial {
    fn from(refusal: admit::Refusal) -> Self {
        match refusal {
            admit::Refusal::Bearer(_) | admit::Refusal::Node | admit::Refusal::Key => {
                Self::coded(Code::Unauthorized, refusal)
            }
            admit::Refusal::Local => Self::plain(401, refusal),
        }
    }
}

impl From<admit::NodeMismatch> for Denial {
    fn from(refusal: admit::NodeMismatch) -> Self {
        Self::coded(Code::NskNodeMismatch, refusal)
    }
}

impl From<register::Refusal> for Denial {
    fn from(refusal: register::Refusal) -> Self {
        use register::Refusal as R;
        let detail = refusal.to_string();
        match refusal {
            R::TooLarge | R::Unreadable | R::Malformed(_) => Self::plain(400, detail),
            R::NotAString(_) | R::Empty(_) | R::TooLong(_) | R::Nul(_) | R::ProjectId => {
                Self::plain(422, detail)
            }
            R::PublicKey => Self::coded(Code::PublicKeyInvalid, detail),
            R::Token => Self::plain(403, detail),
            R::Kind => Self::coded(Code::KindMismatch, detail),
            R::TokenConsumed => Self::coded(Code::TokenConsumed, detail),
            R::TokenExpired => Self::coded(Code::TokenExpired, detail),
            R::TokenRevoked => Self::coded(Code::TokenRevoked, detail),
            R::Project => Self::coded(Code::ProjectMismatch, detail),
            R::Nonce(nonce::Refusal::Collision) => Self::coded(Code::NonceCollision, detail),
            R::Nonce(nonce::Refusal::Full) => Self::plain(503, detail),
            R::ResourceNotFound => Self::coded(Code::ResourceNotFound, detail),
            R::PoolExhausted => Self::coded(Code::PoolExhausted, detail),
            R::SubrangeExhausted => Self::coded(Code::SubrangeExhausted, detail),
            R::AllocatorContention => Self::coded(Code::AllocatorContention, detail),
            R::Internal => Self::plain(500, detail),
        }
    }
}

impl From<heartbeat::Refusal> for Denial {
    fn from(refusal: heartbeat::Refusal) -> Self {
        use heartbeat::Refusal as R;
        let detail = refusal.to_string();
        match refusal {
            R::TooLarge => Self::plain(413, detail),
            R::Unreadable | R::Malformed(_) | R::NatSummary => {
                Self::coded(Code::MalformedHeartbeatRequest, detail)
            }
            R::ClockSkew => Self::coded(Code::ClockSkew, detail),
            R::Checksum => Self::coded(Code::BinaryChecksumEmpty, detail),
            R::Version => Self::coded(Code::BinaryVersionEmpty, detail),
        }
    }
}

impl From<rotation::Refusal> for Denial {
    fn from(refusal: rotation::Refusal) -> Self {
        use rotation::Refusal as R;
        let detail = refusal.to_string();
        match refusal {
            R::TooLarge => Self::coded(Code::KeysRotateBodyTooLarge, detail),
            R::Unreadable | R::Malformed(_) => {
                Self::coded(Code::MalformedKeysRotateRequest, detail)
            }
            R::KeyInvalid => Self::coded(Code::KeysRotatePublicKeyInvalid, detail),
            R::KeyUnchanged => Self::coded(Code::KeysRotatePublicKeyUnchanged, detail),
            R::NoPendingRotation => Self::coded(Code::KeysRotateNoPendingRotation, detail),
            R::Full => Self::plain(503, detail),
        }
    }
}

impl From<execution::Refusal> for Denial {
    fn from(refusal: execution::Refusal) -> Self {
        use execution::Refusal as R;
        let detail = refusal.to_string();
        match refusal {
            R::InlineTooLarge => Self::coded(Code::InlineOutputTooLarge, detail),
            R::TooLarge
            | R::Unreadable
            | R::Malformed(_)
            | R::ExecutionId
            | R::DeclaredOutput
            | R::InlineNotBase64 => Self::coded(Code::MalformedExecutionCallback, detail),
        }
    }
}

impl From<executions::Refusal> for Denial {
    fn from(refusal: executions::Refusal) -> Self {
        use execution::Advance;
        use executions::Refusal as R;
        match refusal {
            R::Advance(Advance::AlreadyTerminal) => {
                Self::coded(Code::ExecutionAlreadyTerminal, refusal)
            }
            R::Advance(Advance::InvalidTransition) => {
                Self::coded(Code::InvalidStateTransition, refusal)
            }
            R::Output => Self::coded(Code::MalformedExecutionCallback, refusal),
            R::Upload(_) | R::Full => Self::plain(503, refusal),
        }
    }
}

impl From<upload::Refusal> for Denial {
    fn from(refusal: upload::Refusal) -> Self {
        let status = match refusal {
            upload::Refusal::Unknown => 404,
            upload::Refusal::Used => 409,
            upload::Refusal::TooLarge => 413,
            upload::Refusal::Unreadable => 400,
            upload::Refusal::Full => 503,
        };
        Self::plain(status, refusal)
    }
}

impl From<snapshot::Refusal> for Denial {
    fn from(refusal: snapshot::Refusal) -> Self {
        let status = match refusal {
            snapshot::Refusal::TooLarge => 413,
            snapshot::Refusal::Unreadable
            | snapshot::Refusal::Malformed(_)
            | snapshot::Refusal::Reachability
            | snapshot::Refusal::Parameters(_)
            | snapshot::Refusal::Status(_) => 400,
        };
        Self::plain(status, refusal)
    }
}
