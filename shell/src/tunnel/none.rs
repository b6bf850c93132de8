//! A host without a tunnel device.

use meshward_core::wire::grammar::PublicKey;

use super::{PeerStats, Tunnel};

/// There is no device, so there is nothing to be told and nobody to tell of.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTunnel;

impl Tunnel for NoTunnel {
    fn install(&self, _key: PublicKey) -> Result<(), String> {
        Ok(())
    }

    fn peers(&self) -> Result<Vec<PeerStats>, String> {
        Ok(Vec::new())
    }
}
