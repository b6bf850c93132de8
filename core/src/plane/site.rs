//! The constants of the one site that the fixture stands for.

use crate::wire::grammar::{NodeSecretKey, Uuid};

pub const PROJECT_ID: &str = "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a0";
pub const NODE_ID: &str = "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3";
pub const NODE_UUID: Uuid = Uuid::from_bytes([
    0x01, 0x90, 0xa8, 0xb8, 0xa0, 0xc0, 0x7a, 0x0a, 0x8a, 0x0a, 0xa0, 0xa0, 0xa0, 0xa0, 0xa0, 0xa3,
]);
pub const MESH_IP: &str = "10.99.0.1";
pub const DOMAIN_MESH_CIDR: &str = "10.99.0.0/24";
pub const SIGNING_KEY_ID: &str = "did:web:meshward.example#key-e2e";
pub const ROTATION_KID: &str = "did:web:meshward.example#psk-2026-04";
/// The id of the node secret key that envelopes are sealed under.
pub const SECRET_KID: &str = "e2e-nsk-kid-1";
/// The `<env>` of the served bearer, on purpose another than the agent's own.
pub const BEARER_ENV: &str = "e2e";

/// The node secret key, which is deliberately not valid UTF-8.
pub const fn node_secret_key() -> NodeSecretKey {
    NodeSecretKey::from_bytes([
        0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e,
        0x0f, 0x80, 0x91, 0xa2, 0xb3, 0xc4, 0xd5, 0xe6, 0xf7, 0xf8, 0xe9, 0xda, 0xcb, 0xbc, 0xad,
        0x9e, 0x8f,
    ])
}

/// The credential of the local endpoints, which is also the plaintext of every secret.
pub const LOCAL_BEARER: &str = "e2e-local-bearer-token";

/// A peer of the fixture's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerConstant {
    pub node_id: &'static str,
    pub mesh_ip: &'static str,
    pub public_key: &'static str,
    /// Empty where the member is left out.
    pub fallback_endpoint: &'static str,
}

/// The peers that registration and the default snapshot tell of.
pub const PEERS: [PeerConstant; 2] = [
    PeerConstant {
        node_id: "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0b1",
        mesh_ip: "10.99.0.2",
        public_key: "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=",
        fallback_endpoint: "203.0.113.1:51820",
    },
    PeerConstant {
        node_id: "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0b2",
        mesh_ip: "10.99.0.3",
        public_key: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        fallback_endpoint: "",
    },
];
