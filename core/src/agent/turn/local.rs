//! A co-located program asks.

use super::Turn;
use crate::{
    agent::{
        facts::{Caller, Door, Effect},
        local::{self, Ask, Read, secret},
    },
    ids::CallId,
    wire::http::{Request, Response},
};

impl Turn<'_> {
    pub(super) fn asked(&mut self, call: CallId, caller: &Caller, request: &Request) {
        if caller.door == Door::Health {
            return self.reply(call, local::health(self.agent.readiness(), request));
        }
        match local::route(request.method, &request.path) {
            Ok(Ask::Secret(key)) => {
                self.secret_asked(call, caller, (&key, request.query.as_deref()));
            }
            Ok(ask) => self.answer(call, caller, ask),
            Err(miss) => self.reply(call, local::missed(miss)),
        }
    }

    fn answer(&mut self, call: CallId, caller: &Caller, ask: Ask) {
        match ask {
            Ask::Read(Read::Secrets) => {
                let index = self.agent.secrets.summary();
                let listed = self.gate(caller).map(|()| secret::hidden(local::found(&index)));
                self.reply(call, listed.unwrap_or_else(|denied| denied));
            }
            Ask::Read(read) => {
                let shelf = local::Shelf {
                    view: &self.agent.view,
                    readiness: self.agent.readiness(),
                    status: self.agent.status(self.now),
                };
                let response = local::look_up(&shelf, read);
                self.reply(call, response);
            }
            Ask::DeleteReport(_)
            | Ask::PutReport(_)
            | Ask::ReloadHooks
            | Ask::RunAction
            | Ask::Secret(_)
            | Ask::Watch => self.reply(call, local::unavailable("not available")),
        }
    }

    pub(super) fn reply(&mut self, call: CallId, response: Response) {
        self.effects.push(Effect::Reply { call, response });
    }
}
