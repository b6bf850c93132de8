//! Signing keys of tests, and events under them.

use std::time::Duration;

use ed25519_dalek::{Signer as _, SigningKey};
use meshward_core::{
    time::Wall,
    wire::{
        event::{Event, sealed},
        grammar::{NodeSecretKey, base64_text},
        identity::{Identity, IdentityFile, TokenDigest},
        json::Raw,
        timestamp::Timestamp,
    },
};

/// A pair of keys with its id.
#[derive(Clone, Debug)]
pub(crate) struct Signer {
    pub(crate) id: String,
    pub(crate) pair: SigningKey,
}

impl Signer {
    /// The pair that a number gives.
    pub(crate) fn new(number: u8) -> Self {
        Self { id: format!("k{number}"), pair: SigningKey::from_bytes(&[number; 32]) }
    }

    pub(crate) fn public_text(&self) -> String {
        base64_text(self.pair.verifying_key().as_bytes())
    }

    /// An event of this kind, issued now under this key.
    pub(crate) fn event(&self, now: Wall, kind: &str, payload: &str) -> Event {
        Event {
            id: "e1".into(),
            kind: kind.into(),
            scope: String::new(),
            key_id: self.id.clone(),
            issued_at: Timestamp::from(now),
            payload: Some(Raw::parse(payload).expect("JSON")),
        }
    }

    /// The envelope of an event, with its signature by this key.
    pub(crate) fn seal(&self, event: &Event) -> Vec<u8> {
        let signed = event.signed_bytes();
        let signature = base64_text(&self.pair.sign(&signed).to_bytes());
        sealed(signed, &signature)
    }

    /// An envelope of this kind, issued now.
    pub(crate) fn envelope(&self, now: Wall, kind: &str) -> Vec<u8> {
        self.seal(&self.event(now, kind, "{}"))
    }

    /// An envelope that makes another key the current one, with a former one for a while.
    pub(crate) fn rotation(
        &self,
        now: Wall,
        to: &Self,
        former: Option<(&Self, Duration)>,
    ) -> Vec<u8> {
        let former = former.map_or_else(String::new, |(former, time)| {
            let end = Timestamp::from(now.after(time));
            format!(r#","previous_key_id":"{}","transition_expires":"{end}""#, former.id)
        });
        let payload =
            format!(r#"{{"key_id":"{}","public_key":"{}"{former}}}"#, to.id, to.public_text());
        self.seal(&self.event(now, "signing_key_rotated", &payload))
    }

    /// What a registration makes that brings this key.
    pub(crate) fn identity(&self) -> Box<Identity> {
        let node = "6f1d2c3b-4a59-4768-8796-a5b4c3d2e1f0";
        Box::new(Identity {
            node: meshward_core::wire::grammar::Uuid::parse_canonical(node).expect("a UUID"),
            key: NodeSecretKey::from_bytes([9; 32]),
            file: IdentityFile {
                node_id: node.into(),
                mesh_ip: "10.0.0.7".into(),
                signing_public_key: self.public_text(),
                signing_key_id: self.id.clone(),
                domain_mesh_cidr: String::new(),
                last_rotation: None,
                spent_token: TokenDigest::default(),
            },
        })
    }
}
