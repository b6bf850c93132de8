//! Keys, receipts and the identity: what is on disk, beside what the control plane holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use meshward_core::{
    time::Mono,
    wire::{grammar::PublicKey, identity::IdentityFile, json, rotation::Receipt},
};

use super::witness::{Found, Rest, Sending, Serving};
use crate::{disk::Disk, node::Node, route::Said};

/// The shortest wait before a key is offered again.
const OFFER_WAIT_MIN: Duration = Duration::from_secs(5);
/// How long one key may stay staged when no fault is left: twice the longest wait between two offers, and a call that
/// was under way when the faults ended.
const STAGED_MAX: Duration = Duration::from_secs(2 * 120 + 30);

#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// Several nodes bear one name, so that what the control plane holds may be another's.
    shared: bool,
    /// The key that the control plane holds as current, in base64.
    current: Option<String>,
    /// What the control plane gave for each key since it started.
    receipts: BTreeMap<String, Receipt>,
    /// Every key that the control plane ever took.
    taken: BTreeSet<String>,
    /// A key came into force by a request that arrived when its sender had given the key up.
    overtaken: bool,
    nodes: Vec<Held>,
    /// What was last found to hold, so that nothing is checked again before it changes.
    seen: Vec<Disk>,
    /// When the last fault was over.
    healed: Option<Mono>,
}

/// What is known of one node.
#[derive(Clone, Debug, Default)]
struct Held {
    /// The key whose rotation this node knows no end of.
    undecided: Option<String>,
    /// Keys that were sent and then refused, or belonged to an earlier identity.
    given_up: BTreeSet<String>,
    last_sent: Option<(u32, String, Mono)>,
    /// Something else than the agent has written to its disk.
    damaged: bool,
    /// The key that is staged, and since when.
    staged: Option<(PublicKey, Mono)>,
}

impl Keys {
    pub(super) fn of(nodes: usize) -> Self {
        Self { shared: nodes > 1, nodes: vec![Held::default(); nodes], ..Self::default() }
    }

    pub(super) fn forgot(&mut self) {
        self.current = None;
        self.receipts.clear();
        self.seen.clear();
    }

    /// An identity is to make room; whether it does or not, the next offer is the first of its loop.
    pub(super) fn retires(&mut self, at: usize) {
        self.nodes[at].last_sent = None;
    }

    /// A registration of which its node heard nothing good may have put its key into force.
    pub(super) fn restored(&mut self, disk: &Disk) {
        let current = self.current.as_deref();
        let held = |key| holds(disk, key);
        self.overtaken |= disk.identity().is_some() && !current.is_none_or(held);
    }

    pub(super) fn healed(&mut self, now: Mono) {
        self.healed = Some(now);
    }

    pub(super) fn damaged(&mut self, at: usize) {
        self.nodes[at].damaged = true;
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        match sending.said {
            Said::Register { key, .. } => self.registers(sending, key, found),
            Said::Rotate { key } => self.rotates(sending, key, found),
            Said::Batch(..)
            | Said::Callback { .. }
            | Said::Heartbeat { .. }
            | Said::Pull
            | Said::Report { .. }
            | Said::Sense(_)
            | Said::Session { .. }
            | Said::Upload { .. } => {}
        }
    }

    fn registers(&mut self, sending: &Sending<'_>, key: &str, found: &mut Found) {
        found.unless(
            is(sending.node.disk.private_key, key),
            "a key is on disk before it is registered",
        );
        let held = &mut self.nodes[sending.caller.node];
        held.given_up.extend(held.undecided.take());
    }

    fn rotates(&mut self, sending: &Sending<'_>, key: &str, found: &mut Found) {
        found.unless(is(sending.node.disk.staged, key), "a key is on disk before it is offered");
        let held = &mut self.nodes[sending.caller.node];
        found.unless(
            held.undecided.as_deref().is_none_or(|undecided| undecided == key),
            "no second key is offered while one is undecided",
        );
        let life = sending.caller.life;
        let too_soon = held.last_sent.as_ref().is_some_and(|(of, last, at)| {
            *of == life && last == key && sending.now.mono.since(*at) < OFFER_WAIT_MIN
        });
        found.unless(!too_soon, "a key is offered again after five seconds at the earliest");
        held.undecided = Some(key.to_owned());
        held.last_sent = Some((life, key.to_owned(), sending.now.mono));
    }

    /// Answers that end a rotation, whichever way.
    pub(super) fn heard(&mut self, at: usize, said: &Said, status: u16) {
        let Said::Rotate { key } = said else { return };
        let held = &mut self.nodes[at];
        match status {
            200 | 422 => held.undecided = None,
            // A key that is not expected is put aside, as its request may still be under way, and offered again at the
            // next signal, however soon that is.
            409 => (held.undecided, held.last_sent) = (None, None),
            400 | 403 | 413 => {
                held.undecided = None;
                held.given_up.insert(key.clone());
            }
            _ => {}
        }
    }

    pub(super) fn served(&mut self, serving: &Serving<'_>) {
        match serving.said {
            Said::Register { key, .. } if serving.response.status == 201 => {
                // A request of an earlier registration, which was given up with its key.
                self.overtaken = !is(serving.node.disk.private_key, key);
                self.take(key);
            }
            Said::Rotate { key } if serving.completed => self.completed(key, serving),
            Said::Batch(..)
            | Said::Callback { .. }
            | Said::Heartbeat { .. }
            | Said::Pull
            | Said::Register { .. }
            | Said::Report { .. }
            | Said::Sense(_)
            | Said::Rotate { .. }
            | Said::Session { .. }
            | Said::Upload { .. } => {}
        }
    }

