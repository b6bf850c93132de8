//! What co-located programs see of the mesh: the peers and the policy of the last good pull.
//!
//! Specification: "Local HTTP API" (`GET /v1/policies`); `decisions.md` section 8 (Policy null).

use alloc::vec::Vec;

use crate::wire::{json::Raw, local::PeerRow, snapshot::Peer};

/// The peers by their ids, and the policy as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    pub peers: Vec<PeerRow>,
    /// Absent while no policy is active.
    pub policy: Option<Raw>,
}

impl Network {
    /// Takes the blocks of a pull.
    pub fn pulled(peers: Vec<Peer>, policy: Option<Raw>) -> Self {
        let row = |peer: Peer| PeerRow {
            id: peer.node_id.0,
            public_key: peer.public_key.0,
            mesh_ip: peer.mesh_ip,
            endpoint: peer.fallback_endpoint,
        };
        let mut peers: Vec<_> = peers.into_iter().map(row).collect();
        peers.sort_by(|one, other| one.id.cmp(&other.id));
        Self { peers, policy }
    }
}
