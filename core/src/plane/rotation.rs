//! Key rotation: an armed plane accepts one new key and keeps its receipt, which it replays for that key for good.
//!
//! | State | Trigger | Next | Also |
//! |---|---|---|---|
//! | any | a key whose receipt is stored | unchanged | the receipt is replayed |
//! | any | the current key, without a receipt | unchanged | refused as unchanged |
//! | disarmed | any other key | disarmed | refused, nothing is pending |
//! | armed | any other key | disarmed | a fresh receipt is stored, the key is current |
//! | any | armed from outside | armed | |
//! | any | a registration | unchanged | its key is current |
//!
//! Specification: "Key rotation" and "POST /v1/keys/rotate"; `decisions.md` section 5 (Rotation receipts).

use alloc::{collections::BTreeMap, format, string::ToString};

use thiserror::Error;

use super::site;
use crate::{
    step::Step,
    time::Now,
    wire::{
        grammar::PublicKey,
        http::{Body, UNREADABLE},
        json::{self, Fault},
        rotation::{KeyRotateDraft, Receipt},
    },
};

/// The most receipts that are kept.
pub const RECEIPTS_MAX: usize = 1 << 16;

/// A fact for the rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A heartbeat answer, an event or a configuration asked for a rotation.
    Armed,
    /// A node registered with this key.
    Registered { key: PublicKey },
    /// The node offered this key.
    Submitted { key: PublicKey },
}

/// An order of the rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Answer with the receipt of a rotation that is now complete.
    Complete(Receipt),
    /// Answer with a receipt given before.
    Replay(Receipt),
    Refuse(Refusal),
}

/// Why a key is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 4096 bytes")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not a key rotation request: {0}")]
    Malformed(Fault),
    #[error("new_public_key must be 44 characters of base64 for an X25519 key that is not zero")]
    KeyInvalid,
    #[error("new_public_key is the current key; submit a fresh one")]
    KeyUnchanged,
    #[error("no rotation is pending for this node")]
    NoPendingRotation,
    #[error("the store of receipts is full; POST /test/reset empties it")]
    Full,
}

/// The current key, the receipts given so far, and whether a rotation is pending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rotation {
    armed: bool,
    current: Option<PublicKey>,
    /// By key; one for each completed rotation.
    receipts: BTreeMap<PublicKey, Receipt>,
}

/// Reads the key out of a request body.
pub fn read(body: &Body) -> Result<PublicKey, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    let draft: KeyRotateDraft = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    PublicKey::parse(&draft.new_public_key).map_err(|_| Refusal::KeyInvalid)
}

impl Rotation {
    /// Moves on one input.
    pub fn step(self, _now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Armed => Step::to(Self { armed: true, ..self }),
            Input::Registered { key } => Step::to(Self { current: Some(key), ..self }),
            Input::Submitted { key } => self.submitted(key),
        }
    }

    fn submitted(self, key: PublicKey) -> Step<Self, Effect> {
        if let Some(receipt) = self.receipts.get(&key) {
            let replayed = receipt.clone();
            return Step::to(self).emit(Effect::Replay(replayed));
        }
        let refusal = if self.current == Some(key) {
            Refusal::KeyUnchanged
        } else if !self.armed {
            Refusal::NoPendingRotation
        } else if self.receipts.len() >= RECEIPTS_MAX {
            Refusal::Full
        } else {
            return self.complete(key);
        };
        Step::to(self).emit(Effect::Refuse(refusal))
    }

    fn complete(mut self, key: PublicKey) -> Step<Self, Effect> {
        let count = self.receipts.len() + 1;
        let receipt = Receipt {
            rotation_id: format!("e2e-rotation-{count:04}"),
            kid: site::ROTATION_KID.to_string(),
            wrap_key_version: count as u64,
        };
        self.receipts.insert(key, receipt.clone());
        Step::to(Self { armed: false, current: Some(key), ..self }).emit(Effect::Complete(receipt))
    }
}
