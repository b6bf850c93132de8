//! The tunnel device behind one trait.

mod none;

use std::fmt;

use meshward_core::wire::grammar::PublicKey;

pub use none::NoTunnel;

/// A tunnel device of this host.
pub trait Tunnel: fmt::Debug + Send + Sync {
    /// Lets the device use the private key with this public half; it may block, and the error is told in words.
    fn install(&self, key: PublicKey) -> Result<(), String>;
}
