//! HTTP in: the Unix socket of the node-local API and the health listener. Each request becomes a fact for the core.
//!
//! Specification: "Local HTTP API" and "Health listener".

mod health;
mod peer;
mod serve;
mod socket;
pub mod stall;

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use meshward_core::{
    agent::Caller,
    wire::http::{Request, Response},
};
use thiserror::Error;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use crate::config::ListenAddress;

/// The group whose members may read secrets where `local_api.secret_auth_enabled` is set.
pub use peer::SECRET_GROUP;

/// How many requests may wait for the loop; who brings one more waits itself.
pub const ASKED_MAX: usize = 64;

/// A request of a co-located program, and where its answer goes.
#[derive(Debug)]
pub struct Asked {
    pub caller: Caller,
    pub request: Request,
    pub reply: oneshot::Sender<Response>,
}

/// Where to listen.
#[derive(Clone, Debug)]
pub struct Addresses {
    pub socket: PathBuf,
    /// The group whose members may read secrets, where that is asked of them.
    pub secret_group: Option<String>,
    pub health: Option<ListenAddress>,
}

/// Why a listener did not open.
#[derive(Debug, Error)]
pub enum ListenError {
    #[error(
        "cannot listen on {address} (health.listen): free the port, or set health.listen to another address"
    )]
    Health { address: String, source: io::Error },
    #[error("local_api.socket_path: cannot {doing} {}", .path.display())]
    Socket { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("local_api.socket_path {} must be the path of a file, of at most {} bytes", .0.display(), socket::PATH_MAX)]
    SocketPath(PathBuf),
    #[error("{} is in the way of the local API and is no socket of this user: move it, or set local_api.socket_path", .0.display())]
    NoSocket(PathBuf),
    #[error("another program answers on the socket {}: stop it, or set local_api.socket_path", .0.display())]
    SocketInUse(PathBuf),
    #[error("another agent is just starting on the socket {}: try again, or set local_api.socket_path", .0.display())]
    SocketContended(PathBuf),
}

/// The open listeners.
#[derive(Debug)]
pub struct Listeners {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
    /// Removed when it is dropped.
    socket: Option<socket::Name>,
    health: Option<SocketAddr>,
}

impl Listeners {
    pub fn none() -> Self {
        Self { stop: watch::Sender::new(false), tasks: JoinSet::new(), socket: None, health: None }
    }

    /// Where the health listener is, with the port that it was given.
    pub const fn health(&self) -> Option<SocketAddr> {
        self.health
    }

    /// Stops accepting, waits a while for open requests, and removes the socket.
    pub async fn close(mut self, patience: Duration) {
        self.stop.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // What is still open then is cut when the tasks are dropped.
        let _ = tokio::time::timeout(patience, ended).await;
    }
}

/// Opens the health listener, then the socket, and serves both.
pub async fn listen(
    addresses: &Addresses,
    asked: mpsc::Sender<Asked>,
) -> Result<Listeners, ListenError> {
    let mut listeners = Listeners::none();
    if let Some(address) = &addresses.health {
        let listener = health::bind(address).await?;
        listeners.health = listener.local_addr().ok();
        let stopped = listeners.stop.subscribe();
        listeners.tasks.spawn(serve::listener(listener, health::LIMITS, asked.clone(), stopped));
    }
    let (listener, name) = socket::bind(&addresses.socket)?;
    listeners.socket = Some(name);
    let stopped = listeners.stop.subscribe();
    let guarded = serve::Guarded { listener, secret_group: addresses.secret_group.clone() };
    listeners.tasks.spawn(serve::listener(guarded, socket::LIMITS, asked, stopped));
    Ok(listeners)
}
