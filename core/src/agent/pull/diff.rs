//! What a pull changed, in one line: `peers+1-0~2 policy bridge state reports`, or `none`.
//!
//! | Block | Changed when |
//! |---|---|
//! | peers | by node id: one came, went, or has another mesh address, public key or endpoint |
//! | policy | it came or went, or its fingerprint is another one; an empty fingerprint is always another one |
//! | bridge, state, reports | it came or went, or holds anything else |
//!
//! Executions and sessions are acted upon, not compared. Of large blocks a digest is kept, not their text. A block that
//! could not be read is not compared, and is what it was.
//!
//! Specification: `gaps-agent.md` section 2.4.

use alloc::{format, string::String, vec::Vec};
use core::{cmp::Ordering, fmt};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::wire::{
    json::{self, Raw},
    local::PeerRow,
    pulled::{Block, Pulled},
    snapshot,
};

/// What of the last pull the next one is compared with, beside peers and policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    bridge: Option<[u8; 32]>,
    state: Option<[u8; 32]>,
    reports: Option<[u8; 32]>,
    reachability: Option<Raw>,
}

/// How many peers came, went and are not what they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    pub added: usize,
    pub removed: usize,
    pub updated: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    pub peers: Peers,
    pub policy: bool,
    pub bridge: bool,
    pub state: bool,
    pub reports: bool,
}

impl Diff {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Peers { added, removed, updated } = self.peers;
        let peers = self.peers != Peers::default();
        let named = [
            (peers, format!("peers+{added}-{removed}~{updated}")),
            (self.policy, "policy".into()),
            (self.bridge, "bridge".into()),
            (self.state, "state".into()),
            (self.reports, "reports".into()),
        ];
        let changed: Vec<String> =
            named.into_iter().filter(|(changed, _)| *changed).map(|(_, name)| name).collect();
        if changed.is_empty() { f.write_str("none") } else { f.write_str(&changed.join(" ")) }
    }
}

impl Seen {
    /// Takes the blocks of a pull that are compared by what they hold; tells which of them changed.
    pub fn taken(&mut self, pulled: &Pulled) -> Diff {
        let snapshot = &pulled.snapshot;
        let is_state_whole = pulled
            .spoilt
            .iter()
            .all(|spoilt| !matches!(spoilt.block, Block::State | Block::Metadata | Block::Data));
        let mut diff = Diff::default();
        if !pulled.lacks(Block::Bridge) {
            diff.bridge = moved(&mut self.bridge, snapshot.bridge.as_ref());
        }
        if is_state_whole {
            diff.state = moved(&mut self.state, snapshot.state.as_ref());
        }
        if !pulled.lacks(Block::Reports) {
            diff.reports = moved(&mut self.reports, snapshot.reports.as_ref());
        }
        diff
    }

    /// Takes how the control plane sees this node; tells the state where that changed, whatever it is called.
    pub fn reached(&mut self, reachability: Option<&Raw>) -> Option<Reached> {
        let state = |raw: &Option<Raw>| snapshot::reachability_state(raw.as_ref()?);
        let held = reachability.cloned().filter(|raw| raw.text().len() <= REACHABILITY_MAX);
        let (was, is) = (state(&self.reachability), state(&held));
        self.reachability = held;
        (was != is).then_some(Reached { was, is })
    }
}

/// A longer block of reachability is not looked into, in bytes.
const REACHABILITY_MAX: usize = 4 << 10;

/// How the control plane saw this node, and sees it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    pub was: Option<String>,
    pub is: Option<String>,
}

fn moved<T: Serialize>(seen: &mut Option<[u8; 32]>, block: Option<&T>) -> bool {
    let now = block.map(|block| Sha256::digest(json::encode(block)).into());
    let changed = *seen != now;
    *seen = now;
    changed
}

/// Compares peers, both in the order of their ids.
pub fn peers(was: &[PeerRow], are: &[PeerRow]) -> Peers {
    let mut diff = Peers::default();
    let (mut was, mut are) = (was.iter().peekable(), are.iter().peekable());
    loop {
        let order = match (was.peek(), are.peek()) {
            (None, None) => return diff,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.id.cmp(&new.id),
        };
        match order {
            Ordering::Less => diff.removed += usize::from(was.next().is_some()),
            Ordering::Greater => diff.added += usize::from(are.next().is_some()),
            Ordering::Equal => diff.updated += usize::from(was.next() != are.next()),
        }
    }
}

/// How the policy of a pull compares with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Same,
    Changed,
    /// It has no fingerprint to be compared by, and counts as changed.
    Unmarked,
}

/// Compares policies by their presence, then by their fingerprints alone.
pub fn policy(was: Option<&Raw>, is: Option<&Raw>) -> Policy {
    match (was.map(snapshot::fingerprint), is.map(snapshot::fingerprint)) {
        (_, Some(print)) if print.is_empty() => Policy::Unmarked,
        (None, None) => Policy::Same,
        (Some(was), Some(is)) if was == is => Policy::Same,
        (_, _) => Policy::Changed,
    }
}
