//! Capability manifests, NAT endpoints and integrity violations.
//!
//! Specification: "PUT /v1/nodes/{id}/capabilities", "PUT /v1/nodes/{id}/endpoint" and
//! "POST /v1/nodes/{id}/integrity-violations".

use super::{Answered, Asked};
use crate::{
    plane::{
        Plane, capabilities, captures::Endpoint as Captured, counters::Counter, endpoint, integrity,
    },
    step::Step,
    time::Now,
    wire::{http::Response, json},
};

impl Plane {
    pub(in crate::plane) fn capabilities(mut self, asked: Asked<'_>) -> Answered {
        let read = capabilities::read(&asked.body);
        self.captures.keep(Captured::Capabilities, asked.body);
        match read {
            Ok(read) => self.declare(asked.now, read),
            Err(refusal) => Step::to(self).emit(Err(refusal.into())),
        }
    }

    fn declare(mut self, now: Now, read: capabilities::Read) -> Answered {
        self.counters.count(Counter::Capabilities);
        let Self { capabilities, .. } = self;
        let moved = capabilities.step(now, capabilities::Input::Reported(read));
        moved.lift(
            |capabilities| Self { capabilities, ..self },
            |capabilities::Effect::Answer(answer)| Ok(Response::json(200, json::encode(&answer))),
        )
    }

    pub(in crate::plane) fn endpoint(mut self, asked: Asked<'_>) -> Answered {
        let read = endpoint::read(&asked.body, asked.now.wall);
        self.captures.keep(Captured::NatEndpoint, asked.body);
        match read {
            Ok(_) => {
                self.counters.count(Counter::Endpoints);
                self.move_endpoints(asked.now, endpoint::Input::Reported)
            }
            Err(refusal) => Step::to(self).emit(Err(refusal.into())),
        }
    }

    fn move_endpoints(self, now: Now, input: endpoint::Input) -> Answered {
        self.endpoints.step(now, input).lift(
            |endpoints| Self { endpoints, ..self },
            |endpoint::Effect::Answer(answer)| Ok(Response::json(200, json::encode(&answer))),
        )
    }

    pub(in crate::plane) fn integrity_violations(mut self, asked: Asked<'_>) -> Answered {
        let read = integrity::read(&asked.body);
        self.captures.keep(Captured::IntegrityViolations, asked.body);
        let answer = read.map(|batch| {
            self.counters.count(Counter::IntegrityViolations);
            Response::json(200, json::encode(&integrity::response(asked.now, &batch)))
        });
        Step::to(self).emit(answer.map_err(Into::into))
    }

    pub(in crate::plane) fn configure_endpoint(mut self, asked: Asked<'_>) -> Answered {
        let read = endpoint::read_ttl(&asked.body);
        self.captures.keep(Captured::ConfigureEndpoint, asked.body);
        match read {
            Ok(ttl) => {
                let input = endpoint::Input::Configured { ttl };
                self.move_endpoints(asked.now, input).emit(Ok(Response::empty(204)))
            }
            Err(refusal) => Step::to(self).emit(Err(refusal.into())),
        }
    }
}
