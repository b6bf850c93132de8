//! A pull as the agent reads it: the snapshot, its policy as it came, and what could not be read.
//!
//! A block that cannot be read costs itself alone, and in a list an entry that is none does: what is known of either is
//! kept, and the others are taken. Only what is no object of JSON at all is no pull.
//!
//! Specification: "State snapshot"; a tolerant reader, as "Other agent rules" asks; `gaps-agent.md` section 2.4.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::Deserialize;

use super::{
    grammar::Name,
    json::{self, Fault, Kind, Raw},
    snapshot::{Bridge, Entries, Entry, Policy, Snapshot},
};

/// A snapshot with its policy as it came, whatever members that has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulled {
    pub snapshot: Snapshot,
    pub policy: Option<Raw>,
    /// What could not be read, block by block, within one in the order of the answer.
    pub spoilt: Vec<Spoilt>,
}

/// A block that is none, or an item of one that is no entry of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoilt {
    pub block: Block,
    /// Absent for the block itself.
    pub index: Option<usize>,
    /// Its own id, if that can be read.
    pub id: Option<String>,
    pub fault: Fault,
}

/// A part of the snapshot that is read for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Block {
    Peers,
    Reachability,
    Policy,
    Bridge,
    State,
    Metadata,
    Data,
    Reports,
    Executions,
    Sessions,
}

impl Block {
    /// The member of the snapshot.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Peers => "peers",
            Self::Reachability => "reachability",
            Self::Policy => "policy",
            Self::Bridge => "bridge",
            Self::State => "state",
            Self::Metadata => "state.metadata",
            Self::Data => "state.data",
            Self::Reports => "reports",
            Self::Executions => "executions",
            Self::Sessions => "sessions",
        }
    }
}

/// What of a block could not be read, so that what is known of it stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// The block itself, or an entry without a readable id: nothing that is known is gone for certain.
    pub any: bool,
    pub ids: BTreeSet<String>,
}

impl Unread {
    /// Whether an entry that the pull does not hold may be among what could not be read.
    pub fn may_hold(&self, id: &str) -> bool {
        self.any || self.ids.contains(id)
    }
}

impl Pulled {
    /// What could not be read of one of these blocks.
    pub fn unread(&self, blocks: &[Block]) -> Unread {
        let mut unread = Unread::default();
        for spoilt in self.spoilt.iter().filter(|spoilt| blocks.contains(&spoilt.block)) {
            match &spoilt.id {
                Some(id) => drop(unread.ids.insert(id.clone())),
                None => unread.any = true,
            }
        }
        unread
    }

    /// Whether this block as a whole is none.
    pub fn lacks(&self, block: Block) -> bool {
        self.spoilt.iter().any(|spoilt| spoilt.block == block && spoilt.index.is_none())
    }
}

/// A snapshot that is not looked into yet.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Blocks {
    peers: Option<Raw>,
    reachability: Option<Raw>,
    policy: Option<Raw>,
    bridge: Option<Raw>,
    state: Option<Raw>,
    reports: Option<Raw>,
    executions: Option<Raw>,
    sessions: Option<Raw>,
}

/// A block of state whose lists are not looked into yet.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Lists {
    metadata: Option<Raw>,
    data: Option<Raw>,
    reports: Option<Raw>,
}

#[derive(Deserialize)]
struct Ids {
    execution_id: Option<Name>,
    key: Option<Name>,
    node_id: Option<Name>,
    session_id: Option<Name>,
}

/// How many objects an answer may hold: each takes many times the memory of its two bytes.
pub const OBJECTS_MAX: usize = 1 << 17;

/// How many values in all, as their commas tell.
pub const VALUES_MAX: usize = 1 << 19;

/// How many entries that cannot be read are told apart.
pub const SPOILT_MAX: usize = 1024;

