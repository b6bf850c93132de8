//! One connection: each direction is carried until it ends, and the end of one is handed on as a half-close.
//!
//! A byte counts when the other side's socket has taken it. A side that cannot be read is gone, and the connection with
//! it; one that takes no more may still have sent something, which is carried first.

use std::io;

use meshward_core::agent::Forward;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::watch,
    time::timeout,
};
use tracing::debug;

use super::{
    counts::{Counts, Way},
    listener::told,
};

/// How much is under way in each direction, in bytes, beside what the system holds.
const BUFFER: usize = 256 << 10;

/// Carries a connection to its end; told to stop, it reads no more and hands on what it has.
pub(super) async fn connection(
    mut operator: TcpStream,
    forward: &Forward,
    counts: &Counts,
    mut stopped: watch::Receiver<bool>,
) {
    let target = tokio::select! {
        target = connect(forward) => target,
        () = told(&mut stopped) => return,
    };
    let mut target = match target {
        Ok(target) => target,
        Err(error) => {
            return debug!(%error, host = forward.target_host, "a session's target is not reached");
        }
    };
    // Whoever sends a keystroke waits for no other.
    let _ = operator.set_nodelay(true).and_then(|()| target.set_nodelay(true));
    let (from_operator, to_operator) = operator.split();
    let (from_target, to_target) = target.split();
    let into = way(from_operator, to_target, (counts, Way::In), stopped.clone());
    let out = way(from_target, to_operator, (counts, Way::Out), stopped);
    if let Err(error) = tokio::try_join!(into, out) {
        debug!(%error, "a connection of a session broke");
    }
}

async fn connect(forward: &Forward) -> io::Result<TcpStream> {
    let place = (forward.target_host.as_str(), forward.target_port);
    let connected = timeout(forward.connect_timeout, TcpStream::connect(place)).await;
    connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Carries one direction; an error is one of reading.
async fn way(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    (counts, way): (&Counts, Way),
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = tokio::select! {
            biased;
            () = told(&mut stopped) => break,
            read = from.read(&mut buffer) => read?,
        };
        if read == 0 {
            break;
        }
        let mut left = &buffer[..read];
        while !left.is_empty() {
            let Ok(taken @ 1..) = to.write(left).await else { return Ok(()) };
            counts.add(way, taken);
            left = &left[taken..];
        }
    }
    // A side that is gone needs no end.
    let _ = to.shutdown().await;
    Ok(())
}
