//! Addresses to listen on, as an operator writes them.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// Where a TCP listener opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// Written `:9101`: every interface, IPv6 and IPv4.
    Everywhere(u16),
    At(SocketAddr),
    /// A host name, such as `localhost`.
    Named {
        host: String,
        port: u16,
    },
}

impl ListenAddress {
    /// What to bind: the first that opens is enough.
    pub fn candidates(&self) -> Vec<String> {
        match self {
            Self::Everywhere(port) => vec![
                SocketAddr::from((Ipv6Addr::UNSPECIFIED, *port)).to_string(),
                SocketAddr::from((Ipv4Addr::UNSPECIFIED, *port)).to_string(),
            ],
            Self::At(address) => vec![address.to_string()],
            Self::Named { host, port } => vec![format!("{host}:{port}")],
        }
    }

    /// The name to listen on, where one is written; empty for an address.
    pub fn host(&self) -> &str {
        match self {
            Self::Everywhere(_) | Self::At(_) => "",
            Self::Named { host, .. } => host,
        }
    }

    /// Reads `:PORT`, `HOST:PORT` or `[IPV6]:PORT`.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = host_and_port(text)?;
        if host.is_empty() {
            return Some(Self::Everywhere(port));
        }
        Some(match host.parse::<IpAddr>() {
            Ok(address) => Self::At(SocketAddr::new(address, port)),
            Err(_) => Self::Named { host: host.to_owned(), port },
        })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere(port) => write!(f, ":{port}"),
            Self::At(address) => address.fmt(f),
            Self::Named { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// Splits `HOST:PORT`, without the brackets of an IPv6 address; the host may be empty.
pub(super) fn host_and_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let plain = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = if plain { port.parse().ok()? } else { return None };
    if let Some(inner) = host.strip_prefix('[') {
        let inner = inner.strip_suffix(']')?;
        return inner.parse::<Ipv6Addr>().ok().map(|_| (inner, port));
    }
    let named = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    named.then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_means_every_interface() {
        let address = ListenAddress::parse(":9101").unwrap();
        assert_eq!(address, ListenAddress::Everywhere(9101));
        assert_eq!(address.candidates(), ["[::]:9101", "0.0.0.0:9101"]);
    }

    #[test]
    fn addresses_and_names_are_read_and_written_alike() {
        for text in [":0", "127.0.0.1:9100", "[::1]:9100", "localhost:9100"] {
            let address = ListenAddress::parse(text).unwrap();
            assert_eq!(address.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let refused = [
            "",
            "9101",
            "127.0.0.1",
            "127.0.0.1:",
            ":65536",
            ":+1",
            "::1:9100",
            "[::1]",
            "[x]:1",
            "a b:1",
            "http://a:1",
        ];
        for text in refused {
            assert_eq!(ListenAddress::parse(text), None, "{text}");
        }
    }
}
