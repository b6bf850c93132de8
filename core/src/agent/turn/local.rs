//! A co-located program asks.

use super::Turn;
use crate::{
    agent::{
        facts::{Caller, Door, Effect},
        local::{self, Ask},
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
            Ok(ask) => self.answer(call, ask, request),
            Err(miss) => self.reply(call, local::missed(miss)),
        }
    }

    fn answer(&mut self, call: CallId, ask: Ask, request: &Request) {
        match ask {
            Ask::Read(read) => {
                let shelf = local::Shelf {
                    view: &self.agent.view,
                    reports: &self.agent.reports,
                    readiness: self.agent.readiness(),
                    status: self.agent.status(self.now),
                };
                let response = local::look_up(&shelf, read);
                self.reply(call, response);
            }
            Ask::DeleteReport(key) => self.delete_report(call, &key),
            Ask::PutReport(key) => self.put_report(call, &key, request),
            Ask::ReloadHooks | Ask::RunAction | Ask::Secret(_) | Ask::Watch => {
                self.reply(call, local::unavailable("not available"))
            }
        }
    }

    pub(super) fn reply(&mut self, call: CallId, response: Response) {
        self.effects.push(Effect::Reply { call, response });
    }
}
