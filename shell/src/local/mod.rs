//! HTTP in: the Unix socket of the node-local API and the health listener. Each request becomes a fact for the core.
//!
//! Specification: "Local HTTP API" and "Health listener".

pub mod alive;
mod answer;
mod crowd;
mod error;
pub mod framed;
mod health;
mod peer;
mod serve;
mod socket;
pub mod stall;
mod tcp;
pub mod token;
pub(crate) mod watch;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use meshward_core::{
    agent::{Caller, Input},
    wire::http::{Request, Response},
};
use tokio::{
    sync::{mpsc, oneshot, watch as signal},
    task::JoinSet,
};

use crate::config::ListenAddress;

pub use error::ListenError;
pub use peer::{GROUP, SECRET_GROUP, group_id};
pub use tcp::Tcp;
pub use watch::Feed;

/// How many requests may wait for the loop; who brings one more waits itself.
pub const ASKED_MAX: usize = 64;

/// A request of a co-located program, and where its answer goes.
#[derive(Debug)]
pub struct Asked {
    pub caller: Caller,
    pub request: Request,
    pub reply: oneshot::Sender<Reply>,
}

/// How a request is answered.
#[derive(Debug)]
pub enum Reply {
    Whole(Response),
    Stream(Feed),
}

impl From<Response> for Reply {
    fn from(response: Response) -> Self {
        Self::Whole(response)
    }
}

/// Where to listen.
#[derive(Clone, Debug)]
pub struct Addresses {
    pub socket: PathBuf,
    /// The group whose members may open the socket, and order.
    pub group: String,
    /// The group whose members may read secrets, where that is asked of them.
    pub secret_group: Option<String>,
    /// Where the local API is open by TCP as well.
    pub tcp: Option<Tcp>,
    pub health: Option<ListenAddress>,
}

/// The open listeners.
#[derive(Debug)]
pub struct Listeners {
    stop: signal::Sender<bool>,
    tasks: JoinSet<()>,
    /// Removed when it is dropped.
    socket: Option<socket::Name>,
    health: Option<SocketAddr>,
    tcp: Option<SocketAddr>,
}

impl Listeners {
    pub fn none() -> Self {
        let stop = signal::Sender::new(false);
        Self { stop, tasks: JoinSet::new(), socket: None, health: None, tcp: None }
    }

    /// Where the health listener is, with the port that it was given.
    pub const fn health(&self) -> Option<SocketAddr> {
        self.health
    }

    /// Where the local API is by TCP, with the port that it was given.
    pub const fn tcp(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// Stops accepting, waits a while for open requests, and removes the socket.
    pub async fn close(mut self, patience: Duration) {
        self.stop.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // What is still open then is cut when the tasks are dropped.
        let _ = tokio::time::timeout(patience, ended).await;
    }

    /// Serves a listener; the core is told when it ends before it is stopped.
    fn serve(&mut self, listener: impl serve::Accept, hall: answer::Hall, to: &Inlet) {
        let (door, facts) = (hall.limits.door, to.facts.clone());
        let stopped = self.stop.subscribe();
        self.tasks.spawn(async move {
            let mut served = JoinSet::new();
            served.spawn(serve::listener(listener, hall, stopped.clone()));
            // It may have panicked.
            let _ = served.join_next().await;
            if !*stopped.borrow() {
                let _ = facts.send(Input::Broke(door)).await;
            }
        });
    }
}

/// Where the listeners bring what they take in.
#[derive(Clone, Debug)]
pub struct Inlet {
    pub asked: mpsc::Sender<Asked>,
    pub facts: mpsc::Sender<Input>,
}

/// Opens the health listener, then the TCP listener, then the socket, and serves them.
pub async fn listen(addresses: &Addresses, to: &Inlet) -> Result<Listeners, ListenError> {
    let mut listeners = Listeners::none();
    let hall = |limits, tcp| answer::Hall::new(limits, tcp, to.asked.clone());
    if let Some(address) = &addresses.health {
        let listener = health::bind(address).await?;
        listeners.health = listener.local_addr().ok();
        listeners.serve(listener, hall(health::LIMITS, None), to);
    }
    if let Some(door) = &addresses.tcp {
        let listener = tcp::bind(&door.listen).await?;
        listeners.tcp = listener.local_addr().ok();
        listeners.serve(listener, hall(tcp::LIMITS, Some(door.settings.clone())), to);
    }
    let (listener, name) = serve::Guarded::open(addresses)?;
    listeners.socket = Some(name);
    listeners.serve(listener, hall(socket::LIMITS, None), to);
    Ok(listeners)
}
