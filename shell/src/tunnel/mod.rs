//! The tunnel device behind one trait.

mod none;

use std::{fmt, time::SystemTime};

use meshward_core::wire::grammar::PublicKey;

pub use none::NoTunnel;

/// A tunnel device of this host.
pub trait Tunnel: fmt::Debug + Send + Sync {
    /// Lets the device use the private key with this public half; it may block, and the error is told in words.
    fn install(&self, key: PublicKey) -> Result<(), String>;

    /// What the device knows of its peers; it may block, and the error is told in words.
    fn peers(&self) -> Result<Vec<PeerStats>, String>;
}

/// What a device knows of one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStats {
    /// As the snapshot names the peer, or its public key where the device was not told by what name.
    pub id: String,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    /// Absent where there was none.
    pub last_handshake: Option<SystemTime>,
}
