//! What befalls the event streams: the operator's events, and bytes that nobody sent.

use std::time::Duration;

use ed25519_dalek::{Signer as _, SigningKey};
use meshward_core::{
    plane::stream::CURSOR_MAX,
    wire::{event::Envelope, grammar::base64_text, sse::Frame, timestamp::Timestamp},
};

use crate::{
    journal::Entry,
    script::{Bus, Forgery},
    signing,
    world::World,
};

/// A type that no agent knows.
const UNKNOWN: &str = "weather_changed";

impl World {
    /// False where it could not happen.
    pub(crate) fn bus(&mut self, bus: Bus) -> bool {
        match bus {
            Bus::Babble { count } => (0..count).for_each(|_| self.inject(UNKNOWN, "null")),
            Bus::Change => {
                self.change();
                self.inject("node_state_updated", "{\"entries\":[]}");
            }
            Bus::Cut { node } => return self.cut(node),
            Bus::Descope => self.post("/test/configure-events", "{\"mode\":\"descoped\"}".into()),
            Bus::Forge { node, forgery } => return self.forge(node, forgery),
            Bus::Hush => self.change(),
            Bus::Restore => self.post("/test/configure-events", "{\"mode\":\"streaming\"}".into()),
            Bus::RotateKeys => self.inject("rotate_keys", "{}"),
            Bus::RotateSigning { transition } => self.rotate_signing(transition),
            Bus::Stall { node, seconds } => {
                let until = self.clock.mono().after(Duration::from_secs(seconds));
                return self.stall(node, until);
            }
        }
        true
    }

    fn inject(&mut self, kind: &str, payload: &str) {
        self.summary.signed += 1;
        self.note(Entry::Signed { kind: kind.to_owned() });
        let id = self.summary.signed;
        let body = format!("{{\"id\":\"evt-{id}\",\"type\":\"{kind}\",\"payload\":{payload}}}");
        self.post("/test/inject-event", body);
    }

    /// The key in force says by which it is followed. Without a transition nothing of it counts from then on.
    fn rotate_signing(&mut self, transition: u64) {
        let until = self.clock.now().wall.after(Duration::from_secs(transition));
        let payload = self.keyring.prepare(Timestamp::from(until));
        self.inject("signing_key_rotated", &payload);
        self.keyring.enforce();
        self.plane_settings.signing_public_key = self.keyring.public_text();
        self.summary.signers += 1;
    }

    fn forge(&mut self, node: usize, forgery: Forgery) -> bool {
        let bytes = match forgery {
            Forgery::Noise => Some(self.rng.bytes::<40>().to_vec()),
            Forgery::Replay { back } => self.frame(back as usize).map(|frame| frame.0.to_vec()),
            Forgery::Rollback => self.rotated().map(|frame| frame.0.to_vec()),
            Forgery::Cursor { huge } => self.frame(0).map(|frame| misnumbered(&frame, huge)),
            Forgery::Signature | Forgery::Content | Forgery::Stranger | Forgery::Former => {
                self.altered(forgery)
            }
        };
        let forged = bytes.is_some_and(|bytes| self.slip_in(node, &bytes));
        self.summary.forged += u64::from(forged);
        forged
    }

    /// A frame that the control plane has sent, so many back.
    fn frame(&self, back: usize) -> Option<Frame> {
        self.keyring.newest().nth(back).cloned()
    }

    fn rotated(&self) -> Option<Frame> {
        let is_rotation =
            |frame: &&Frame| signing::read(frame).1.event.kind == "signing_key_rotated";
        self.keyring.newest().find(is_rotation).cloned()
    }

    /// The newest event with something of it changed, and as fresh as can be.
    fn altered(&mut self, forgery: Forgery) -> Option<Vec<u8>> {
        let (sequence, mut envelope) = signing::read(&self.frame(0)?);
        envelope.event.issued_at = Timestamp::from(self.clock.now().wall);
        envelope.event.kind = "node_state_updated".to_owned();
        let data = match forgery {
            Forgery::Former => {
                let former = self.keyring.former()?;
                envelope.event.key_id = self.keyring.id(former);
                self.keyring.seal(envelope, former, None)
            }
            Forgery::Stranger => {
                let key = SigningKey::from_bytes(&[0xfe; 32]);
                let signature = key.sign(&envelope.event.signed_bytes());
                envelope.signature = base64_text(&signature.to_bytes());
                envelope.text()
            }
            Forgery::Content
            | Forgery::Cursor { .. }
            | Forgery::Noise
            | Forgery::Replay { .. }
            | Forgery::Rollback
            | Forgery::Signature => self.spoilt(envelope, forgery),
        };
        Some(Frame::event(sequence + 1, "node_state_updated", &data).0.to_vec())
    }

    /// Signed, and then changed in its content or in its signature.
    fn spoilt(&mut self, mut envelope: Envelope, forgery: Forgery) -> Vec<u8> {
        let bytes = envelope.event.signed_bytes();
        envelope.signature = self.keyring.sign(&bytes);
        if forgery == Forgery::Content {
            envelope.event.scope.push('x');
            return envelope.text();
        }
        let mut signature: Vec<char> = envelope.signature.chars().collect();
        let at = self.rng.below(80) as usize;
        signature[at] = if signature[at] == 'A' { 'B' } else { 'A' };
        envelope.signature = signature.into_iter().collect();
        envelope.text()
    }
}

fn misnumbered(frame: &Frame, huge: bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(&frame.0);
    let (_, rest) = text.split_once('\n').unwrap_or_default();
    let number = if huge { (CURSOR_MAX + 1).to_string() } else { "seven".to_owned() };
    format!("id: {number}\n{rest}").into_bytes()
}
