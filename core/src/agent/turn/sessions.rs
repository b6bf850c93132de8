//! The sessions of users move, and their rows are sent.

use core::mem;

use super::Turn;
use crate::{
    agent::{
        facts::{Act, Effect},
        life::Question,
        sessions::{self, Kit},
    },
    wire::{call::Call, json, session::Activity},
};

impl Turn<'_> {
    pub(super) fn sessions(&mut self, input: sessions::Input) {
        let identity = self.agent.identity.as_ref();
        let mesh_ip = identity.map(|identity| identity.file.mesh_ip.as_str()).unwrap_or_default();
        let kit = Kit { settings: &self.settings.sessions, mesh_ip };
        let step = mem::take(&mut self.agent.sessions).step(kit, self.now, input);
        self.agent.sessions = step.state;
        for effect in step.effects {
            match effect {
                sessions::Effect::Order { session, order } => {
                    self.act(Act::Session(session, order));
                }
                sessions::Effect::Post { session, row, timeout } => {
                    let call = Call::Session { node: self.node(), session: session.0.clone() };
                    let question = Question::Session { session, phase: row.phase };
                    let activity = Activity { tcp: Some(row), ..Activity::default() };
                    self.send(question, &call, json::encode(&activity), Some(timeout));
                }
                sessions::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }
}
