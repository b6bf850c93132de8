//! How this node is seen from outside is found out and told.

use core::mem;

use super::Turn;
use crate::{
    agent::{
        facts::{Act, Effect},
        life::Question,
        nat,
    },
    wire::{
        call::Call, endpoint::EndpointRequest, heartbeat::NatSummary, json, timestamp::Timestamp,
    },
};

impl Turn<'_> {
    pub(super) fn nat(&mut self, input: nat::Input) {
        let Some(settings) = &self.settings.senses.nat else { return };
        let step = mem::take(&mut self.agent.senses.nat).step(settings, self.now, input);
        self.agent.senses.nat = step.state;
        for effect in step.effects {
            match effect {
                nat::Effect::Discover(discovery) => self.act(Act::Discover(discovery)),
                nat::Effect::Report { endpoint, nat_type } => self.post_endpoint(EndpointRequest {
                    endpoint,
                    nat_type,
                    reported_at: Timestamp::from(self.now.wall),
                }),
                nat::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    fn post_endpoint(&mut self, request: EndpointRequest) {
        let call = Call::Endpoint { node: self.node() };
        self.send(Question::Endpoint, &call, json::encode(&request), None);
    }

    /// What a heartbeat tells of it: nothing before a discovery, and nothing once the endpoint is given up.
    pub(super) fn nat_summary(&self) -> NatSummary {
        let Some(found) = self.agent.senses.nat.found() else { return NatSummary::default() };
        NatSummary { endpoint: Some(found.endpoint), nat_type: Some(found.nat_type) }
    }
}
