//! What co-located programs see of the mesh: the peers and the policy of the last good pull.
//!
//! Specification: "Local HTTP API" (`GET /v1/policies`); `decisions.md` section 8 (Policy null).

pub mod file;

use alloc::{collections::BTreeMap, vec::Vec};

use crate::wire::{json::Raw, local::PeerRow, pulled::Unread, snapshot::Peer};

/// The peers by their ids, and the policy as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    pub peers: Vec<PeerRow>,
    /// Absent while no policy is active.
    pub policy: Option<Raw>,
}

impl Network {
    /// Takes the blocks of a pull. Of an id that stands there twice the last peer counts; one that could not be read
    /// stays as it is known.
    #[must_use]
    pub fn pulled(self, peers: Vec<Peer>, unread: &Unread, policy: Option<Raw>) -> Self {
        let row = |peer: Peer| PeerRow {
            id: peer.node_id.0,
            public_key: peer.public_key.0,
            mesh_ip: peer.mesh_ip,
            endpoint: peer.fallback_endpoint,
        };
        let known = self.peers.into_iter().filter(|peer| unread.may_hold(&peer.id));
        let rows = known.chain(peers.into_iter().map(row));
        let by_id: BTreeMap<_, _> = rows.map(|peer| (peer.id.clone(), peer)).collect();
        Self { peers: by_id.into_values().collect(), policy }
    }
}
