//! Whether an event counts: its envelope read, and the checks in the order of the contract.
//!
//! | # | Check | Text |
//! |---|---|---|
//! | | the data is an envelope with an id and a type | `malformed envelope: …`, `missing id`, `missing type` |
//! | 1 | there is a signature | `missing signature` |
//! | 2 | there is a time, spelled as it is signed | `missing issued_at`, `issued_at is not in its canonical form` |
//! | 3 | it is at most five minutes ago | `event is stale` |
//! | 4 | it is at most five minutes ahead | `event timestamp is in the future` |
//! | 5 | the key id names a key that counts now | `unknown signing key id` |
//! | 6 | the signature is that of the canonical bytes | `signature verification failed` |
//!
//! Specification: "Event envelope"; `gaps-agent.md` section 2.5; `decisions.md` section 8 (Stream).

use alloc::{format, string::String};
use core::time::Duration;

use ed25519_dalek::{Signature, VerifyingKey};
use thiserror::Error;

use super::Flaw;
use crate::{
    time::Wall,
    wire::{
        event::{Envelope, Event, Received},
        grammar::{SigningKey, base64_bytes},
        json::{self, Fault},
        signing_keys::KeySet,
        timestamp::Timestamp,
    },
};

/// "`issued_at` must be at most 5 minutes old", and at most as far ahead.
pub const SKEW_MAX: Duration = Duration::from_secs(300);

/// How much of each of its names is told.
const SHOWN_MAX: usize = 64;

/// Why an event does not count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("malformed envelope: {0}")]
    Malformed(Fault),
    #[error("missing id")]
    MissingId,
    #[error("missing type")]
    MissingType,
    #[error("missing signature")]
    MissingSignature,
    #[error("missing issued_at")]
    MissingIssuedAt,
    #[error("issued_at is not in its canonical form")]
    NotCanonical,
    #[error("event is stale")]
    Stale,
    #[error("event timestamp is in the future")]
    Future,
    #[error("unknown signing key id")]
    UnknownKey,
    #[error("signature verification failed")]
    Signature,
    /// The event itself counts.
    #[error("rotation of the signing key: {0}")]
    Rotation(Flaw),
}

/// Reads the data of an event and verifies it under these keys.
pub(super) fn judge(keys: Option<&KeySet>, now: Wall, data: &[u8]) -> Result<Event, Refused> {
    let Received { envelope: Envelope { event, signature }, is_canonical } =
        json::decode_tolerant(data).map_err(Refused::Malformed)?;
    let refused = if event.id.is_empty() {
        Some(Refused::MissingId)
    } else if event.kind.is_empty() {
        Some(Refused::MissingType)
    } else if signature.is_empty() {
        Some(Refused::MissingSignature)
    } else if event.issued_at.is_zero() {
        Some(Refused::MissingIssuedAt)
    } else if !is_canonical {
        Some(Refused::NotCanonical)
    } else {
        untimely(event.issued_at, now)
    };
    if let Some(refused) = refused {
        return Err(refused);
    }
    let key = keys.and_then(|keys| keys.select(now, &event.key_id)).ok_or(Refused::UnknownKey)?;
    if verifies(key, &event, &signature) { Ok(event) } else { Err(Refused::Signature) }
}

/// What data that is refused says that it is.
pub fn claimed(data: &[u8]) -> String {
    match json::decode_tolerant(data) {
        Ok(Received { envelope, .. }) => names(&envelope.event),
        Err(_) => "an event that cannot be read".into(),
    }
}

/// An event in words, by which it is found elsewhere.
pub fn names(event: &Event) -> String {
    let Event { id, kind, key_id, issued_at, .. } = event;
    let shown = |text: &str| text.chars().take(SHOWN_MAX).collect::<String>();
    let (id, kind, key_id) = (shown(id), shown(kind), shown(key_id));
    format!("event {id:?} of type {kind:?}, signed by {key_id:?} at {issued_at}")
}

fn untimely(issued_at: Timestamp, now: Wall) -> Option<Refused> {
    let apart = issued_at.skew(now);
    let untimely = if issued_at.is_after(now) { Refused::Future } else { Refused::Stale };
    (apart > SKEW_MAX).then_some(untimely)
}

/// Strictly: of one key and one text there is one signature, and none under a key of small order.
fn verifies(key: &SigningKey, event: &Event, signature: &str) -> bool {
    let signature = base64_bytes(signature).and_then(|bytes| Signature::from_slice(&bytes).ok());
    let key = VerifyingKey::from_bytes(key.bytes()).ok();
    key.zip(signature).is_some_and(|(key, signature)| {
        key.verify_strict(&event.signed_bytes(), &signature).is_ok()
    })
}
