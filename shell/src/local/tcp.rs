//! The TCP listener of the local API, and how a TCP address is opened.
//!
//! Specification: "Authentication" of the node agent, rule 1.

use std::io;

use meshward_core::agent::{Door, TcpSettings};
use tokio::net::TcpListener;
use tracing::info;

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
    let open = listener.local_addr().map_or_else(|_| address.to_string(), |open| open.to_string());
    info!(address = open, "local API open by TCP");
    Ok(listener)
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
