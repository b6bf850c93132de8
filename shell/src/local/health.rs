//! The health listener: `/healthz` and `/readyz` for orchestrators' probes, without authentication.
//!
//! Specification: "Health listener".

use std::time::Duration;

use meshward_core::agent::Door;
use tokio::net::TcpListener;
use tracing::info;

use super::{ListenError, serve::Limits, tcp::first_free};
use crate::config::ListenAddress;

pub(super) const LIMITS: Limits = Limits {
    door: Door::Health,
    connections_max: 64,
    head: Duration::from_secs(5),
    body: Duration::from_secs(10),
    answer: Duration::from_secs(10),
    write: Duration::from_secs(10),
    discard: Duration::from_secs(2),
    head_bytes_max: 8 * 1024,
    keep_alive: false,
};

pub(super) async fn bind(address: &ListenAddress) -> Result<TcpListener, ListenError> {
    let listener = first_free(address)
        .await
        .map_err(|source| ListenError::Health { address: address.to_string(), source })?;
    let open = listener.local_addr().map_or_else(|_| address.to_string(), |open| open.to_string());
    info!(address = open, "health listener open");
    Ok(listener)
}