/// Whether a text holds more than is read; it need not be JSON.
fn is_crowded(body: &[u8]) -> bool {
    let (mut quoted, mut escaped) = (false, false);
    let (mut objects, mut values) = (0, 0);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => objects += 1,
            b',' if !quoted => values += 1,
            _ => {}
        }
    }
    objects > OBJECTS_MAX || values > VALUES_MAX
}

/// Reads the answer to a pull; members that nobody knows are passed over.
pub fn read(body: &[u8]) -> Result<Pulled, Fault> {
    if is_crowded(body) {
        return Err(Fault::new(Kind::TooMany));
    }
    if let Ok(snapshot) = json::decode_tolerant(body) {
        let policy = super::snapshot::policy_text(body);
        return Ok(Pulled { snapshot, policy, spoilt: Vec::new() });
    }
    let blocks: Blocks = json::decode_tolerant(body)?;
    let mut reader = Reader { spoilt: Vec::new() };
    let peers = reader.list(Block::Peers, blocks.peers).unwrap_or_default();
    let reachability = blocks.reachability;
    let rules: Option<Policy> = reader.block(Block::Policy, blocks.policy.as_ref());
    let policy = blocks.policy.filter(|_| rules.is_some());
    let bridge: Option<Bridge> = reader.block(Block::Bridge, blocks.bridge.as_ref());
    let state = reader.state(blocks.state.as_ref());
    let reports: Option<Entries> = reader.block(Block::Reports, blocks.reports.as_ref());
    let executions = reader.list(Block::Executions, blocks.executions).unwrap_or_default();
    let sessions = reader.list(Block::Sessions, blocks.sessions);
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
    Ok(Pulled { snapshot, policy, spoilt: reader.spoilt })
}

struct Reader {
    spoilt: Vec<Spoilt>,
}

impl Reader {
    fn block<T: for<'t> Deserialize<'t>>(&mut self, block: Block, text: Option<&Raw>) -> Option<T> {
        match json::decode_tolerant(text?.text().as_bytes()) {
            Ok(read) => Some(read),
            Err(fault) => {
                self.spoilt.push(Spoilt { block, index: None, id: None, fault });
                None
            }
        }
    }

    fn list<T: for<'t> Deserialize<'t>>(
        &mut self,
        block: Block,
        text: Option<Raw>,
    ) -> Option<Vec<T>> {
        let items: Vec<Raw> = self.block(block, text.as_ref())?;
        let mut read = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match json::decode_tolerant(item.text().as_bytes()) {
                Ok(entry) => read.push(entry),
                // One without an id stands for all that are behind it.
                Err(fault) if self.spoilt.len() >= SPOILT_MAX => {
                    self.spoilt.push(Spoilt { block, index: Some(index), id: None, fault });
                    break;
                }
                Err(fault) => {
                    let (index, id) = (Some(index), id(item, block));
                    self.spoilt.push(Spoilt { block, index, id, fault });
                }
            }
        }
        Some(read)
    }

    /// The reports within stand for the block of that name, which mirrors them.
    fn state(&mut self, text: Option<&Raw>) -> Option<Entries> {
        if let Ok(whole) = json::decode_tolerant(text?.text().as_bytes()) {
            return Some(whole);
        }
        let lists: Lists = self.block(Block::State, text)?;
        let metadata: Vec<Entry> = self.list(Block::Metadata, lists.metadata).unwrap_or_default();
        let data = self.list(Block::Data, lists.data).unwrap_or_default();
        let reports = self.list(Block::Reports, lists.reports).unwrap_or_default();
        Some(Entries { metadata, data, reports })
    }
}

fn id(item: &Raw, block: Block) -> Option<String> {
    let ids: Ids = json::decode_tolerant(item.text().as_bytes()).ok()?;
    let id = match block {
        Block::Peers => ids.node_id,
        Block::Metadata | Block::Data | Block::Reports => ids.key,
        Block::Executions => ids.execution_id,
        Block::Sessions => ids.session_id,
        Block::Reachability | Block::Policy | Block::Bridge | Block::State => None,
    };
    id.map(|name| name.as_str().to_string())
}
