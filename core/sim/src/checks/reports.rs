//! Reports: that one which was answered for is on the disk, and reaches the control plane as it was written last.

use std::collections::BTreeMap;

use meshward_core::{
    agent::{Folder, StateFile},
    wire::{
        grammar::ReportKey,
        kept::{self, KeptReport},
    },
};

use super::{
    Checks,
    witness::{Found, Rest, Sending, Serving},
};
use crate::{disk::Disk, net::Caller, node::Node, route::Said};

/// A value, or none where there is no report.
type Value = Option<String>;

#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    /// Several nodes bear one name and write under one.
    shared: bool,
    has_forgotten: bool,
    nodes: Vec<Wishes>,
    /// What the control plane holds since it started, and whose request made it so.
    plane: BTreeMap<String, Held>,
}

/// What the programs on one node have asked.
#[derive(Clone, Debug, Default)]
struct Wishes {
    promises: BTreeMap<String, Promise>,
    /// What was last found to hold.
    seen: BTreeMap<StateFile, Vec<u8>>,
}

#[derive(Clone, Debug, Default)]
struct Promise {
    /// The last write that was answered for.
    answered: Value,
    /// What was asked and never answered.
    doubtful: Vec<Value>,
}

#[derive(Clone, Debug)]
struct Held {
    value: Value,
    by: Caller,
    /// An older request arrived behind a newer one.
    overtaken: bool,
}

impl Reports {
    pub(super) fn of(nodes: usize) -> Self {
        Self { shared: nodes > 1, nodes: vec![Wishes::default(); nodes], ..Self::default() }
    }

    pub(super) fn forgot(&mut self) {
        self.has_forgotten = true;
        self.plane.clear();
    }

    pub(super) fn wished(&mut self, at: usize, key: &str, value: Value) {
        self.nodes[at].promises.entry(key.to_owned()).or_default().doubtful.push(value);
    }

    /// An answer ends all doubt: what was asked before it is done or undone.
    pub(super) fn replied(
        &mut self,
        (at, key): (usize, &str),
        value: Value,
        status: u16,
        found: &mut Found,
    ) {
        let wishes = &mut self.nodes[at];
        let promise = wishes.promises.entry(key.to_owned()).or_default();
        match status {
            200 | 204 => {
                promise.answered = value;
                promise.doubtful.clear();
            }
            _ => {
                promise.doubtful.pop();
            }
        }
        found.unless(
            matches!(status, 200 | 204 | 404 | 500),
            "a sound write is done, or refused for what is there",
        );
        wishes.seen.clear();
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let Said::Report { key, value } = sending.said else { return };
        found.unless(
            on_disk(&sending.node.disk, key) == *value,
            "what is sent of a report is what is on the disk",
        );
        let Node { open, abandoned, .. } = sending.node;
        let mut open = open.iter().filter(|(call, _)| !abandoned.contains(call));
        found.unless(
            !open.any(|(_, said)| matches!(said, Said::Report { .. })),
            "reports are sent one after the other",
        );
    }

    pub(super) fn served(&mut self, serving: &Serving<'_>, found: &mut Found) {
        let Said::Report { key, value } = serving.said else { return };
        let taken = match value {
            Some(_) => serving.response.status == 200,
            None => matches!(serving.response.status, 204 | 404),
        };
        found.unless(taken, "every report is sound in itself");
        let by = serving.caller;
        let overtaken = self.plane.get(key).is_some_and(|held| by < held.by);
        let by = self.plane.get(key).map_or(by, |held| held.by.max(by));
        self.plane.insert(key.clone(), Held { value: value.clone(), by, overtaken });
    }

    pub(super) fn stand(&mut self, nodes: &[Node], found: &mut Found) {
        for (wishes, node) in self.nodes.iter_mut().zip(nodes) {
            if wishes.seen == node.disk.state && !wishes.seen.is_empty() {
                continue;
            }
            for (key, promise) in &wishes.promises {
                let value = on_disk(&node.disk, key);
                found.unless(
                    value == promise.answered || promise.doubtful.contains(&value),
                    "a report that was answered for is on the disk",
                );
            }
            wishes.seen.clone_from(&node.disk.state);
        }
    }

    pub(super) fn rested(&mut self, rest: &Rest<'_>, found: &mut Found) {
        for node in rest.nodes {
            let delivered = node.agent.as_ref().is_some_and(|agent| {
                let queues = agent.status(node.now(rest.now.mono)).queues;
                (queues.reports_unsynced, queues.reports_writing) == (0, 0)
            });
            found.unless(delivered, "no report is left to deliver in the end");
            for file in node.disk.state.keys().filter(|file| file.folder == Folder::Report) {
                let Some(key) = kept::file_key(&file.name) else { continue };
                self.both_ends_hold_the_same(&key, &on_disk(&node.disk, &key), found);
            }
        }
    }

    /// Void while a request that was under way for long has undone a later one, and for what the control plane was
    /// told before it forgot.
    fn both_ends_hold_the_same(&self, key: &str, value: &Value, found: &mut Found) {
        let held = self.plane.get(key);
        let same = match held {
            Some(held) => held.value == *value || held.overtaken,
            None => self.has_forgotten,
        };
        found.unless(same || self.shared, &format!("both ends hold the same of {key} in the end"));
    }
}

impl Checks {
    /// A program on a node asks for a report to be written, or deleted where there is no value.
    pub fn wished(&mut self, at: usize, key: &str, value: Option<String>) {
        self.reports.wished(at, key, value);
    }

    pub fn replied(&mut self, at: usize, key: &str, value: Option<String>, status: u16) {
        self.reports.replied((at, key), value, status, &mut self.found);
    }
}

fn on_disk(disk: &Disk, key: &str) -> Value {
    let file = StateFile { folder: Folder::Report, name: kept::file_name(key) };
    let bytes = disk.state.get(&file)?;
    match KeptReport::decode(&ReportKey::parse(key).ok()?, bytes) {
        Ok(KeptReport::Entry { entry, .. }) => Some(entry.payload.text().to_owned()),
        Ok(KeptReport::Deleted(_)) | Err(_) => None,
    }
}
