//! The keys that the control plane signs events with, and which event it has signed by which.
//!
//! The control plane of the fixture knows one key id. Where another key is in force, the envelope is named and signed
//! anew on its way out, here.

use std::collections::BTreeMap;

use ed25519_dalek::{Signer as _, SigningKey};
use meshward_core::{
    plane::site,
    time::Wall,
    wire::{
        event::Envelope, grammar::base64_text, http::Response, json, sse::Frame,
        timestamp::Timestamp,
    },
};

/// A key, by its place among all that the control plane ever had.
pub type KeyNo = usize;

/// What is known of an envelope that was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    pub key: KeyNo,
    pub issued_at: Timestamp,
    pub kind: String,
    pub rotation: Option<Rotation>,
}

/// That the keys were rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    pub to: KeyNo,
    pub from: KeyNo,
    /// Until when the one before counts.
    pub until: Timestamp,
}

#[derive(Clone, Debug)]
pub struct Keyring {
    keys: Vec<SigningKey>,
    /// The one that this start of the control plane began with, which bears its own id.
    first: KeyNo,
    current: KeyNo,
    /// The one that the next envelope is signed with.
    signer: KeyNo,
    rotation: Option<Rotation>,
    /// The data of every event that was ever signed.
    signed: BTreeMap<Vec<u8>, Signed>,
    /// The frames of this start, by their sequence numbers.
    frames: BTreeMap<u64, Frame>,
}

impl Default for Keyring {
    fn default() -> Self {
        Self {
            keys: vec![key(0)],
            first: 0,
            current: 0,
            signer: 0,
            rotation: None,
            signed: BTreeMap::new(),
            frames: BTreeMap::new(),
        }
    }
}

fn key(no: KeyNo) -> SigningKey {
    SigningKey::from_bytes(&[no as u8 + 1; 32])
}

impl Keyring {
    /// The public half of the key in force.
    pub fn public_text(&self) -> String {
        self.public_of(self.current)
    }

    pub fn public_of(&self, no: KeyNo) -> String {
        base64_text(self.keys[no].verifying_key().as_bytes())
    }

    /// Which key has this public half.
    pub fn number(&self, public: &str) -> Option<KeyNo> {
        (0..self.keys.len()).find(|no| self.public_of(*no) == public)
    }

    pub fn id(&self, no: KeyNo) -> String {
        if no == self.first {
            return site::SIGNING_KEY_ID.to_owned();
        }
        format!("did:web:meshward.example#key-{no}")
    }

    /// The control plane starts anew, with a key of its own.
    pub(crate) fn renew(&mut self) {
        self.keys.push(key(self.keys.len()));
        self.first = self.keys.len() - 1;
        (self.current, self.signer, self.rotation) = (self.first, self.first, None);
        self.frames.clear();
    }

    /// Makes the key that is to be in force next; the payload of the event that says so.
    pub(crate) fn prepare(&mut self, until: Timestamp) -> String {
        let (from, to) = (self.current, self.keys.len());
        self.keys.push(key(to));
        self.rotation = Some(Rotation { to, from, until });
        let (key_id, public_key, previous) = (self.id(to), self.public_of(to), self.id(from));
        format!(
            "{{\"key_id\":\"{key_id}\",\"public_key\":\"{public_key}\",\"previous_key_id\":\"{previous}\",\
             \"transition_expires\":\"{until}\"}}"
        )
    }

    /// The key that was made is in force.
    pub(crate) fn enforce(&mut self) {
        self.current = self.keys.len() - 1;
        self.signer = self.current;
    }

    /// The key that was in force before, where that was of this start.
    pub(crate) fn former(&self) -> Option<KeyNo> {
        (self.current > self.first).then(|| self.current - 1)
    }

    /// What the control plane asks to be signed, under its own id.
    pub(crate) fn sign(&self, bytes: &[u8]) -> String {
        base64_text(&self.keys[self.signer].sign(bytes).to_bytes())
    }

    /// The frame as it goes out, under the key in force.
    pub(crate) fn stamp(&mut self, frame: &Frame) -> Frame {
        let (sequence, mut envelope) = read(frame);
        envelope.event.key_id = self.id(self.signer);
        let rotation = self.rotation.take_if(|_| envelope.event.kind == "signing_key_rotated");
        let data = self.seal(envelope, self.signer, rotation);
        let kind = self.signed[&data].kind.clone();
        let stamped = Frame::event(sequence, &kind, &data);
        self.frames.insert(sequence, stamped.clone());
        stamped
    }

    /// Signs an envelope with a key, and remembers that.
    pub(crate) fn seal(
        &mut self,
        mut envelope: Envelope,
        key: KeyNo,
        rotation: Option<Rotation>,
    ) -> Vec<u8> {
        let signature = self.keys[key].sign(&envelope.event.signed_bytes());
        envelope.signature = base64_text(&signature.to_bytes());
        let (issued_at, kind) = (envelope.event.issued_at, envelope.event.kind.clone());
        let data = envelope.text();
        self.signed.insert(data.clone(), Signed { key, issued_at, kind, rotation });
        data
    }

    /// The frame as it went out when it was new.
    pub(crate) fn again(&self, frame: &Frame) -> Frame {
        self.frames[&read(frame).0].clone()
    }

    /// The frames of this start, the newest first.
    pub(crate) fn newest(&self) -> impl Iterator<Item = &Frame> {
        self.frames.values().rev()
    }

    /// What is known of this data, where the control plane has signed it to the byte.
    pub fn signed(&self, data: &[u8]) -> Option<&Signed> {
        self.signed.get(data)
    }

    /// Names the key in force in the answer to a registration.
    pub(crate) fn name(&self, response: &mut Response) {
        let own = format!("\"{}\"", site::SIGNING_KEY_ID);
        let text = String::from_utf8_lossy(&response.body);
        response.body = text.replace(&own, &format!("\"{}\"", self.id(self.current))).into_bytes();
    }
}

/// The sequence number of a frame, and its envelope.
pub(crate) fn read(frame: &Frame) -> (u64, Envelope) {
    let text = std::str::from_utf8(&frame.0).expect("a frame is text");
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.expect("a frame has all fields")
    };
    let sequence = field("id: ").parse().expect("the control plane counts");
    let envelope = json::decode_tolerant(field("data: ").as_bytes());
    (sequence, envelope.expect("the control plane sends envelopes"))
}

/// Whether a wall clock is within the freshness of an event.
pub fn is_fresh(issued_at: Timestamp, now: Wall) -> bool {
    issued_at.skew(now).as_secs() <= 300
}
