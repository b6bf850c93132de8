//! The health listener: `/healthz` and `/readyz` for orchestrators' probes, without authentication.
//!
//! Specification: "Health listener".

use std::{io, time::Duration};

use meshward_core::agent::Door;
use tokio::net::TcpListener;
use tracing::info;

use super::{
    ListenError,
    serve::{Crowded, Limits},
};
use crate::config::ListenAddress;

pub(super) const LIMITS: Limits = Limits {
    door: Door::Health,
    connections_max: 64,
    crowded: Crowded::DropOldest,
    head: Duration::from_secs(5),
    body: Duration::from_secs(10),
    answer: Duration::from_secs(10),
    write: Duration::from_secs(10),
    head_bytes_max: 8 * 1024,
    keep_alive: false,
};

/// Opens the first address that can be opened.
pub(super) async fn bind(address: &ListenAddress) -> Result<TcpListener, ListenError> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for candidate in address.candidates() {
        match TcpListener::bind(&candidate).await {
            Ok(listener) => {
                let address = listener.local_addr().map_or(candidate, |open| open.to_string());
                info!(address, "health listener open");
                return Ok(listener);
            }
            Err(error) => failed = error,
        }
    }
    Err(ListenError::Health { address: address.to_string(), source: failed })
}
