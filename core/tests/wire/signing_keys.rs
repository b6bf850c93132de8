//! The file of the signing keys and the event that rotates them: golden texts, and what names a registration.

use meshward_core::wire::{
    event::SigningKeyRotation,
    grammar::{Name, NodeSecretKey, SigningKey, Uuid},
    identity::{Identity, IdentityFile, TokenDigest},
    kept::Damage,
    signing_keys::{Former, Key, KeySet},
};

use crate::golden::{at, both, golden};

const NODE: &str = "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3";
const FIRST: &str = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
const SECOND: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const FIRST_ID: &str = "did:web:meshward.example#key-e2e";
const SECOND_ID: &str = "did:web:meshward.example#key-2";

fn key(text: &str) -> SigningKey {
    SigningKey::parse(text).expect("a key")
}

fn identity() -> Identity {
    Identity {
        node: Uuid::parse_canonical(NODE).expect("a UUID"),
        key: NodeSecretKey::from_bytes([9; 32]),
        file: IdentityFile {
            node_id: NODE.into(),
            mesh_ip: "10.99.0.1".into(),
            signing_public_key: FIRST.into(),
            signing_key_id: FIRST_ID.into(),
            domain_mesh_cidr: String::new(),
            last_rotation: None,
            spent_token: TokenDigest::default(),
        },
    }
}

fn named() -> KeySet {
    KeySet::registered(&identity()).expect("the keys of a registration")
}

#[test]
fn the_file_of_the_keys() {
    both("kept_signing_keys.named", &named());
    let transition = KeySet {
        current: Key { key_id: SECOND_ID.into(), public_key: key(SECOND) },
        previous: Some(Former {
            key_id: FIRST_ID.into(),
            public_key: key(FIRST),
            transition_expires: at("2026-01-15T11:30:00Z"),
        }),
        rotated_at: Some(at("2026-01-15T10:30:00.12Z")),
        retired: vec!["did:web:meshward.example#key-0".into()],
        ..named()
    };
    both("kept_signing_keys.transition", &transition);
    let text = golden("kept_signing_keys.transition") + "\n";
    assert_eq!(String::from_utf8(transition.encode()), Ok(text));
    assert_eq!(KeySet::decode(&transition.encode()), Ok(transition));
}

#[test]
fn the_payload_of_a_rotation() {
    let full = SigningKeyRotation {
        key_id: Name::from(SECOND_ID),
        public_key: SECOND.into(),
        previous_key_id: Name::from(FIRST_ID),
        transition_expires: Some(at("2026-01-15T11:30:00Z")),
    };
    both("signing_key_rotation.full", &full);
}

#[test]
fn what_is_no_file_of_keys_is_damage() {
    assert_eq!(KeySet::decode(b""), Err(Damage::Empty));
    assert_eq!(KeySet::decode(&[0; 9]), Err(Damage::Zeroed));
    let sound = named().encode();
    for length in 1..sound.len() - 2 {
        let cut = KeySet::decode(&sound[..length]);
        assert!(matches!(cut, Err(Damage::Malformed(_))), "cut at {length}");
    }
    let later =
        String::from_utf8(sound).expect("text").replace("{\"node_id\"", "{\"later\":1,\"node_id\"");
    assert_eq!(KeySet::decode(later.as_bytes()), Ok(named()), "of a later version");
}

#[test]
fn each_part_of_a_registration_gives_it_another_name_and_nothing_else_does() {
    let name = |change: fn(&mut Identity)| {
        let mut identity = identity();
        change(&mut identity);
        KeySet::registered(&identity).expect("keys").registration
    };
    let same = named().registration;
    assert_eq!(name(|identity| identity.file.mesh_ip = "10.99.0.2".into()), same);
    assert_eq!(name(|identity| identity.file.domain_mesh_cidr = "10.99.0.0/16".into()), same);
    let names = [
        same,
        name(|identity| identity.file.node_id = "another".into()),
        name(|identity| identity.file.signing_public_key = SECOND.into()),
        name(|identity| identity.file.signing_key_id = SECOND_ID.into()),
        name(|identity| identity.key = NodeSecretKey::from_bytes([8; 32])),
        // The parts do not run into each other.
        name(|identity| {
            identity.file.signing_key_id = String::new();
            identity.file.node_id = format!("{NODE}{FIRST_ID}");
        }),
    ];
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
}
