//! Registration, heartbeat, key rotation and the pulled state.
//!
//! Specification: "POST /v1/register" to "GET /v1/nodes/{id}/reachability".

use alloc::{vec, vec::Vec};

use super::{Answered, Asked};
use crate::{
    ids::ExecutionId,
    plane::{
        Plane, Settings,
        captures::Endpoint,
        counters::Counter,
        heartbeat, nonce,
        pulled::Pulled,
        refusal::Denial,
        register::{self, Registration},
        rotation,
    },
    step::Step,
    time::{Now, Wall},
    wire::{
        control::{Health, HealthCheck},
        http::Response,
        json,
    },
};

impl Plane {
    /// Every call counts, also one whose body is no JSON.
    pub(super) fn register(mut self, asked: Asked<'_>) -> Answered {
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
    ) -> Answered {
        let claimed = self.nonces.step(now, nonce::Input::Claimed(claim));
        self.nonces = claimed.state;
        if let Some(nonce::Effect::Refuse(refusal)) = claimed.effects.first() {
            return Step::to(self).emit(Err(register::Refusal::Nonce(*refusal).into()));
        }
        self.rotation = self.rotation.step(now, rotation::Input::Registered { key }).state;
        let body = json::encode(&register::response(&settings.signing_public_key));
        Step::to(self).emit(Ok(Response::json(201, body)))
    }

    pub(super) fn beat(mut self, asked: Asked<'_>) -> Answered {
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

    pub(in crate::plane) fn move_heartbeat(self, now: Now, input: heartbeat::Input) -> Answered {
        let Step { state, effects } = self.heartbeat.step(now, input);
        let plane = Self { heartbeat: state, ..self };
        effects.into_iter().fold(Step::to(plane), |step, effect| match effect {
            heartbeat::Effect::ArmRotation => Step { state: step.state.arm(now), ..step },
            heartbeat::Effect::Answer(answer) => {
                step.emit(Ok(Response::json(200, json::encode(&answer))))
            }
        })
    }

    pub(in crate::plane) fn arm(self, now: Now) -> Self {
        Self { rotation: self.rotation.step(now, rotation::Input::Armed).state, ..self }
    }

    pub(super) fn rotate(mut self, asked: Asked<'_>) -> Answered {
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

    pub(super) fn state(mut self, asked: &Asked<'_>) -> Answered {
        self.counters.count(Counter::States);
        let wall = asked.now.wall;
        let body = match self.pulled.as_ref().and_then(|pulled| pulled.at(wall)) {
            Some(body) => body,
            None => self.pull(wall),
        };
        Step::to(self).emit(Ok(Response::json_line(200, body)))
    }

    fn pull(&mut self, wall: Wall) -> Vec<u8> {
        let status = |execution: &ExecutionId| self.executions.status(execution);
        let mut body = json::encode(&self.desired.project(wall, status));
        body.push(b'\n');
        self.pulled = Some(Pulled::new(body.clone(), wall, self.desired.lapses(wall)));
        body
    }

    pub(super) fn reachability(self) -> Answered {
        let answer = self.desired.reachability().map(|raw| Response::json(200, json::encode(raw)));
        let missing = || Denial {
            rule: "reachability.null".into(),
            ..Denial::plain(404, "the reachability block is not populated")
        };
        Step::to(self).emit(answer.ok_or_else(missing))
    }
}

pub(super) fn health() -> Response {
    let check = HealthCheck { name: "mock".into(), status: "ok".into(), detail: "".into() };
    let health = Health { status: "ok".into(), checks: vec![check] };
    Response::json(200, json::encode(&health))
}
