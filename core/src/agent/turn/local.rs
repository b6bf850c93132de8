//! A co-located program asks.

use alloc::format;

use super::Turn;
use crate::{
    agent::{
        facts::{Act, Caller, Door, Effect, Pipe},
        figures::Process,
        local::{self, Ask, Read},
        notice::Notice,
    },
    ids::CallId,
    wire::http::{Request, Response},
};

impl Turn<'_> {
    pub(super) fn asked(&mut self, call: CallId, caller: &Caller, request: &Request) {
        if caller.door == Door::Health {
            return match local::health(self.agent.readiness(), request) {
                Some(response) => self.reply(call, response),
                None => self.act(Act::Weigh(call)),
            };
        }
        match local::head::asked(self.settings.tcp.as_ref(), caller.door, request) {
            Ok(ask) => self.answer((call, caller), ask, request),
            Err(refused) => self.reply(call, refused),
        }
    }

    fn answer(&mut self, (call, caller): (CallId, &Caller), ask: Ask, request: &Request) {
        let response = match ask {
            Ask::Read(Read::Secrets) if let Err(denied) = self.gate(caller) => denied,
            Ask::Read(read) => self.looked_up(read),
            Ask::Metrics => return self.act(Act::Weigh(call)),
            Ask::ReloadHooks => return self.reload_asked(call, caller),
            Ask::RunAction => return self.run_ordered(call, caller, request),
            Ask::DeleteReport(key) => return self.delete_report(call, &key),
            Ask::PutReport(key) => return self.put_report(call, &key, request),
            Ask::Secret(key) => {
                return self.secret_asked(call, caller, (&key, request.query.as_deref()));
            }
            Ask::Watch => return self.watch_asked(call, caller),
        };
        self.reply(call, response);
    }

    /// The figures are those of this moment, not of the one at which they were asked for.
    pub(super) fn weighed(&mut self, asker: CallId, process: &Process) {
        let response = self.agent.exposed(self.settings, self.now, process);
        self.reply(asker, response);
    }

    fn looked_up(&self, read: Read) -> Response {
        let shelf = local::Shelf {
            view: &self.agent.view,
            delivery_mode: self.delivery_mode(),
            network: &self.agent.network,
            secrets: &self.agent.secrets,
            reports: &self.agent.reports,
            builtins: &self.settings.actions.builtins,
            hooks: &self.agent.hooks,
            readiness: self.agent.readiness(),
            status: self.agent.status(self.now),
            logs: self.agent.voice.status(&self.settings.voice, Pipe::Logs),
            audit: self.agent.voice.status(&self.settings.voice, Pipe::Audit),
        };
        local::look_up(&shelf, read)
    }

    /// Where no stream is asked for, there is nothing to tell.
    pub(super) fn delivery_mode(&self) -> Option<&'static str> {
        let events = self.settings.senses.events.as_ref();
        events.map(|_| self.agent.senses.events.mode().as_str())
    }

    /// Whoever asks there finds nobody any more; what else runs goes on.
    pub(super) fn broke(&mut self, door: Door) {
        self.agent.broken = true;
        let listener = match door {
            Door::Health => "health listener",
            Door::Socket => "local socket",
            Door::Tcp => "TCP listener of the local API",
        };
        let text =
            format!("the {listener} has ended by a fault of this program: restart the agent");
        self.effects.push(Effect::Tell(Notice::error(text)));
    }

    pub(super) fn reply(&mut self, call: CallId, response: Response) {
        self.effects.push(Effect::Reply { call, response });
    }
}
