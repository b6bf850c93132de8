//! Executions and their uploads, and what nodes report of their sessions.
//!
//! Specification: "POST /v1/nodes/{id}/executions/{eid}" to "POST /v1/nodes/{id}/sessions/{sid}".

use alloc::{string::ToString, vec};

use super::{Answered, Asked};
use crate::{
    ids::ExecutionId,
    plane::{
        Plane, admit,
        captures::Endpoint,
        counters::Counter,
        execution,
        executions::{self, Executions},
        upload::{self, Token},
    },
    step::Step,
    time::Now,
    wire::{
        execution::CallbackResponse,
        http::{Response, percent_decode},
        json,
    },
};

/// The token of an upload URL; of repeated query members the first counts.
pub(in crate::plane) fn token(query: Option<&str>) -> Option<Token> {
    let value = query?.split('&').find_map(|member| member.strip_prefix("token="))?;
    Token::parse(&percent_decode(value)?)
}

impl Plane {
    pub(super) fn report(
        mut self,
        node: &str,
        execution: ExecutionId,
        asked: Asked<'_>,
    ) -> Answered {
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

    pub(super) fn upload(self, execution: ExecutionId, asked: Asked<'_>) -> Answered {
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
    ) -> Answered {
        let Step { state, effects } = self.executions.step(now, input);
        let mut plane = Self { executions: state, pulled: None, ..self };
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
