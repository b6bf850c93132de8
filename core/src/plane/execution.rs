//! One execution: from never seen over ack and started to one of three ends, and nothing after that.
//!
//! | Current | Reported | Next | Also |
//! |---|---|---|---|
//! | never seen | ack | ack | |
//! | ack | started | started | with declared bytes: an upload URL |
//! | started | succeeded, failed, cancelled | that one | |
//! | started | started with declared bytes | started | an upload URL |
//! | terminal | anything | unchanged | refused as already terminal |
//! | any | anything else | unchanged | refused as invalid transition |
//!
//! A status that a snapshot brings for an execution never seen is taken over as it is.
//!
//! Specification: "Execution status" and "POST /v1/nodes/{id}/executions/{eid}".

use thiserror::Error;

use crate::{
    ids::ExecutionId,
    step::Step,
    time::Now,
    wire::{
        execution::{Callback, DECLARED_OUTPUT_MAX, INLINE_OUTPUT_MAX, Status},
        grammar::base64_bytes,
        http::{Body, UNREADABLE},
        json::{self, Fault},
    },
};

/// A fact for one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The node reported a status, `declares` being whether it announced output.
    Reported { status: Status, declares: bool },
    /// A configured snapshot brought the execution in this status.
    Seeded { status: Status },
}

/// An order of one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Answer with the new status.
    Accept(Status),
    /// Answer with the new status and a fresh upload URL.
    AcceptAndMint(Status),
    Refuse(Advance),
}

/// Why a status cannot follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Advance {
    #[error("the execution has reached a terminal status")]
    AlreadyTerminal,
    #[error(
        "this status cannot follow the current one: ack comes first, then started, then succeeded, failed or cancelled"
    )]
    InvalidTransition,
}

/// Why a callback body is refused before any status is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 65536 bytes")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not an execution callback: {0}")]
    Malformed(Fault),
    #[error("the execution id in the path holds NUL")]
    ExecutionId,
    #[error("declared_output_bytes is over 1 GiB")]
    DeclaredOutput,
    #[error("output.inline must be padded standard base64")]
    InlineNotBase64,
    #[error("output.inline decodes to more than 16384 bytes; upload the output instead")]
    InlineTooLarge,
}

/// How far an execution has come; `None` is never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Progress(pub Option<Status>);

/// Reads a callback out of a request body and checks its output, before the status machine is asked.
pub fn read(execution: &ExecutionId, body: &Body) -> Result<Callback, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    if execution.0.contains('\0') {
        return Err(Refusal::ExecutionId);
    }
    let callback: Callback = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    if declared(&callback).is_some_and(|bytes| bytes > DECLARED_OUTPUT_MAX) {
        return Err(Refusal::DeclaredOutput);
    }
    let inline = callback.output.as_ref().map(|output| output.inline.as_str()).unwrap_or_default();
    let decoded = base64_bytes(inline).ok_or(Refusal::InlineNotBase64)?;
    if decoded.len() > INLINE_OUTPUT_MAX {
        return Err(Refusal::InlineTooLarge);
    }
    Ok(callback)
}

/// The announced output in bytes; zero and below is none.
pub fn declared(callback: &Callback) -> Option<u64> {
    let bytes = callback.declared_output_bytes.and_then(|bytes| u64::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes > 0)
}

impl Progress {
    /// Moves on one input.
    pub fn step(self, _now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Reported { status, declares } => self.reported(status, declares),
            Input::Seeded { status } => Step::to(Self(self.0.or(Some(status)))),
        }
    }

    fn reported(self, status: Status, declares: bool) -> Step<Self, Effect> {
        use Status::{Ack, Cancelled, Failed, Started, Succeeded};
        let to = |next: Status| Step::to(Self(Some(next)));
        match (self.0, status) {
            (None, Ack) => to(Ack).emit(Effect::Accept(Ack)),
            (Some(Ack | Started), Started) if declares => {
                to(Started).emit(Effect::AcceptAndMint(Started))
            }
            (Some(Ack), Started) => to(Started).emit(Effect::Accept(Started)),
            (Some(Started), Succeeded | Failed | Cancelled) => {
                to(status).emit(Effect::Accept(status))
            }
            (
                Some(Succeeded | Failed | Cancelled),
                Ack | Started | Succeeded | Failed | Cancelled,
            ) => Step::to(self).emit(Effect::Refuse(Advance::AlreadyTerminal)),
            (None, Started | Succeeded | Failed | Cancelled)
            | (Some(Ack), Ack | Succeeded | Failed | Cancelled)
            | (Some(Started), Ack | Started) => {
                Step::to(self).emit(Effect::Refuse(Advance::InvalidTransition))
            }
        }
    }
}
