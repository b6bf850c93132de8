//! The open event streams as far as rules concern them: which paths they were asked for by, and what they are owed.
//!
//! Specification: `decisions.md` section 7 (`/test/faults`: the next live frames of matched streams).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec,
    vec::Vec,
};
use core::time::Duration;

use super::{
    Begin, Bend, Bent, Faults, Rule, Unsigned,
    act::Act,
    bend::{BOM, bend},
};
use crate::{
    ids::CallId,
    plane::stream::{Audience, Opening},
    time::Now,
    wire::{http::Method, sse::Frame},
};

/// How long a stalled stream is silent: beyond the life of every connection.
pub const SILENCE: Duration = Duration::from_secs(365 * 24 * 3600);

/// Every open stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Streams {
    /// With the path that each was asked for by.
    open: BTreeMap<CallId, String>,
    /// The open streams that are sent nothing more.
    stalled: BTreeSet<CallId>,
    /// Frames that wait for their signature, in order.
    unsigned: Vec<(CallId, Unsigned)>,
}

/// What is to be done for the streams of an audience.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    Send { audience: Audience, frame: Frame },
    Sign { call: CallId, bytes: Vec<u8> },
}

impl Faults {
    /// A stream is to open: the way it does, which a rule may bend.
    pub fn open(&mut self, call: CallId, path: &str, mut opening: Opening) -> Opening {
        let begin = self.strike(Method::Get, path, |act| match act {
            Act::Begin(begin) => Some(*begin),
            Act::Request(_) | Act::Frame(_) => None,
        });
        let begin = begin.map(|(_, begin)| begin);
        match begin {
            Some(Begin::Bom) => opening.replay.insert(0, Frame(BOM.into())),
            Some(Begin::Stall) => {
                opening.replay.clear();
                opening.keep_alive = SILENCE;
                self.streams.stalled.insert(call);
            }
            None => {}
        }
        self.streams.open.insert(call, path.into());
        opening
    }

    /// A live frame is to go out: what goes to whom, in order.
    pub fn send(&mut self, now: Now, audience: Audience, frame: Frame) -> Vec<Sent> {
        if !self.bends_frames() {
            return vec![Sent::Send { audience, frame }];
        }
        let mut apart = Vec::new();
        let mut rest = Vec::new();
        for call in self.meant(&audience) {
            match self.bent(call) {
                None => rest.push(call),
                Some(None) => apart.push((call, Bent::Frames(Vec::new()))),
                Some(Some(how)) => apart.push((call, bend(how, &frame, now))),
            }
        }
        if apart.is_empty() {
            return vec![Sent::Send { audience, frame }];
        }
        let plain = Sent::Send { audience: Audience::Only(rest), frame };
        let bent = apart.into_iter().flat_map(|(call, bent)| self.order(call, bent));
        core::iter::once(plain).chain(bent).collect()
    }

    fn bends_frames(&self) -> bool {
        let bends = |rule: &Rule| rule.left > 0 && matches!(rule.read.act, Act::Frame(_));
        !self.streams.stalled.is_empty() || self.rules.iter().any(bends)
    }

    fn meant(&self, audience: &Audience) -> Vec<CallId> {
        match audience {
            Audience::Everyone => self.streams.open.keys().copied().collect(),
            Audience::Only(calls) => calls.clone(),
        }
    }

    /// How a frame for one stream is bent: not at all, or in some way, or so that nothing of it is sent.
    fn bent(&mut self, call: CallId) -> Option<Option<Bend>> {
        if self.streams.stalled.contains(&call) {
            return Some(None);
        }
        let path = self.streams.open.get(&call)?.clone();
        let struck = self.strike(Method::Get, &path, |act| match act {
            Act::Frame(bend) => Some(*bend),
            Act::Request(_) | Act::Begin(_) => None,
        });
        struck.map(|(_, bend)| Some(bend))
    }

    fn order(&mut self, call: CallId, bent: Bent) -> Vec<Sent> {
        let audience = || Audience::Only(vec![call]);
        match bent {
            Bent::Frames(frames) => {
                frames.into_iter().map(|frame| Sent::Send { audience: audience(), frame }).collect()
            }
            Bent::Unsigned(unsigned) => {
                let bytes = unsigned.bytes.clone();
                self.streams.unsigned.push((call, unsigned));
                vec![Sent::Sign { call, bytes }]
            }
        }
    }

    /// The signature that a frame of this stream waits for; none where the call waits for none.
    pub fn signed(&mut self, call: CallId, signature: &str) -> Option<Sent> {
        let at = self.streams.unsigned.iter().position(|(owed, _)| *owed == call)?;
        let (_, unsigned) = self.streams.unsigned.remove(at);
        let audience = Audience::Only(vec![call]);
        Some(Sent::Send { audience, frame: unsigned.signed(signature) })
    }

    /// The client of this call is gone.
    pub fn left(&mut self, call: CallId) {
        self.streams.open.remove(&call);
        self.streams.stalled.remove(&call);
        self.streams.unsigned.retain(|(owed, _)| *owed != call);
    }

    /// Every stream ends.
    pub fn closed(&mut self) {
        self.streams = Streams::default();
    }
}
