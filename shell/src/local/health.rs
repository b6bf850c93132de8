//! The health address: plain TCP, for the probes of an orchestrator.
//!
//! Specification: "Health listener".

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use meshward_core::agent::Door;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use thiserror::Error;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use super::serve::{Asked, Listen, Serving};

/// How many connections may wait to be taken.
const BACKLOG: i32 = 128;

/// Why the health address cannot be served.
#[derive(Debug, Error)]
pub enum HealthError {
    #[error("health.listen {0:?} is not host:port or :port")]
    Address(String),
    #[error(
        "health.listen: another program serves {address} (perhaps on the network of the host): set health.listen to a free address, or health.enabled = false"
    )]
    Busy { address: String },
    #[error("health.listen: cannot listen on {address}")]
    Listen { address: String, source: io::Error },
}

/// The health address, opened and not yet served.
#[derive(Debug)]
pub struct Health {
    listener: TcpListener,
    address: SocketAddr,
}

impl Health {
    /// Opens `health.listen`: `host:port`, or `:port` for all interfaces of both families. A host name is looked up,
    /// which may block.
    pub fn open(listen: &str) -> Result<Self, HealthError> {
        let (host, port) = parse(listen).ok_or_else(|| HealthError::Address(listen.to_owned()))?;
        let opened = match host {
            "" | "[::]" => everywhere(port),
            host => std::net::TcpListener::bind((bare(host), port)),
        };
        let adopted = opened.and_then(|listener| {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Self { listener: TcpListener::from_std(listener)?, address })
        });
        adopted.map_err(|source| {
            let address = listen.to_owned();
            if source.kind() == io::ErrorKind::AddrInUse {
                HealthError::Busy { address }
            } else {
                HealthError::Listen { address, source }
            }
        })
    }

    /// Where it listens, with the port that was given.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins to take requests.
    pub fn serve(self, asked: mpsc::Sender<Asked>) -> Serving {
        Serving::begin(self.listener, Door::Health, asked)
    }
}

impl Listen for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<TcpStream> {
        Self::accept(self).await.map(|(stream, _)| stream)
    }
}

fn parse(listen: &str) -> Option<(&str, u16)> {
    let (host, port) = listen.rsplit_once(':')?;
    let plain = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let sound = plain && (bracketed || !host.contains([':', '[', ']']));
    Some((host, port.parse().ok()?)).filter(|_| sound)
}

fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Listens on all interfaces: one socket for both families, or IPv4 alone where the kernel has no IPv6.
fn everywhere(port: u16) -> io::Result<std::net::TcpListener> {
    match dual_stack(port) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        Err(_) => {
            std::net::TcpListener::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port))
        }
        Ok(listener) => Ok(listener),
    }
}

fn dual_stack(port: u16) -> io::Result<std::net::TcpListener> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET6, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_ipv6_v6only(&socket, false)?;
    rustix::net::bind(&socket, &SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port))?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_address_is_a_host_or_nothing_and_a_port() {
        assert_eq!(parse(":9101"), Some(("", 9101)));
        assert_eq!(parse("127.0.0.1:0"), Some(("127.0.0.1", 0)));
        assert_eq!(parse("[::1]:9101"), Some(("[::1]", 9101)));
        assert_eq!(parse("localhost:9101"), Some(("localhost", 9101)));
        for broken in ["", "9101", ":", ":x", ":+1", ":65536", "::1:9101", "[::1:9101", "a]:1"] {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }
}
