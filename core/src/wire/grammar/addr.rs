//! Socket addresses that a peer names.

use core::{
    fmt,
    net::{IpAddr, SocketAddr},
};

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
        Ok(Self(SocketAddr::new(addr.ip().to_canonical(), addr.port())))
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

impl fmt::Display for PeerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
