//! A pull as the agent reads it: the snapshot, its policy as it came, and the entries that could not be read.
//!
//! One execution or session that is no entry costs itself and not the pull; any other block that cannot be read makes
//! the whole answer unusable, since what is known is better than half of what is meant.
//!
//! Specification: "State snapshot"; a tolerant reader, as "Other agent rules" asks.

use alloc::{string::String, vec::Vec};

use serde::Deserialize;

use super::{
    grammar::Name,
    json::{self, Fault, Raw},
    snapshot::{Bridge, Entries, Peer, Policy, Snapshot},
};

/// A snapshot with its policy as it came, whatever members that has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulled {
    pub snapshot: Snapshot,
    pub policy: Option<Raw>,
    /// What stood among the executions and sessions and is no entry, in the order of the answer.
    pub spoilt: Vec<Spoilt>,
}

/// An item of a block that is no entry of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoilt {
    pub block: Block,
    pub index: usize,
    /// Its own id, if that can be read.
    pub id: Option<String>,
    pub fault: Fault,
}

/// A block that is read entry by entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Executions,
    Sessions,
}

impl Block {
    /// The member of the snapshot.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Executions => "executions",
            Self::Sessions => "sessions",
        }
    }
}

/// A snapshot whose executions and sessions are not looked into yet.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Blocks {
    peers: Vec<Peer>,
    reachability: Option<Raw>,
    policy: Option<Policy>,
    bridge: Option<Bridge>,
    state: Option<Entries>,
    reports: Option<Entries>,
    executions: Vec<Raw>,
    sessions: Option<Vec<Raw>>,
}

#[derive(Deserialize)]
struct Ids {
    execution_id: Option<Name>,
    session_id: Option<Name>,
}

/// Reads the answer to a pull; members that nobody knows are passed over.
pub fn read(body: &[u8]) -> Result<Pulled, Fault> {
    let policy = super::snapshot::policy_text(body);
    if let Ok(snapshot) = json::decode_tolerant(body) {
        return Ok(Pulled { snapshot, policy, spoilt: Vec::new() });
    }
    let blocks: Blocks = json::decode_tolerant(body)?;
    let mut spoilt = Vec::new();
    let executions = entries(&blocks.executions, Block::Executions, &mut spoilt);
    let sessions = blocks.sessions.as_deref().map(|raw| entries(raw, Block::Sessions, &mut spoilt));
    let Blocks { peers, reachability, policy: rules, bridge, state, reports, .. } = blocks;
    let snapshot = Snapshot {
        peers,
        reachability,
        policy: rules,
        bridge,
        state,
        reports,
        executions,
        sessions,
    };
    Ok(Pulled { snapshot, policy, spoilt })
}

fn entries<T: for<'t> Deserialize<'t>>(
    items: &[Raw],
    block: Block,
    spoilt: &mut Vec<Spoilt>,
) -> Vec<T> {
    let mut read = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match json::decode_tolerant(item.text().as_bytes()) {
            Ok(entry) => read.push(entry),
            Err(fault) => spoilt.push(Spoilt { block, index, id: id(item, block), fault }),
        }
    }
    read
}

fn id(item: &Raw, block: Block) -> Option<String> {
    let ids: Ids = json::decode_tolerant(item.text().as_bytes()).ok()?;
    let id = match block {
        Block::Executions => ids.execution_id,
        Block::Sessions => ids.session_id,
    };
    id.map(|name| name.0)
}
