//! One listener: it takes one connection at a time, and closes at once whoever comes besides.

use std::{
    future, io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    time::Duration,
};

use meshward_core::agent::{Forward, SessionFact};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{oneshot, watch},
};
use tracing::debug;

use super::{Told, carry, counts::Counts};

/// How long accepting rests when the system is out of descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// A listener that is open.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) listener: TcpListener,
    pub(super) endpoint: SocketAddr,
}

pub(super) async fn bind(ip: IpAddr) -> io::Result<Bound> {
    let listener = TcpListener::bind((ip, 0)).await?;
    let endpoint = listener.local_addr()?;
    Ok(Bound { listener, endpoint })
}

/// Serves until it is told to close; then what has been read is handed on, within the time that the order gives.
pub(super) async fn serve(
    listener: TcpListener,
    forward: Forward,
    counts: Counts,
    told: Told,
    mut closing: oneshot::Receiver<Duration>,
) {
    let (stop, stopped) = watch::channel(false);
    let mut serving = pin!(take(listener, &forward, &counts, stopped));
    let mut idle = pin!(idle(&counts, forward.idle, &told));
    let within = tokio::select! {
        () = &mut serving => return,
        () = &mut idle => return,
        // Without an order there is nobody any more who could wait.
        within = &mut closing => within.unwrap_or_default(),
    };
    let _ = stop.send(true);
    let _cut_off = tokio::time::timeout(within, serving).await;
}

/// Tells once that nothing passes, and leaves the rest to who is told.
async fn idle(counts: &Counts, limit: Option<Duration>, told: &Told) {
    if let Some(limit) = limit {
        counts.idle(limit).await;
        told.tell(SessionFact::Idle).await;
    }
    future::pending().await
}

/// Takes connections, one after the other, until it is told to stop.
async fn take(
    listener: TcpListener,
    forward: &Forward,
    counts: &Counts,
    mut stopped: watch::Receiver<bool>,
) {
    let mut listener = Some(listener);
    while let Some(open) = &listener {
        let operator = tokio::select! {
            operator = accept(open) => operator,
            () = told(&mut stopped) => return,
        };
        let carried = stopped.clone();
        let mut carrying = pin!(carry::connection(operator, forward, counts, carried));
        loop {
            tokio::select! {
                () = &mut carrying => break,
                other = next(listener.as_ref()) => drop(other),
                // Nobody is let in any more, and what is open comes to its end by itself.
                () = told(&mut stopped), if listener.is_some() => listener = None,
            }
        }
    }
}

/// Waits until it is told to stop, or nobody is there to tell.
pub(super) async fn told(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn next(listener: Option<&TcpListener>) -> TcpStream {
    match listener {
        Some(listener) => accept(listener).await,
        None => future::pending().await,
    }
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                debug!(%error, "a connection of a session cannot be accepted");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
}
