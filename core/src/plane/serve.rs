//! The routes of the contract: each reads its body, keeps it where it is captured, and asks its machine.
//!
//! Specification: "Endpoints".

use alloc::{string::ToString, vec};

use super::{
    Plane, Settings, admit,
    captures::Endpoint,
    counters::Counter,
    execution,
    executions::{self, Executions},
    heartbeat, nonce,
    refusal::Denial,
    register::{self, Registration},
    rotation,
    upload::{self, Token},
};
use crate::{
    ids::ExecutionId,
    step::Step,
    time::Now,
    wire::{
        call::Call,
        control::{Health, HealthCheck},
        execution::CallbackResponse,
        http::{Body, Request, Response, percent_decode},
        json,
    },
};

/// A request on its way to its machine.
#[derive(Debug)]
pub(super) struct Asked<'s> {
    pub(super) settings: &'s Settings,
    pub(super) now: Now,
    /// Without its body.
    pub(super) head: Request,
    pub(super) body: Body,
}

impl<'s> Asked<'s> {
    /// A body with two lengths is no body that can be relied on.
    pub(super) fn new(settings: &'s Settings, now: Now, mut head: Request) -> Self {
        let mut body = core::mem::replace(&mut head.body, Body::EMPTY);
        if head.headers.all("content-length").count() > 1 {
            body = Body::Unreadable;
        }
        Self { settings, now, head, body }
    }
}

/// The token of an upload URL; of repeated query members the first counts.
pub(super) fn token(query: Option<&str>) -> Option<Token> {
    let value = query?.split('&').find_map(|member| member.strip_prefix("token="))?;
    Token::parse(&percent_decode(value)?)
}

impl Plane {
    pub(super) fn serve(
        self,
        call: Call,
        asked: Asked<'_>,
    ) -> Step<Self, Result<Response, Denial>> {
        match call {
            Call::Health => Step::to(self).emit(Ok(health())),
            Call::Register => self.register(asked),
            Call::Heartbeat { .. } => self.beat(asked),
            Call::RotateKeys => self.rotate(asked),
            Call::State { .. } => self.state(&asked),
            Call::Reachability { .. } => self.reachability(),
            Call::Execution { node, execution } => {
                self.report(&node, ExecutionId(execution), asked)
            }
            Call::ExecOutput { execution } => self.upload(ExecutionId(execution), asked),
            Call::Local(sink) => self.local(sink, asked),
            Call::Test(test) => self.control(test, asked),
        }
    }

    /// Every call counts, also one whose body is no JSON.
    fn register(mut self, asked: Asked<'_>) -> Step<Self, Result<Response, Denial>> {
        self.counters.count(Counter::Registrations);
        let judged = register::judge(&asked.body, &self.nonces);
        self.captures.keep(Endpoint::Register, asked.body);
        match judged {
            Ok(registration) => self.registered(asked.settings, asked.now, registration),
            Err(refusal) => Step::to(self).emit(Err(refusal.into())),
        }
    }

    fn registered(
        mut self,
        settings: &Settings,
        now: Now,
        Registration { claim, key }: Registration,
    ) -> Step<Self, Result<Response, Denial>> {
        let claimed = self.nonces.step(now, nonce::Input::Claimed(claim));
        self.nonces = claimed.state;
        if let Some(nonce::Effect::Refuse(refusal)) = claimed.effects.first() {
            return Step::to(self).emit(Err(register::Refusal::Nonce(*refusal).into()));
        }
        self.rotation = self.rotation.step(now, rotation::Input::Registered { key }).state;
        let body = json::encode(&register::response(&settings.signing_public_key));
        Step::to(self).emit(Ok(Response::json(201, body)))
    }

    fn beat(mut self, asked: Asked<'_>) -> Step<Self, Result<Response, Denial>> {
        let judged = heartbeat::judge(&asked.body, asked.now.wall);
        self.captures.keep(Endpoint::Heartbeat, asked.body);
        match judged {
            Ok(()) => {
                self.counters.count(Counter::Heartbeats);
                self.move_heartbeat(asked.now, heartbeat::Input::Beat)
            }
            Err(refusal) => Step::to(self).emit(Err(refusal.into())),
        }
    }

    pub(super) fn move_heartbeat(
        self,
        now: Now,
        input: heartbeat::Input,
    ) -> Step<Self, Result<Response, Denial>> {
        let Step { state, effects } = self.heartbeat.step(now, input);
        let plane = Self { heartbeat: state, ..self };
        effects.into_iter().fold(Step::to(plane), |step, effect| match effect {
            heartbeat::Effect::ArmRotation => Step { state: step.state.arm(now), ..step },
            heartbeat::Effect::Answer(answer) => {
                step.emit(Ok(Response::json(200, json::encode(&answer))))
            }
        })
    }

