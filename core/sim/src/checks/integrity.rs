//! The files of a node: what they were is kept, and each other content that is seen is told until that is answered, or
//! its loss is.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use meshward_core::{
    agent::{Acted, FoundProgram, Input, Measured, Notice, Scan, Sight, StateFile},
    ids::CallId,
    time::Mono,
    wire::json,
};
use serde::Deserialize;

use super::witness::{Found, Sending};
use crate::{
    disk::Disk,
    net::Caller,
    node::Node,
    route::{Artifact, Deviation, Said, Sense},
    script::KeyFile,
    surroundings::{HOST_KEY, PROGRAM, fingerprint, from_hex, on_wire},
};

const HOOK: &str = "hook_checksum";
const BINARY: &str = "binary_checksum";
const KEY: &str = "ssh_host_key";
/// How many files one request tells of at most.
const BATCH_MAX: usize = 128;
/// How long behind the last fault a node may take to be back, and then to tell: the longest wait, a fifth longer, and a
/// request that is not answered.
const RECOVERY: Duration = Duration::from_secs(900);
const TOLD_WITHIN: Duration = Duration::from_secs(105);

#[derive(Clone, Debug, Default)]
pub(super) struct Integrity {
    healed: Option<Mono>,
    nodes: Vec<Watch>,
}

/// A file, and what it is.
type Told = (Artifact, String);

/// The files of one node, by what its process was shown.
#[derive(Clone, Debug, Default)]
struct Watch {
    /// As the disk knew them when the process began, else as they were shown first.
    baselines: BTreeMap<Artifact, String>,
    /// Shown since this time, other than the baselines, and to be told.
    owed: BTreeMap<Told, Mono>,
    /// Accepted, or told as dropped.
    settled: BTreeSet<Told>,
    /// What was sent and is not answered.
    sent: BTreeMap<CallId, Vec<Told>>,
    /// What was refused alone.
    refused: Option<Told>,
    /// How many the operator was told to be lost at the end.
    lost: usize,
    /// What the disk holds; of the program with its version.
    kept: BTreeMap<Artifact, (String, String)>,
}

/// `state/checksums.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    binary: Option<Line>,
    ssh_host_key: Option<Line>,
    hooks: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    path: String,
    version: String,
    checksum: String,
    fingerprint: String,
}

impl Integrity {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: vec![Watch::default(); nodes], ..Self::default() }
    }

    pub(super) const fn healed(&mut self, now: Mono) {
        self.healed = Some(now);
    }

    /// A program of another version, or in another place, is held to what runs.
    pub(super) fn started(&mut self, at: usize, node: &Node) {
        let kept = on_disk(&node.disk);
        let (program, version) = (artifact(BINARY, PROGRAM), node.around.version());
        let mut baselines = BTreeMap::new();
        for (artifact, (digest, of)) in &kept {
            if *artifact != program || *of == version {
                baselines.insert(artifact.clone(), digest.clone());
            }
        }
        baselines.entry(program).or_insert_with(|| on_wire(node.around.image()));
        self.nodes[at] = Watch { baselines, kept, ..Watch::default() };
    }

    pub(super) fn hears(&mut self, at: usize, input: &Input, now: Mono) {
        let watch = &mut self.nodes[at];
        if let Input::Acted(Acted::Scanned(scan)) = input {
            watch.scanned(scan, now);
        }
        if let Input::Acted(Acted::Measured(measured)) = input {
            watch.measured(measured, now);
        }
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let Said::Sense(Sense::Violations(told)) = sending.said else { return };
        let watch = &mut self.nodes[sending.caller.node];
        found.unless((1..=BATCH_MAX).contains(&told.len()), "a batch of violations is 1 to 128");
        found.unless(watch.sent.is_empty(), "violations are sent one batch after the other");
        let mut batch = Vec::new();
        for Deviation { artifact, observed, expected } in told {
            let one = (artifact.clone(), observed.clone());
            found.unless(
                watch.owed.contains_key(&one) && !batch.contains(&one),
                "what is told of a file was seen of it, and was neither accepted nor dropped",
            );
            found.unless(
                watch.baselines.get(artifact) == Some(expected),
                "a file is held to what it was when it was seen first",
            );
            batch.push(one);
        }
        watch.sent.insert(sending.caller.call, batch);
    }

    pub(super) fn heard(&mut self, caller: Caller, status: u16) {
        let watch = &mut self.nodes[caller.node];
        let Some(batch) = watch.sent.remove(&caller.call) else { return };
        match status {
            200..300 => batch.into_iter().for_each(|one| watch.settle(one)),
            400 | 413 | 422 if batch.len() == 1 => watch.refused = batch.into_iter().next(),
            _ => {}
        }
    }

    pub(super) fn told(&mut self, at: usize, notice: &Notice, found: &mut Found) {
        let watch = &mut self.nodes[at];
        if notice.text.contains("which is dropped: ") {
            let one = watch.refused.take();
            found.unless(one.is_some(), "nothing is dropped but what was refused alone");
            one.into_iter().for_each(|one| watch.settle(one));
        }
        if let Some((count, _)) = notice.text.split_once(" integrity violations were not delivered")
        {
            watch.lost = count.parse().unwrap_or_default();
        }
    }

    /// What was asked under an identity that makes room is answered to nobody.
    pub(super) fn retires(&mut self, at: usize) {
        self.nodes[at].sent.clear();
    }

    pub(super) fn exited(&self, at: usize, found: &mut Found) {
        let watch = &self.nodes[at];
        found.unless(
            watch.lost == watch.owed.len(),
            "what was not delivered of violations is told at the end",
        );
    }

    pub(super) fn kept(&mut self, at: usize, disk: &Disk, found: &mut Found) {
        let watch = &mut self.nodes[at];
        let kept = on_disk(disk);
        for (artifact, before) in &watch.kept {
            let now = kept.get(artifact);
            let renewed = now.is_some_and(|now| artifact.0 == BINARY && now.1 != before.1);
            found.unless(
                now == Some(before) || renewed,
                "what a file was stays on the disk, whatever it is now",
            );
        }
        watch.kept = kept;
    }

    pub(super) fn stand(&self, nodes: &[Node], now: Mono, found: &mut Found) {
        let Some(healed) = self.healed else { return };
        for (watch, node) in self.nodes.iter().zip(nodes) {
            let Some(owed) = watch.owed.values().min() else { continue };
            let since = node.now(healed.after(RECOVERY)).mono.max(*owed);
            let late = node.now(now).mono.since(since) > TOLD_WITHIN;
            found.unless(!late || node.agent.is_none(), "what is seen of a file is told soon");
        }
    }

    pub(super) fn rested(&self, nodes: &[Node], found: &mut Found) {
        for (watch, node) in self.nodes.iter().zip(nodes) {
            found.unless(watch.owed.is_empty(), "no violation is left to tell in the end");
            let kept = |artifact: &Artifact, digest: &String| {
                watch.kept.get(artifact).is_some_and(|(kept, _)| kept == digest)
            };
            found.unless(
                watch.baselines.iter().all(|(artifact, digest)| kept(artifact, digest)),
                "what each file was is on the disk in the end",
            );
            for (artifact, digest) in there_is(node) {
                let known = watch.baselines.get(&artifact);
                found.unless(known.is_some(), "every file was looked at in the end");
                found.unless(
                    known == Some(&digest) || watch.settled.contains(&(artifact, digest)),
                    "a change of a file that lasts is told",
                );
            }
        }
    }
}

