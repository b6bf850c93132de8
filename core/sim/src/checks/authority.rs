//! Events: that none counts which the control plane has not signed to the byte, with a key that counts there and then.
//!
//! What is signed is known by its text, and which keys a node holds by the rotations that reached it. Neither end's
//! reading is asked.

use std::collections::BTreeMap;

use meshward_core::{
    agent::{Change, Content, Effect},
    ids::CallId,
    time::Now,
    wire::{kept, signing_keys::KeySet, timestamp::Timestamp},
};

use super::witness::Found;
use crate::{
    node::Node,
    route::Said,
    signing::{KeyNo, Keyring, Signed, is_fresh},
};

/// The longest part of a stream that may still become an event.
const TAIL_MAX: usize = 1 << 20;

#[derive(Clone, Debug, Default)]
pub(super) struct Authority {
    nodes: Vec<Held>,
}

/// The keys that count at a node.
#[derive(Clone, Debug, Default)]
struct Held {
    /// The stream that it reads, and what of it is no whole block yet.
    tail: Option<(CallId, Vec<u8>)>,
    /// The key of its registration counts, as far as is known.
    original: bool,
    /// The others, each with when it ends.
    keys: BTreeMap<KeyNo, Option<Timestamp>>,
    /// The number of the last block, and whether one was missed since the last pull.
    last: Option<u64>,
    gap: bool,
    /// A stream has opened, whose pull may be put off.
    opened: bool,
}

impl Authority {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: vec![Held::default(); nodes] }
    }

    /// What the next life holds is on the disk; where that does not name the newest key, it may hold the first again.
    pub(super) fn died(&mut self, at: usize, node: &Node, ring: &Keyring) {
        let held = &mut self.nodes[at];
        held.tail = None;
        let newest = held.keys.iter().find(|(_, until)| until.is_none()).map(|(key, _)| *key);
        let kept = node.disk.state.iter().find(|(file, _)| file.name == kept::SIGNING_KEYS);
        let text = kept.map(|(_, bytes)| String::from_utf8_lossy(bytes)).unwrap_or_default();
        held.original |= newest.is_some_and(|key| !text.contains(&ring.public_of(key)));
    }

    /// The identity makes room, and may come back.
    pub(super) fn retires(&mut self, at: usize) {
        self.nodes[at].original = true;
    }

    pub(super) fn heard(&mut self, at: usize, said: &Said, status: u16) {
        if matches!(said, Said::Register { .. }) && status == 201 {
            self.nodes[at].keys.clear();
        }
    }

    pub(super) fn opened(&mut self, at: usize) {
        self.nodes[at].opened = true;
    }

    /// How many events that count end in these bytes.
    pub(super) fn hears(
        &mut self,
        (at, stream): (usize, CallId),
        (node, bytes): (&Node, &[u8]),
        now: Now,
        ring: &Keyring,
    ) -> usize {
        let held = &mut self.nodes[at];
        let tail = held.tail.take().filter(|(of, _)| *of == stream);
        let mut tail = tail.map(|(_, tail)| tail).unwrap_or_default();
        tail.extend_from_slice(bytes);
        let mut genuine = 0;
        while let Some(end) = tail.windows(2).position(|two| two == b"\n\n") {
            let block: Vec<u8> = tail.drain(..end + 2).collect();
            let registered = node.disk.signing_public_key.as_deref();
            let registered = registered.and_then(|text| ring.number(text));
            let signed = data(&block).and_then(|data| ring.signed(data));
            held.counts(number(&block));
            genuine +=
                usize::from(signed.is_some_and(|signed| held.takes(signed, registered, now)));
        }
        held.tail = (tail.len() <= TAIL_MAX).then_some((stream, tail));
        genuine
    }

    /// What a step did on bytes of a stream; whether that was anything.
    ///
    /// A missed number leads to a pull whoever tells of it: it only asks for what is there.
    pub(super) fn reacts(
        &mut self,
        (at, genuine): (usize, usize),
        effects: &[Effect],
        ring: &Keyring,
        found: &mut Found,
    ) -> u64 {
        let held = &mut self.nodes[at];
        let acts = effects.iter().any(|effect| match effect {
            Effect::Send { request, .. } => Said::read(request) != Said::Pull || genuine > 0,
            Effect::Keep { file, change: Change::Write(Content(bytes)) } => {
                file.name != kept::SIGNING_KEYS || held.turns_to(bytes, ring)
            }
            Effect::Keep { .. } | Effect::Store(_) => true,
            Effect::Act(_)
            | Effect::Exit(_)
            | Effect::Gather
            | Effect::Reply { .. }
            | Effect::Stream(_)
            | Effect::Tell(_) => false,
        });
        let pulls = effects.iter().any(|effect| matches!(effect, Effect::Send { .. }));
        let owed = !pulls || std::mem::take(&mut held.gap) || std::mem::take(&mut held.opened);
        found.unless(
            genuine > 0 || (owed && !acts),
            "nothing on a stream leads to anything but an event that the control plane signed with a key in force",
        );
        u64::from(genuine > 0 && acts)
    }
}

impl Held {
    /// Whether a file of the keys has another current key than is known to be.
    fn turns_to(&self, file: &[u8], ring: &Keyring) -> bool {
        let newest = self.keys.iter().find(|(_, until)| until.is_none());
        let current = KeySet::decode(file).map(|keys| keys.current.public_key.to_string());
        let current = current.ok().and_then(|text| ring.number(&text));
        newest.is_some_and(|(key, _)| Some(*key) != current)
    }

    fn counts(&mut self, number: Option<u64>) {
        let Some(number) = number else { return };
        self.gap |= self.last.is_some_and(|last| last.checked_add(1) != Some(number));
        self.last = Some(number);
    }

    /// Whether an event counts; one that rotates the keys does so here too.
    fn takes(&mut self, signed: &Signed, registered: Option<KeyNo>, now: Now) -> bool {
        let original = self.original || self.keys.is_empty();
        let counts = (original && registered == Some(signed.key))
            || self
                .keys
                .get(&signed.key)
                .is_some_and(|until| until.is_none_or(|until| until.is_after(now.wall)));
        if !counts || !is_fresh(signed.issued_at, now.wall) {
            return false;
        }
        if let Some(rotation) = signed.rotation
            && self.keys.get(&rotation.to) != Some(&None)
        {
            self.keys = [(rotation.to, None), (rotation.from, Some(rotation.until))].into();
            self.original = false;
        }
        true
    }
}

/// The number of a block.
fn number(block: &[u8]) -> Option<u64> {
    let id = block.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"id: "))?;
    std::str::from_utf8(id).ok()?.parse().ok()
}

/// The data of a block, where it has one line of it.
fn data(block: &[u8]) -> Option<&[u8]> {
    block.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"data: "))
}
