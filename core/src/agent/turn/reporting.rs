//! Reports: written by programs and by the agent itself, delivered to the control plane.

use alloc::{string::ToString, vec::Vec};
use core::mem;

use super::Turn;
use crate::{
    agent::{
        facts::Effect,
        life::{Life, Question},
        local,
        own_reports::own_reports,
        reports::{self, Refusal},
        sync,
    },
    ids::CallId,
    wire::{
        call::Call,
        change::{self, ChangeKind},
        grammar::{Name, ReportKey},
        http::Request,
        json,
        report::ReportRequest,
    },
};

impl Turn<'_> {
    pub(super) fn reports(&mut self, input: reports::Input) {
        let step = mem::take(&mut self.agent.reports).step(self.now, input);
        self.agent.reports = step.state;
        for effect in step.effects {
            match effect {
                reports::Effect::Keep { file, change } => {
                    self.effects.push(Effect::Keep { file, change });
                }
                reports::Effect::Answer { asker, outcome } => {
                    self.reply(asker, local::reported(outcome));
                }
                reports::Effect::Changed(key) => {
                    self.report_changed(&key);
                    self.sync(sync::Input::Dirtied);
                }
                reports::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    fn report_changed(&mut self, key: &ReportKey) {
        let name = key.as_str().to_string();
        let version = self.agent.reports.get(key).map(|entry| entry.version);
        self.changed(match version {
            Some(_) => change::Change::of(ChangeKind::Report, name, version),
            None => change::Change::gone(ChangeKind::Report, name),
        });
    }

    pub(super) fn sync(&mut self, input: sync::Input) {
        let step = mem::take(&mut self.agent.sync).step(
            self.settings.debounce_period,
            self.now,
            self.agent.reports.unsynced(),
            input,
        );
        self.agent.sync = step.state;
        for effect in step.effects {
            match effect {
                sync::Effect::Deliver { key, generation } => self.deliver(key, generation),
                sync::Effect::Settle { key, generation } => {
                    self.reports(reports::Input::Settled { key, generation });
                }
                sync::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    fn deliver(&mut self, key: Name, generation: u64) {
        let (node, named) = (self.node(), key.as_str().to_string());
        let entry = self.agent.reports.named(&key);
        let value = entry.map(|entry| entry.payload.text().to_string());
        let is_deleted = value.is_none();
        let (call, body) = match value {
            Some(_) => {
                let request = ReportRequest { value, ..ReportRequest::default() };
                (Call::PutReport { node, key: named }, json::encode(&request))
            }
            None => (Call::DeleteReport { node, key: named }, Vec::new()),
        };
        self.send(Question::Report { key, generation, is_deleted }, &call, body, None);
    }

    /// What the agent reports of itself is put back where another has overwritten or deleted it.
    pub(super) fn publish(&mut self) {
        for (key, draft) in own_reports() {
            self.reports(reports::Input::Published { key, draft });
        }
    }

    pub(super) fn put_report(&mut self, asker: CallId, key: &str, request: &Request) {
        match local::read_report(key, request) {
            Ok((key, draft, if_match)) if self.agent.life != Life::Over => {
                self.reports(reports::Input::Put { asker, key, draft, if_match });
            }
            Ok(_) => self.reply(asker, local::reported(Err(Refusal::Busy))),
            Err(refusal) => self.reply(asker, local::reported(Err(refusal))),
        }
    }

    pub(super) fn delete_report(&mut self, asker: CallId, key: &str) {
        match ReportKey::parse(key) {
            Ok(key) if self.agent.life != Life::Over => {
                self.reports(reports::Input::Delete { asker, key });
            }
            Ok(_) => self.reply(asker, local::reported(Err(Refusal::Busy))),
            Err(_) => self.reply(asker, local::reported(Err(Refusal::Key))),
        }
    }
}
