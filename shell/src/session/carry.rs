//! One connection: each direction is carried until it ends, and the end of one is handed on as a half-close.
//!
//! The system moves the bytes from socket to socket by a pipe, and they never come into this process. A byte counts when
//! the other side's socket has taken it. A side that cannot be read is gone, and the connection with it; one that takes
//! no more may still have sent something, which is carried first.

use std::{future, io, pin::pin, time::Duration};

use meshward_core::agent::Forward;
use rustix::{
    net::{Shutdown, shutdown, sockopt},
    pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice},
};
use tokio::{io::Interest, net::TcpStream, sync::watch, time::timeout};
use tracing::debug;

use super::{
    counts::{Counts, Way},
    listener::told,
};

/// A side that is silent for so long is asked whether it is still there, so often and so many times.
const SILENCE: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_secs(10);
const ASKS: u32 = 3;

/// How long a side that acknowledges nothing of what it was sent is taken to be there.
const UNHEARD_MAX: Duration = Duration::from_secs(90);

/// How long what an operator has sent before it broke off is handed on; the next one waits for that.
const HAND_ON_MAX: Duration = Duration::from_secs(2);

/// How much is under way in each direction, in bytes, beside what the sockets hold.
const PIPE: usize = 1 << 20;

/// Carries a connection to its end; told to stop, it reads no more and hands on what it has.
pub(super) async fn connection(
    operator: TcpStream,
    forward: &Forward,
    counts: &Counts,
    mut stopped: watch::Receiver<bool>,
) {
    watch_over(&operator);
    let target = tokio::select! {
        target = connect(forward) => target,
        () = broken(&operator) => return debug!("an operator left before the target was reached"),
        () = told(&mut stopped) => return,
    };
    let target = match target {
        Ok(target) => target,
        Err(error) => {
            return debug!(%error, host = forward.target_host, "a session's target is not reached");
        }
    };
    watch_over(&target);
    // Whoever sends a keystroke waits for no other.
    let _ = operator.set_nodelay(true).and_then(|()| target.set_nodelay(true));
    let into = way((&operator, &target), (counts, Way::In), stopped.clone());
    let out = way((&target, &operator), (counts, Way::Out), stopped);
    let mut carrying = pin!(async { tokio::try_join!(into, out) });
    let carried = tokio::select! {
        carried = &mut carrying => Some(carried),
        // What it has still sent may stand behind what the other side does not take.
        () = broken(&operator) => timeout(HAND_ON_MAX, carrying).await.ok(),
    };
    if let Some(Err(error)) = carried {
        debug!(%error, "a connection of a session broke");
    }
}

/// Comes to an end when the other end has reset the connection, or is given up by the system.
async fn broken(stream: &TcpStream) {
    loop {
        match stream.ready(Interest::ERROR).await {
            Ok(ready) if ready.is_error() => return,
            Ok(_) => tokio::task::yield_now().await,
            Err(_) => return future::pending().await,
        }
    }
}

/// Lets the system notice a side that is gone without a word.
fn watch_over(stream: &TcpStream) {
    // Where it cannot, the idle window and the deadline of the session are left.
    let _ = sockopt::set_socket_keepalive(stream, true)
        .and_then(|()| sockopt::set_tcp_keepidle(stream, SILENCE))
        .and_then(|()| sockopt::set_tcp_keepintvl(stream, ASK_EVERY))
        .and_then(|()| sockopt::set_tcp_keepcnt(stream, ASKS))
        .and_then(|()| {
            let milliseconds = u32::try_from(UNHEARD_MAX.as_millis()).unwrap_or(u32::MAX);
            sockopt::set_tcp_user_timeout(stream, milliseconds)
        });
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

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_side_that_is_silent_is_asked_after_a_minute_and_given_up_after_a_minute_and_a_half()
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_operator, accepted) =
            tokio::join!(TcpStream::connect(address), async { listener.accept().await.unwrap().0 });
        watch_over(&accepted);
        let asked = (
            sockopt::socket_keepalive(&accepted),
            sockopt::tcp_keepidle(&accepted),
            sockopt::tcp_keepintvl(&accepted),
            sockopt::tcp_keepcnt(&accepted),
            sockopt::tcp_user_timeout(&accepted),
        );
        let seconds = Duration::from_secs;
        assert_eq!(asked, (Ok(true), Ok(seconds(60)), Ok(seconds(10)), Ok(3), Ok(90_000)));
    }
}
