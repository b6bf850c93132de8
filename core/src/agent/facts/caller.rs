//! Who asks locally.

use alloc::vec::Vec;

/// The listener a local request came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    Health,
    Socket,
    /// The TCP listener of the local API.
    Tcp,
}

/// A program that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub door: Door,
    /// Absent behind a door that is no socket, and where the kernel does not tell.
    pub peer: Option<Peer>,
}

/// A process at the other end of the socket, as the kernel knew it when it connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub uid: u32,
    /// Its group and its supplementary groups.
    pub groups: Vec<u32>,
    /// The user that the agent runs as.
    pub agent: u32,
    /// The group of the socket, whose members may order; absent where this host has none.
    pub order_group: Option<u32>,
    /// The group whose members may read secrets; absent where this host has none.
    pub secret_group: Option<u32>,
}

impl From<Door> for Caller {
    /// A program of which nothing but its door is known.
    fn from(door: Door) -> Self {
        Self { door, peer: None }
    }
}
