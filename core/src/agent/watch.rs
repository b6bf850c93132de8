//! The watchers of the node-local API: who listens, and what each is told.
//!
//! | State of a watcher | Input | Then |
//! |---|---|---|
//! | none | opened, room behind its door | listening, greeted |
//! | none | opened, no room there, or closed | refused |
//! | listening | changed | told; of a secret only who may read secrets |
//! | listening | left | none |
//! | listening | closed | none, and nobody listens any more |
//!
//! Nothing is replayed: who comes, or was cut off, reads what it wants to know and then follows.
//!
//! Specification: none; `docs/deviations.md` (`GET /v1/watch`).

use alloc::{collections::BTreeMap, string::String, vec, vec::Vec};

use super::{facts::Door, network::Network, view::View};
use crate::{
    ids::CallId,
    step::Step,
    wire::{
        change::{Change, ChangeKind},
        json,
        sse::Frame,
    },
};

/// How many may listen at once over the socket.
pub const WATCHERS_MAX: usize = 64;

/// How many may listen at once by TCP: fewer than there are connections, so that others can ask.
pub const TCP_WATCHERS_MAX: usize = 32;

/// How many frames wait for one watcher; one that has not taken them when another comes is cut off.
pub const BUFFER_LEN: usize = 64;

/// How many keys of one kind are told one by one after a pull; when there are more, the whole kind is.
pub const KEYS_MAX: usize = 16;

/// The watchers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    sequence: u64,
    watchers: BTreeMap<CallId, Watcher>,
    closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watcher {
    door: Door,
    hears_of_secrets: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Opened {
        watcher: CallId,
        door: Door,
        hears_of_secrets: bool,
    },
    Left(CallId),
    Changed(Change),
    /// The agent stops.
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Open { watcher: CallId, hello: Frame },
    Send { to: Vec<CallId>, frame: Frame },
    Refuse(CallId),
    Close,
}

impl Watch {
    /// Moves on one input.
    pub fn step(mut self, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Opened { watcher, door, hears_of_secrets } => {
                self.opened(watcher, Watcher { door, hears_of_secrets })
            }
            Input::Left(watcher) => {
                self.watchers.remove(&watcher);
                Step::to(self)
            }
            Input::Changed(change) => self.changed(&change),
            Input::Closed => {
                let close = self.is_watched().then_some(Effect::Close);
                let closed = Self { watchers: BTreeMap::new(), closed: true, ..self };
                Step::to(closed).emit_all(close)
            }
        }
    }

    pub fn is_watched(&self) -> bool {
        !self.watchers.is_empty()
    }

    /// How many there are.
    pub fn watchers(&self) -> usize {
        self.watchers.len()
    }

    fn opened(mut self, watcher: CallId, by: Watcher) -> Step<Self, Effect> {
        let beside = self.watchers.values().filter(|other| other.door == by.door).count();
        if self.closed || beside >= watchers_max(by.door) {
            return Step::to(self).emit(Effect::Refuse(watcher));
        }
        self.watchers.insert(watcher, by);
        let hello = Frame::event(self.sequence, "hello", b"{}");
        Step::to(self).emit(Effect::Open { watcher, hello })
    }

    fn changed(mut self, change: &Change) -> Step<Self, Effect> {
        self.sequence += 1;
        let open = change.kind != ChangeKind::Secret;
        let hearers = self.watchers.iter().filter(|(_, by)| open || by.hears_of_secrets);
        let to: Vec<_> = hearers.map(|(watcher, _)| *watcher).collect();
        let frame = Frame::event(self.sequence, "change", &json::encode(change));
        let send = (!to.is_empty()).then_some(Effect::Send { to, frame });
        Step::to(self).emit_all(send)
    }
}

const fn watchers_max(door: Door) -> usize {
    match door {
        Door::Health => 0,
        Door::Socket => WATCHERS_MAX,
        Door::Tcp => TCP_WATCHERS_MAX,
    }
}

/// What a pull changed of what is served.
pub fn changes((view, network): (&View, &Network), (was, mesh): (&View, &Network)) -> Vec<Change> {
    let metadata = differences(ChangeKind::Metadata, &view.metadata, &was.metadata, |_| None);
    let data = differences(ChangeKind::Data, &view.data, &was.data, |entry| Some(entry.version));
    let peers = (network.peers != mesh.peers).then_some(Change::whole(ChangeKind::Peers));
    let policy = (network.policy != mesh.policy).then_some(Change::whole(ChangeKind::Policy));
    metadata.into_iter().chain(data).chain(peers).chain(policy).collect()
}

fn differences<V: PartialEq>(
    kind: ChangeKind,
    is: &BTreeMap<String, V>,
    was: &BTreeMap<String, V>,
    version: impl Fn(&V) -> Option<u64>,
) -> Vec<Change> {
    let new = is.iter().filter(|(key, value)| was.get(*key) != Some(value));
    let new = new.map(|(key, value)| Change::of(kind, key.clone(), version(value)));
    let gone = was.keys().filter(|key| !is.contains_key(*key));
    let gone = gone.map(|key| Change::gone(kind, key.clone()));
    let all: Vec<_> = new.chain(gone).take(KEYS_MAX + 1).collect();
    if all.len() > KEYS_MAX { vec![Change::whole(kind)] } else { all }
}
