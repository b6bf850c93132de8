//! The routes of the contract: each reads its body, keeps it where it is captured, and asks its machine.
//!
//! Specification: "Endpoints".

mod ingest;
mod manifest;
mod node;
mod store;
mod stream;
mod watch;
mod work;

use alloc::vec::Vec;

use super::{
    Arrival, Drawn, Plane, Settings,
    refusal::Denial,
    stream::{Audience, Opening},
    verify::Condition,
};
use crate::{
    ids::{CallId, ExecutionId},
    step::Step,
    time::Now,
    wire::{
        call::Call,
        http::{Body, Request, Response},
        sse::Frame,
    },
};

pub(super) use watch::page;
pub(super) use work::token;

/// A request on its way to its machine.
#[derive(Debug)]
pub(super) struct Asked<'s> {
    pub(super) settings: &'s Settings,
    pub(super) now: Now,
    /// Whose streams and late answers are known by it.
    pub(super) call: CallId,
    /// Without its body.
    pub(super) head: Request,
    pub(super) body: Body,
    pub(super) drawn: Drawn,
}

impl<'s> Asked<'s> {
    /// A body with two lengths is no body that can be relied on.
    pub(super) fn new(settings: &'s Settings, now: Now, call: CallId, arrival: Arrival) -> Self {
        let Arrival { request: mut head, drawn, .. } = arrival;
        let mut body = core::mem::replace(&mut head.body, Body::EMPTY);
        if head.headers.is_repeated("content-length") {
            body = Body::Unreadable;
        }
        Self { settings, now, call, head, body, drawn }
    }
}

/// What a route wants done for its caller.
#[derive(Debug)]
pub(super) enum Order {
    Answer(Result<Response, Denial>),
    Open(Opening),
    Send {
        audience: Audience,
        frame: Frame,
    },
    Close,
    Sign(Vec<u8>),
    /// The answer may come with a later step.
    Verify(Condition),
}

/// A step that answers its caller at once.
pub(super) type Answered = Step<Plane, Result<Response, Denial>>;

/// A step whose orders may be other than an answer.
pub(super) type Ordered = Step<Plane, Order>;

pub(super) fn plainly(step: Answered) -> Ordered {
    step.lift(|plane| plane, Order::Answer)
}

impl Plane {
    pub(super) fn serve(self, call: Call, asked: Asked<'_>) -> Ordered {
        plainly(match call {
            Call::Health => Step::to(self).emit(Ok(node::health())),
            Call::Register => self.register(asked),
            Call::Heartbeat { .. } => self.beat(asked),
            Call::RotateKeys => self.rotate(asked),
            Call::Capabilities { .. } => self.capabilities(asked),
            Call::Endpoint { .. } => self.endpoint(asked),
            Call::State { .. } => self.state(&asked),
            Call::Reachability { .. } => self.reachability(),
            Call::Events { .. } => return self.events(&asked),
            Call::Execution { node, execution } => {
                self.report(&node, ExecutionId(execution), asked)
            }
            Call::ExecOutput { execution } => self.upload(ExecutionId(execution), asked),
            Call::Session { node, session } => self.session(&node, session, asked),
            Call::Secret { key, .. } => self.secret(&key, &asked),
            Call::PutReport { key, .. } => self.put_report(&key, asked),
            Call::DeleteReport { key, .. } => self.delete_report(&key, &asked),
            Call::Ingest { sink, .. } => self.ingest(sink, asked),
            Call::IntegrityViolations { .. } => self.integrity_violations(asked),
            Call::Local(sink) => self.local(sink, asked),
            Call::Release { tag, asset } => Step::to(self).emit(ingest::release(&tag, &asset)),
            Call::OpenApi => Step::to(self).emit(Ok(watch::openapi(&asked))),
            Call::Test(test) => return self.control(test, asked),
        })
    }
}
