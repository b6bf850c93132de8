//! The data of an event, judged: nothing counts but what the key in force has signed, in the spelling that it covers.

use core::time::Duration;

use ed25519_dalek::{Signer as _, SigningKey};
use meshward_core::{
    agent::signing::{Input, Refused, SKEW_MAX, Signing},
    time::{Mono, Now, Wall},
    wire::{
        event::{Received, sealed},
        grammar::{NodeSecretKey, Uuid, base64_text},
        identity::{Identity, IdentityFile, TokenDigest},
        json::decode_tolerant,
        timestamp::Timestamp,
    },
};

/// The id of the key in force.
const KEY_ID: &str = "k1";

/// When all is judged: 2027-01-15T08:00:00Z.
const NOW: Duration = Duration::from_secs(1_800_000_000);

fn pair() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

fn armed() -> Signing {
    let node = "6f1d2c3b-4a59-4768-8796-a5b4c3d2e1f0";
    let identity = Identity {
        node: Uuid::parse_canonical(node).expect("a UUID"),
        key: NodeSecretKey::from_bytes([9; 32]),
        file: IdentityFile {
            node_id: node.into(),
            mesh_ip: "10.0.0.7".into(),
            signing_public_key: base64_text(pair().verifying_key().as_bytes()),
            signing_key_id: KEY_ID.into(),
            domain_mesh_cidr: String::new(),
            last_rotation: None,
            spent_token: TokenDigest::default(),
        },
    };
    Signing::default().step(now(), Input::Armed(Box::new(identity))).state
}

fn now() -> Now {
    Now { mono: Mono::from_origin(NOW), wall: Wall::from_origin(NOW) }
}

/// What is judged as it came counts only if its signature is the one that the key gives to what was read; and signed by
/// that key, the same event counts, or is refused for what stands in it.
pub fn envelope(bytes: &[u8]) {
    let signing = armed();
    let judged = signing.judge(now().wall, bytes);
    let Ok(Received { envelope, .. }) = decode_tolerant::<Received>(bytes) else {
        assert!(matches!(judged, Err(Refused::Malformed(_))), "{judged:?}");
        return;
    };
    let signed = envelope.event.signed_bytes();
    let signature = base64_text(&pair().sign(&signed).to_bytes());
    if let Ok(event) = &judged {
        assert_eq!((event, &envelope.signature), (&envelope.event, &signature));
    }
    // The spelling of the time is canonical now, and the signature is good.
    let resealed = sealed(signed, &signature);
    let again = signing.judge(now().wall, &resealed);
    let event = &envelope.event;
    let issued_at = event.issued_at;
    let expected = if event.id.is_empty() {
        Some(Refused::MissingId)
    } else if event.kind.is_empty() {
        Some(Refused::MissingType)
    } else if issued_at.is_zero() {
        Some(Refused::MissingIssuedAt)
    } else if issued_at.skew(now().wall) > SKEW_MAX {
        let is_ahead = issued_at > Timestamp::from(now().wall);
        Some(if is_ahead { Refused::Future } else { Refused::Stale })
    } else {
        (event.key_id != KEY_ID).then_some(Refused::UnknownKey)
    };
    assert_eq!(again.as_ref().err(), expected.as_ref());
    react(signing, again);
}

/// Whatever was judged, the machine goes on, and what it keeps is read back.
fn react(signing: Signing, judged: Result<meshward_core::wire::event::Event, Refused>) {
    let before = signing.keys().cloned();
    let is_refused = judged.is_err();
    let step = signing.step(now(), Input::Judged(judged));
    let keys = step.state.keys().cloned();
    assert!(!is_refused || before == keys, "an event that was refused changes the keys");
    let keys = keys.expect("there are keys");
    assert_eq!(meshward_core::wire::signing_keys::KeySet::decode(&keys.encode()), Ok(keys));
}