impl Watch {
    fn scanned(&mut self, scan: &Scan, now: Mono) {
        let Sight::Found { files, .. } = &scan.sight else { return };
        for file in files {
            if let FoundProgram::Whole { digest, .. } = &file.found {
                self.shown(artifact(HOOK, &file.name), on_wire(*digest), now);
            }
        }
    }

    fn measured(&mut self, measured: &Measured, now: Mono) {
        if let Ok(digest) = &measured.checksum {
            self.shown(artifact(BINARY, PROGRAM), on_wire(*digest), now);
        }
        if let Some(Ok(fingerprint)) = measured.host_key.as_ref().map(|key| &key.fingerprint) {
            self.shown(artifact(KEY, HOST_KEY), fingerprint.to_string(), now);
        }
    }

    fn shown(&mut self, artifact: Artifact, digest: String, now: Mono) {
        let baseline =
            self.baselines.entry(artifact.clone()).or_insert_with(|| digest.clone()).clone();
        let one = (artifact, digest);
        if one.1 != baseline && !self.settled.contains(&one) {
            self.owed.entry(one).or_insert(now);
        }
    }

    fn settle(&mut self, one: Told) {
        self.owed.remove(&one);
        self.settled.insert(one);
    }
}

fn artifact(kind: &str, name: &str) -> Artifact {
    (kind.to_owned(), name.to_owned())
}

/// The files around a node as they are now.
fn there_is(node: &Node) -> Vec<Told> {
    let hooks = node.around.hooks().map(|(name, digest)| (artifact(HOOK, name), digest));
    let program = (artifact(BINARY, PROGRAM), on_wire(node.around.image()));
    let key = match node.around.host_key {
        KeyFile::Key(content) => Some((artifact(KEY, HOST_KEY), fingerprint(content))),
        KeyFile::Absent | KeyFile::Unreadable => None,
    };
    hooks.chain([program]).chain(key).collect()
}

/// What the disk of a node tells of its files, as the wire has it.
fn on_disk(disk: &Disk) -> BTreeMap<Artifact, (String, String)> {
    let is_it = |(file, _): &(&StateFile, &Vec<u8>)| file.name == super::CHECKSUMS;
    let bytes = disk.state.iter().find(is_it).map(|(_, bytes)| bytes.as_slice());
    let file: File = bytes.and_then(|bytes| json::decode_tolerant(bytes).ok()).unwrap_or_default();
    let hooks = file.hooks.iter();
    let hooks = hooks.map(|(name, hex)| (artifact(HOOK, name), (from_hex(hex), String::new())));
    let program = file
        .binary
        .map(|line| (artifact(BINARY, &line.path), (from_hex(&line.checksum), line.version)));
    let key = file
        .ssh_host_key
        .map(|line| (artifact(KEY, &line.path), (line.fingerprint, String::new())));
    hooks.chain(program).chain(key).collect()
}