    fn completed(&mut self, key: &str, serving: &Serving<'_>) {
        let given_up = self.nodes[serving.caller.node].given_up.contains(key);
        self.overtaken = given_up && !serving.is_waited_for();
        let receipt = json::decode_tolerant(&serving.response.body);
        self.receipts.extend(receipt.ok().map(|receipt| (key.to_owned(), receipt)));
        self.take(key);
    }

    fn take(&mut self, key: &str) {
        self.current = Some(key.to_owned());
        self.taken.insert(key.to_owned());
        self.seen.clear();
    }

    pub(super) fn stand(&mut self, nodes: &[Node], now: Mono, found: &mut Found) {
        for (at, node) in nodes.iter().enumerate() {
            self.a_staged_key_is_soon_decided(at, &node.disk, now, found);
        }
        if nodes.iter().map(|node| &node.disk).eq(&self.seen) {
            return;
        }
        for (at, node) in nodes.iter().enumerate() {
            self.an_identity_on_disk_is_complete(at, &node.disk, found);
            self.an_identity_on_disk_is_of_one_registration(&node.disk, found);
            self.the_current_key_is_on_disk(&node.disk, found);
            self.the_receipt_on_disk_is_the_control_planes(&node.disk, found);
        }
        self.seen = nodes.iter().map(|node| node.disk.clone()).collect();
    }

    /// Void while faults go on.
    fn a_staged_key_is_soon_decided(
        &mut self,
        at: usize,
        disk: &Disk,
        now: Mono,
        found: &mut Found,
    ) {
        let since = &mut self.nodes[at].staged;
        *since = disk.staged.map(|key| match *since {
            Some((staged, since)) if staged == key => (key, since),
            Some(_) | None => (key, now),
        });
        if let (Some((_, since)), Some(healed)) = (*since, self.healed) {
            let in_time = now.since(since.max(healed)) <= STAGED_MAX;
            found.unless(in_time, "a staged key is decided soon after the faults are over");
        }
    }

    /// Void from the damage of a file until the identity is whole again or set aside.
    fn an_identity_on_disk_is_complete(&mut self, at: usize, disk: &Disk, found: &mut Found) {
        let complete = disk.identity.is_none() || disk.identity().is_some();
        let held = &mut self.nodes[at];
        // What made room may come back as it was.
        held.damaged &= !complete || disk.refused.is_some();
        found.unless(complete || held.damaged, "an identity on disk is complete");
    }

    fn an_identity_on_disk_is_of_one_registration(&self, disk: &Disk, found: &mut Found) {
        if disk.identity().is_none() {
            return;
        }
        let recorded = record(disk).map(|file| file.signing_public_key);
        let taken = disk.private_key.is_some_and(|key| self.taken.contains(&key.to_string()));
        found.unless(
            recorded == disk.signing_public_key && taken,
            "an identity on disk is of one registration",
        );
    }

    /// Void while the control plane holds another node's key, or one that its owner had given up.
    fn the_current_key_is_on_disk(&self, disk: &Disk, found: &mut Found) {
        let Some(current) = self.current.as_deref() else { return };
        if self.shared || self.overtaken || disk.identity().is_none() {
            return;
        }
        found.unless(holds(disk, current), "the control plane's current key is on disk");
    }

    /// Void while a staged key says that a commit is under way.
    fn the_receipt_on_disk_is_the_control_planes(&self, disk: &Disk, found: &mut Found) {
        let (None, Some(private), Some(file)) = (disk.staged, disk.private_key, record(disk))
        else {
            return;
        };
        if let Some(given) = self.receipts.get(&private.to_string()) {
            found.unless(
                file.last_rotation.as_ref() == Some(given),
                "the receipt on disk is the control plane's",
            );
        }
    }

    pub(super) fn rested(&mut self, rest: &Rest<'_>, found: &mut Found) {
        for node in rest.nodes {
            let disk = &node.disk;
            found.unless(disk.identity().is_some(), "every node is registered in the end");
            found.unless(disk.staged.is_none(), "no key is staged in the end");
            found.unless(disk.refused.is_none(), "every refused identity is settled in the end");
            let current = self.current.as_deref();
            // A key that came into force late is offered again with the next rotation.
            let same = current.is_none_or(|key| is(disk.private_key, key) || is(disk.shelved, key));
            found.unless(
                same || self.shared || self.overtaken,
                "both ends hold the same key in the end",
            );
        }
    }
}

fn is(on_disk: Option<PublicKey>, key: &str) -> bool {
    on_disk.is_some_and(|on_disk| on_disk.to_string() == key)
}

/// Whether a key is in any of the places where it cannot be lost.
fn holds(disk: &Disk, key: &str) -> bool {
    is(disk.private_key, key) || is(disk.staged, key) || is(disk.shelved, key)
}

fn record(disk: &Disk) -> Option<IdentityFile> {
    disk.identity.as_ref().and_then(|bytes| IdentityFile::decode(bytes).ok())
}
