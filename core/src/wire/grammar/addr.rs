//! Socket addresses that a peer names.

use core::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use serde::{Serialize, Serializer};

use super::Malformed;

/// An `ip:port`; an IPv4 address mapped into IPv6 is the IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr(SocketAddr);

impl PeerAddr {
    /// Reads an IP literal, IPv6 in brackets and without a zone, and a plain decimal port.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let (_, port) = text.rsplit_once(':').ok_or(Malformed::PeerAddr)?;
        if port.len() > 1 && port.starts_with('0') || text.contains('%') {
            return Err(Malformed::PeerAddr);
        }
        let addr: SocketAddr = text.parse().map_err(|_| Malformed::PeerAddr)?;
        Ok(Self::from(addr))
    }

    /// The address, IPv4 where it was mapped into IPv6.
    pub const fn ip(&self) -> IpAddr {
        self.0.ip()
    }

    /// The port, which may be 0.
    pub const fn port(&self) -> u16 {
        self.0.port()
    }
}

impl From<SocketAddr> for PeerAddr {
    fn from(addr: SocketAddr) -> Self {
        Self(SocketAddr::new(addr.ip().to_canonical(), addr.port()))
    }
}

impl fmt::Display for PeerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Where a node may be reached: a port, and a host that is neither loopback, link-local nor unspecified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachableAddr(PeerAddr);

impl ReachableAddr {
    /// Reads an `ip:port`.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        PeerAddr::parse(text).ok().and_then(Self::new).ok_or(Malformed::ReachableAddr)
    }

    /// `None` for an address that no other node can reach.
    pub fn new(addr: PeerAddr) -> Option<Self> {
        let ip = addr.ip();
        let refused = addr.port() == 0
            || ip.is_unspecified()
            || ip.is_loopback()
            || is_link_local(ip)
            || is_link_local_multicast(ip);
        (!refused).then_some(Self(addr))
    }

    /// The host.
    pub const fn ip(&self) -> IpAddr {
        self.0.ip()
    }

    /// The port, which is not 0.
    pub const fn port(&self) -> u16 {
        self.0.port()
    }
}

const fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// `224.0.0.0/24`, and the link-local scope of `ff00::/8`. Unspecified: its flags; under any of them it stays link-local.
const fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => matches!(ip.octets(), [224, 0, 0, _]),
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    }
}

impl fmt::Display for ReachableAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Serialize for ReachableAddr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