    fn arm(self, now: Now) -> Self {
        Self { rotation: self.rotation.step(now, rotation::Input::Armed).state, ..self }
    }

    fn rotate(mut self, asked: Asked<'_>) -> Step<Self, Result<Response, Denial>> {
        let read = rotation::read(&asked.body);
        self.captures.keep(Endpoint::KeyRotate, asked.body);
        let key = match read {
            Ok(key) => key,
            Err(refusal) => return Step::to(self).emit(Err(refusal.into())),
        };
        let Self { rotation, mut counters, .. } = self;
        let moved = rotation.step(asked.now, rotation::Input::Submitted { key });
        if moved.effects.iter().any(|effect| matches!(effect, rotation::Effect::Complete(_))) {
            counters.count(Counter::KeyRotations);
        }
        moved.lift(
            |rotation| Self { rotation, counters, ..self },
            |effect| match effect {
                rotation::Effect::Complete(receipt) | rotation::Effect::Replay(receipt) => {
                    Ok(Response::json(200, json::encode(&receipt)))
                }
                rotation::Effect::Refuse(refusal) => Err(refusal.into()),
            },
        )
    }

    fn state(mut self, asked: &Asked<'_>) -> Step<Self, Result<Response, Denial>> {
        self.counters.count(Counter::States);
        let status = |execution: &ExecutionId| self.executions.status(execution);
        let body = json::encode(&self.desired.project(asked.now.wall, status));
        Step::to(self).emit(Ok(Response::json(200, body)))
    }

    fn reachability(self) -> Step<Self, Result<Response, Denial>> {
        let answer = self.desired.reachability().map(|raw| Response::json(200, json::encode(raw)));
        let missing = || Denial::plain(404, "the reachability block is not populated");
        Step::to(self).emit(answer.ok_or_else(missing))
    }

    fn report(
        mut self,
        node: &str,
        execution: ExecutionId,
        asked: Asked<'_>,
    ) -> Step<Self, Result<Response, Denial>> {
        if let Err(refusal) = admit::guard(node) {
            return Step::to(self).emit(Err(refusal.into()));
        }
        let read = execution::read(&execution, &asked.body);
        self.captures.keep(Endpoint::ExecutionCallback, asked.body);
        let callback = match read {
            Ok(callback) => callback,
            Err(refusal) => return Step::to(self).emit(Err(refusal.into())),
        };
        let addr = &asked.settings.info.addr;
        let host = asked.head.headers.first("host").unwrap_or(addr).to_string();
        let input = executions::Input::Reported { execution: execution.clone(), callback };
        self.move_executions(asked.now, input, |status, token| CallbackResponse {
            status,
            output_upload_url: token.map(|token| Executions::upload_url(&host, &execution, token)),
        })
    }

    fn upload(
        self,
        execution: ExecutionId,
        asked: Asked<'_>,
    ) -> Step<Self, Result<Response, Denial>> {
        let token = token(asked.head.query.as_deref());
        let put = upload::Input::Put { execution, token, body: asked.body };
        self.move_executions(asked.now, executions::Input::Upload(put), |status, _| {
            CallbackResponse { status, output_upload_url: None }
        })
    }

    /// Moves the executions, counts what they accepted and puts their orders into answers.
    pub(super) fn move_executions(
        self,
        now: Now,
        input: executions::Input,
        answer: impl Fn(crate::wire::execution::Status, Option<Token>) -> CallbackResponse,
    ) -> Step<Self, Result<Response, Denial>> {
        let Step { state, effects } = self.executions.step(now, input);
        let mut plane = Self { executions: state, ..self };
        let mut answers = vec![];
        for effect in effects {
            answers.push(match effect {
                executions::Effect::Answer { status, upload } => {
                    plane.counters.count(Counter::ExecutionCallbacks);
                    Ok(Response::json(200, json::encode(&answer(status, upload))))
                }
                executions::Effect::Upload(upload::Effect::Accept) => {
                    plane.counters.count(Counter::ExecutionUploads);
                    Ok(Response::empty(200))
                }
                executions::Effect::Upload(upload::Effect::Refuse(refusal)) => Err(refusal.into()),
                executions::Effect::Refuse(refusal) => Err(refusal.into()),
                executions::Effect::Upload(upload::Effect::Issue(_)) => continue,
            });
        }
        Step::to(plane).emit_all(answers)
    }
}

fn health() -> Response {
    let check = HealthCheck { name: "mock".into(), status: "ok".into(), detail: "".into() };
    let health = Health { status: "ok".into(), checks: vec![check] };
    Response::json(200, json::encode(&health))
}
