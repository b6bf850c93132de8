//! The TCP listener of the local API, and how a TCP address is opened.
//!
//! Specification: "Authentication" of the node agent, rule 1.

use std::{io, net::SocketAddr};

use meshward_core::agent::{Door, TcpSettings};
use tokio::net::TcpListener;
use tracing::{info, warn};

use super::{ListenError, serve::Limits, socket};
use crate::config::ListenAddress;

/// Where the local API is open by TCP, and who may ask there.
#[derive(Clone, Debug)]
pub struct Tcp {
    pub listen: ListenAddress,
    pub settings: TcpSettings,
}

pub(super) const LIMITS: Limits = Limits { door: Door::Tcp, connections_max: 64, ..socket::LIMITS };

pub(super) async fn bind(address: &ListenAddress) -> Result<TcpListener, ListenError> {
    let listener = first_free(address)
        .await
        .map_err(|source| ListenError::Tcp { address: address.to_string(), source })?;
    let open = listener.local_addr();
    if open.as_ref().is_ok_and(is_reached_from_afar) {
        warn!(
            "local_api.http_listen {address} is reached over the network, where the token goes in clear, as there is no \
             TLS: listen on a loopback address, such as 127.0.0.1:9100, and let a proxy with TLS stand before it"
        );
    }
    let open = open.map_or_else(|_| address.to_string(), |open| open.to_string());
    info!(address = open, "local API open by TCP");
    Ok(listener)
}

/// Whether others than programs of this machine can come.
fn is_reached_from_afar(open: &SocketAddr) -> bool {
    !open.ip().to_canonical().is_loopback()
}

/// Opens the first address that can be opened.
pub(super) async fn first_free(address: &ListenAddress) -> io::Result<TcpListener> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for candidate in address.candidates() {
        match TcpListener::bind(&candidate).await {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

#[cfg(test)]
mod tests {
    use super::is_reached_from_afar;

    #[test]
    fn an_address_beyond_loopback_is_reached_from_afar_however_it_is_spelled() {
        let afar = |address: &str| is_reached_from_afar(&address.parse().unwrap());
        for near in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(!afar(near), "{near}");
        }
        for far in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[2001:db8::1]:1", "[::ffff:192.0.2.1]:1"]
        {
            assert!(afar(far), "{far}");
        }
    }
}
