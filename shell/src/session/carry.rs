//! One connection: each direction is carried until it ends, and the end of one is handed on as a half-close.
//!
//! The system moves the bytes from socket to socket by a pipe, and they never come into this process. A byte counts when
//! the other side's socket has taken it. A side that cannot be read is gone, and the connection with it; one that takes
//! no more may still have sent something, which is carried first.

use std::io;

use meshward_core::agent::Forward;
use rustix::{
    net::{Shutdown, shutdown},
    pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice},
};
use tokio::{io::Interest, net::TcpStream, sync::watch, time::timeout};
use tracing::debug;

use super::{
    counts::{Counts, Way},
    listener::told,
};

/// How much is under way in each direction, in bytes, beside what the sockets hold.
const PIPE: usize = 1 << 20;

/// Carries a connection to its end; told to stop, it reads no more and hands on what it has.
pub(super) async fn connection(
    operator: TcpStream,
    forward: &Forward,
    counts: &Counts,
    mut stopped: watch::Receiver<bool>,
) {
    let target = tokio::select! {
        target = connect(forward) => target,
        () = told(&mut stopped) => return,
    };
    let target = match target {
        Ok(target) => target,
        Err(error) => {
            return debug!(%error, host = forward.target_host, "a session's target is not reached");
        }
    };
    // Whoever sends a keystroke waits for no other.
    let _ = operator.set_nodelay(true).and_then(|()| target.set_nodelay(true));
    let into = way((&operator, &target), (counts, Way::In), stopped.clone());
    let out = way((&target, &operator), (counts, Way::Out), stopped);
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
    (from, to): (&TcpStream, &TcpStream),
    (counts, way): (&Counts, Way),
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    // Where less is allowed, less is moved at once.
    let _ = fcntl_setpipe_size(&into, PIPE);
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    loop {
        let take = || Ok(splice(from, None, &into, None, PIPE, flags)?);
        let mut left = tokio::select! {
            biased;
            () = told(&mut stopped) => break,
            taken = from.async_io(Interest::READABLE, take) => taken?,
        };
        if left == 0 {
            break;
        }
        while left > 0 {
            let give = || Ok(splice(&out, None, to, None, left, flags)?);
            let Ok(given @ 1..) = to.async_io(Interest::WRITABLE, give).await else {
                return Ok(());
            };
            counts.add(way, given);
            left = left.saturating_sub(given);
        }
    }
    // A side that is gone needs no end.
    let _ = shutdown(to, Shutdown::Write);
    Ok(())
}
