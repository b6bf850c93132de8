//! The rules of the keys: which one an id selects, and what a rotation makes of them.
//!
//! | A rotation | Then |
//! |---|---|
//! | names the current key | nothing changes: an event may come twice |
//! | cannot be read, or names no key under which anything verifies | refused |
//! | is not newer than the last one that was taken | refused, so that no replay leads back |
//! | gives an id that stood for another key | refused: an id names one key for good |
//! | names a key that is held as the former one, with an end | that one counts until then |
//! | names none that is held, or without an end | the keys before it count no more |
//!
//! Specification: `gaps-agent.md` section 2.5.

use alloc::string::String;

use ed25519_dalek::VerifyingKey;
use thiserror::Error;

use crate::{
    time::Wall,
    wire::{
        event::{Event, SigningKeyRotation},
        grammar::SigningKey,
        json::{self, Fault, Raw},
        signing_keys::{Former, Key, KeySet},
        timestamp::Timestamp,
    },
};

/// How many ids are remembered of keys that count no more.
pub const RETIRED_MAX: usize = 64;

/// The longest id of a key that a rotation brings, in bytes.
pub const KEY_ID_MAX: usize = 512;

/// Why a rotation is not taken; the keys stay what they are.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    #[error("its payload cannot be read: {0}")]
    Payload(Fault),
    #[error("it has no key id")]
    NoKeyId,
    #[error("its key id is longer than {KEY_ID_MAX} bytes or holds control characters")]
    KeyId,
    #[error("its public key is not base64 of 32 bytes")]
    NotAKey,
    #[error("nothing can be verified under its public key")]
    WeakKey,
    #[error("it is not newer than the last one")]
    Old,
    #[error("its key id stood for another key")]
    Known,
}

/// What a rotation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rotated {
    /// The key is the current one already.
    Already,
    Changed,
}

impl KeySet {
    /// The key that counts now under this id. The first key of an old registration has no id yet, and is tried for any.
    pub(super) fn select(&self, now: Wall, key_id: &str) -> Option<&SigningKey> {
        if key_id.is_empty() {
            return None;
        }
        if key_id == self.current.key_id || self.current.key_id.is_empty() {
            return Some(&self.current.public_key);
        }
        let former = self.previous.as_ref().filter(|former| former.key_id == key_id)?;
        former.transition_expires.is_after(now).then_some(&former.public_key)
    }

    /// Takes the id under which the first event of an old registration was verified; tells whether it did.
    pub(super) fn fix_id(&mut self, key_id: &str) -> bool {
        let is_taken = self.current.key_id.is_empty() && is_sound(key_id);
        if is_taken {
            self.current.key_id = key_id.into();
        }
        is_taken
    }

    /// Lets go of a former key whose time is over, and tells its id.
    pub(super) fn expire(&mut self, now: Wall) -> Option<String> {
        let over = self.previous.take_if(|former| !former.transition_expires.is_after(now))?;
        self.retire(over.key_id.clone());
        Some(over.key_id)
    }

    /// Takes the rotation that a verified event brings, once former keys whose time is over are gone.
    pub(super) fn rotate(&mut self, now: Wall, event: &Event) -> Result<Rotated, Flaw> {
        let text = event.payload.as_ref().map_or("null", Raw::text);
        let payload: SigningKeyRotation =
            json::decode_tolerant(text.as_bytes()).map_err(Flaw::Payload)?;
        let key = new_key(&payload)?;
        if key == self.current {
            return Ok(Rotated::Already);
        }
        if self.rotated_at.is_some_and(|last| event.issued_at <= last) {
            return Err(Flaw::Old);
        }
        if self.has_met(&key.key_id) {
            return Err(Flaw::Known);
        }
        self.replace(now, key, &payload);
        // One from the future must not keep those out that come after it.
        self.rotated_at = Some(event.issued_at.min(Timestamp::from(now)));
        Ok(Rotated::Changed)
    }

    fn has_met(&self, key_id: &str) -> bool {
        let is_former = self.previous.as_ref().is_some_and(|former| former.key_id == key_id);
        self.current.key_id == key_id || is_former || self.retired.iter().any(|id| id == key_id)
    }

    fn replace(&mut self, now: Wall, key: Key, payload: &SigningKeyRotation) {
        let before = core::mem::replace(&mut self.current, key);
        let end =
            payload.transition_expires.filter(|end| end.is_after(now)).unwrap_or(Timestamp::ZERO);
        let before = Former {
            key_id: before.key_id,
            public_key: before.public_key,
            transition_expires: Timestamp::ZERO,
        };
        for former in self.previous.take().into_iter().chain([before]) {
            if !end.is_zero() && former.key_id == payload.previous_key_id.as_str() {
                self.previous = Some(Former { transition_expires: end, ..former });
            } else {
                self.retire(former.key_id);
            }
        }
    }

    fn retire(&mut self, key_id: String) {
        if self.retired.len() >= RETIRED_MAX {
            self.retired.drain(..=self.retired.len() - RETIRED_MAX);
        }
        self.retired.push(key_id);
    }
}

fn is_sound(key_id: &str) -> bool {
    key_id.len() <= KEY_ID_MAX && !key_id.contains(char::is_control)
}

fn new_key(payload: &SigningKeyRotation) -> Result<Key, Flaw> {
    let key_id = payload.key_id.as_str();
    if key_id.is_empty() {
        return Err(Flaw::NoKeyId);
    }
    if !is_sound(key_id) {
        return Err(Flaw::KeyId);
    }
    let public_key = SigningKey::parse(&payload.public_key).map_err(|_| Flaw::NotAKey)?;
    match VerifyingKey::from_bytes(public_key.bytes()) {
        Ok(key) if !key.is_weak() => Ok(Key { key_id: key_id.into(), public_key }),
        Ok(_) | Err(_) => Err(Flaw::WeakKey),
    }
}
