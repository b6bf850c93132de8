//! What a node declares of itself: what it is, as far as its process has seen that, and in the end at the control plane.

use std::collections::{BTreeMap, BTreeSet};

use meshward_core::{
    agent::{Acted, FoundProgram, Input, Scan, Sight},
    ids::CallId,
};

use super::witness::{Found, Sending, Serving};
use crate::{
    net::Caller,
    node::Node,
    route::{Declared, Said, Sense},
    script::KeyFile,
    surroundings::{fingerprint, on_wire},
};

/// How many hooks one manifest declares at most.
const HOOKS_MAX: usize = 128;

#[derive(Clone, Debug, Default)]
pub(super) struct Manifest {
    nodes: Vec<Seen>,
    /// What the control plane holds of each node, with whose request that was.
    plane: BTreeMap<usize, Held>,
}

/// What the process of a node was shown.
#[derive(Clone, Debug, Default)]
struct Seen {
    version: String,
    checksum: String,
    /// The hooks as they were when it saw them first.
    pins: BTreeMap<String, String>,
    /// Of the host key that it could read last.
    fingerprint: Option<String>,
    sent: BTreeMap<CallId, Declared>,
    /// What this identity has declared, as long as nothing that was sent behind it may be in its place.
    accepted: Option<Declared>,
}

#[derive(Clone, Debug)]
struct Held {
    declared: Declared,
    by: Caller,
    /// An older request arrived behind a newer one.
    is_overtaken: bool,
}

impl Manifest {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: vec![Seen::default(); nodes], ..Self::default() }
    }

    pub(super) fn started(&mut self, at: usize, node: &Node) {
        let (version, checksum) = (node.around.version(), on_wire(node.around.image()));
        self.nodes[at] = Seen { version, checksum, ..Seen::default() };
    }

    /// Another identity has declared nothing.
    pub(super) fn retires(&mut self, at: usize) {
        let seen = &mut self.nodes[at];
        seen.accepted = None;
        seen.sent.clear();
    }

    pub(super) fn hears(&mut self, at: usize, input: &Input) {
        let seen = &mut self.nodes[at];
        if let Input::Acted(Acted::Scanned(scan)) = input {
            seen.scanned(scan);
        }
        if let Input::Acted(Acted::Measured(measured)) = input {
            let last = seen.fingerprint.take();
            seen.fingerprint = measured
                .host_key
                .as_ref()
                .and_then(|key| key.fingerprint.as_ref().map(ToString::to_string).ok().or(last));
        }
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let Said::Sense(Sense::Manifest(declared)) = sending.said else { return };
        let seen = &mut self.nodes[sending.caller.node];
        found.unless(seen.sent.is_empty(), "manifests are sent one after the other");
        found.unless(
            seen.accepted.as_ref() != Some(&**declared),
            "a manifest that was accepted is not sent again",
        );
        let names: BTreeSet<_> = declared.hooks.iter().map(|(name, _)| name).collect();
        let is_sound = declared.hooks.len() <= HOOKS_MAX
            && names.len() == declared.hooks.len()
            && declared.hooks.iter().all(|(name, digest)| seen.pins.get(name) == Some(digest));
        found.unless(is_sound, "a hook is declared as this process has seen it first");
        found.unless(
            (&declared.version, &declared.checksum) == (&seen.version, &seen.checksum),
            "a manifest declares the program that runs",
        );
        found.unless(
            declared.fingerprint == seen.fingerprint,
            "a manifest declares the host key that was read last",
        );
        seen.sent.insert(sending.caller.call, Declared::clone(declared));
    }

    /// Whatever is not answered well may have arrived all the same.
    pub(super) fn heard(&mut self, caller: Caller, status: u16) {
        let seen = &mut self.nodes[caller.node];
        let Some(declared) = seen.sent.remove(&caller.call) else { return };
        seen.accepted = (200..300).contains(&status).then_some(declared);
    }

    pub(super) fn served(&mut self, serving: &Serving<'_>, found: &mut Found) {
        let Said::Sense(Sense::Manifest(declared)) = serving.said else { return };
        found.unless(serving.response.status == 200, "every manifest is sound in itself");
        let (at, by) = (serving.caller.node, serving.caller);
        let last = self.plane.get(&at).map_or(by, |held| held.by);
        let declared = Declared::clone(declared);
        self.plane.insert(at, Held { declared, by: by.max(last), is_overtaken: by < last });
    }

    /// Void where a request that was under way for long has undone a later one.
    pub(super) fn rested(&self, nodes: &[Node], found: &mut Found) {
        for (at, node) in nodes.iter().enumerate() {
            let held = self.plane.get(&at);
            let wanted = self.nodes[at].wanted(node);
            found.unless(
                held.is_some_and(|held| held.declared == wanted || held.is_overtaken),
                "the control plane holds what a node is in the end",
            );
        }
    }
}

impl Seen {
    fn scanned(&mut self, scan: &Scan) {
        let Sight::Found { files, .. } = &scan.sight else { return };
        for file in files {
            if let FoundProgram::Whole { digest, .. } = &file.found {
                self.pins.entry(file.name.clone()).or_insert_with(|| on_wire(*digest));
            }
        }
    }

    /// What is to be declared of a node as it is.
    fn wanted(&self, node: &Node) -> Declared {
        let pinned = |(name, digest): (&'static str, String)| {
            (name.to_owned(), self.pins.get(name).cloned().unwrap_or(digest))
        };
        Declared {
            version: self.version.clone(),
            checksum: self.checksum.clone(),
            fingerprint: match node.around.host_key {
                KeyFile::Absent => None,
                KeyFile::Key(content) => Some(fingerprint(content)),
                KeyFile::Unreadable => self.fingerprint.clone(),
            },
            hooks: node.around.hooks().map(pinned).collect(),
        }
    }
}
