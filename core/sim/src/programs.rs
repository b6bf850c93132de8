//! Programs on a node: what they write through the local socket, and what they are answered.

use meshward_core::{
    agent::{Caller, Door, Input},
    ids::CallId,
    wire::http::{Body, Headers, Method, Request},
};

use crate::{journal::Entry, route::Said, world::World};

impl World {
    /// Writes a report, or deletes it where there is no value; false where no agent listens.
    pub(crate) fn report(&mut self, at: usize, key: u32, value: Option<u32>) -> bool {
        if self.nodes[at].agent.is_none() || self.nodes[at].away.is_some() {
            return false;
        }
        self.last_asked = self.last_asked.next();
        let call = self.last_asked;
        let key = format!("r{key}");
        let value = value.map(|value| value.to_string());
        let (method, body) = match &value {
            Some(value) => (
                Method::Put,
                format!("{{\"content_type\":\"application/json\",\"payload\":{value}}}"),
            ),
            None => (Method::Delete, String::new()),
        };
        let path = format!("/v1/state/report/{key}");
        let (headers, body) = (Headers::new(), Body::Whole(body.into_bytes()));
        let request = Request { method, path, query: None, headers, body };
        self.checks.wished(at, &key, value.clone());
        self.nodes[at].asked.insert(call, Said::Report { key, value });
        self.feed(at, Input::Asked { call, caller: Caller::from(Door::Socket), request });
        true
    }

    pub(crate) fn replied(&mut self, at: usize, call: CallId, status: u16) {
        let said = self.nodes[at].asked.remove(&call);
        self.note(Entry::Replied { node: at, status });
        if let Some(Said::Report { key, value }) = said {
            self.checks.replied(at, &key, value, status);
        }
    }
}
