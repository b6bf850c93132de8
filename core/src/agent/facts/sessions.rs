//! A session of a user: what its listener is told, and what it tells.

use alloc::string::String;
use core::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

/// What is ordered of the listener of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionOrder {
    /// Answered by [`SessionFact::Opened`], and later by [`SessionFact::Closed`]; or by [`SessionFact::Refused`] alone.
    Open(Forward),
    /// Take no more connections, end the one that is open, and tell the counts within this time.
    Close { within: Duration },
}

/// A listener, and where what it takes is carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// The address it listens on, at a port that the system chooses.
    pub listen: IpAddr,
    pub target_host: String,
    pub target_port: u16,
    /// How long a connection to the target is tried.
    pub connect_timeout: Duration,
    /// After so long without a byte in either direction [`SessionFact::Idle`] is told, once.
    pub idle: Option<Duration>,
}

/// What a listener tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionFact {
    /// It listens here.
    Opened { endpoint: SocketAddr },
    /// It cannot listen; the text tells why. Nothing more comes of it.
    Refused { reason: String },
    /// No byte has passed for as long as was named.
    Idle,
    /// It is gone, asked or by itself, and nothing more is carried. Nothing more comes of it.
    Closed(Carried),
}

/// How many bytes of all connections of a session have been handed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Carried {
    /// From who connected to the target.
    pub bytes_in: u64,
    /// From the target to who connected.
    pub bytes_out: u64,
}
