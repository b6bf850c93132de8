//! Connections of local clients: accepted up to a cap, and each served within its limits.

use std::{
    convert::Infallible,
    future::Future,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use meshward_core::{
    agent::{Caller, Door, Peer},
    wire::framing::FIELDS_MAX,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::watch,
    task::JoinSet,
    time::Instant,
};
use tracing::{debug, warn};

use super::{
    Addresses, ListenError,
    answer::{Desk, Hall},
    crowd::Crowd,
    framed::{Framed, Turned},
    peer, socket,
    stall::Stalling,
};

/// What a listener allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) door: Door,
    /// Connections at once; one more takes the place of the one that is idle for the longest.
    pub(super) connections_max: usize,
    /// From the beginning of a connection, or the end of an answer, to the end of the next head.
    pub(super) head: Duration,
    /// From the end of a head to the end of the body.
    pub(super) body: Duration,
    /// What the agent may take to answer.
    pub(super) answer: Duration,
    /// How long the peer may leave an answer untaken.
    pub(super) write: Duration,
    /// Reading on behind an answer that did not need all that was sent.
    pub(super) discard: Duration,
    pub(super) head_bytes_max: usize,
    pub(super) keep_alive: bool,
}

/// How long accepting rests when the system is out of descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// How often at most that is told.
const ACCEPT_TOLD_EVERY: Duration = Duration::from_secs(60);

/// The smallest buffer that the HTTP library takes, in bytes.
const BUFFER_MIN: usize = 8192;

/// What connections come from.
pub(super) trait Accept: Send + Sync + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, Option<Peer>)>> + Send;
}

impl Accept for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<(TcpStream, Option<Peer>)> {
        self.accept().await.map(|(stream, _)| (stream, None))
    }
}

/// The socket, with the groups that lend rights at it.
pub(super) struct Guarded {
    listener: UnixListener,
    groups: peer::Groups,
}

impl Guarded {
    pub(super) fn open(addresses: &Addresses) -> Result<(Self, socket::Name), ListenError> {
        let (listener, name) = socket::bind(&addresses.socket, &addresses.group)?;
        let (order, secret) = (addresses.group.clone(), addresses.secret_group.clone());
        Ok((Self { listener, groups: peer::Groups { order, secret } }, name))
    }
}

impl Accept for Guarded {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<(UnixStream, Option<Peer>)> {
        let (stream, _) = self.listener.accept().await?;
        let peer = peer::of(&stream, &self.groups);
        Ok((stream, peer))
    }
}

/// Accepts until stopped; where every connection is at work, one more is closed at once.
pub(super) async fn listener(
    listener: impl Accept,
    hall: Hall,
    mut stopped: watch::Receiver<bool>,
) {
    let limits = hall.limits;
    let crowd = Crowd::new(limits.connections_max);
    let mut connections = JoinSet::new();
    let mut told_at: Option<Instant> = None;
    loop {
        let accepted = tokio::select! {
            accepted = listener.next() => accepted,
            Some(_) = connections.join_next() => continue,
            () = told(&mut stopped) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if told_at.is_none_or(|at| at.elapsed() >= ACCEPT_TOLD_EVERY) {
                    told_at = Some(Instant::now());
                    warn!(%error, door = ?limits.door, "a local connection cannot be accepted; trying on");
                }
                tokio::time::sleep(ACCEPT_REST).await;
                continue;
            }
        };
        let Some(place) = crowd.enter().await else {
            debug!(door = ?limits.door, "no room for another connection; it is closed");
            continue;
        };
        let (id, caller) = (place.id(), Caller { door: limits.door, peer });
        let line = Line::default();
        let desk = Desk { hall: hall.clone(), caller, place: Arc::new(place), line };
        let cut = connections.spawn(connection(stream, limits, desk, stopped.clone()));
        crowd.note(id, cut);
    }
    // Whoever comes now is refused instead of being left waiting.
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Waits until the listeners are told to stop, or are gone.
async fn told(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// What one connection knows beside its requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) turned: Turned,
    unread: Arc<AtomicBool>,
}

impl Line {
    /// An answer was given that did not need the rest of its request, and with which the connection ends.
    pub(super) fn leave_unread(&self) {
        self.unread.store(true, Ordering::Relaxed);
    }
}

/// Serves one connection until it ends or the listener stops.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    limits: Limits,
    desk: Desk,
    mut stopped: watch::Receiver<bool>,
) {
    // The place is kept as long as anything of the connection is there.
    let (line, _place) = (desk.line.clone(), Arc::clone(&desk.place));
    let stream = Stalling::new(stream, limits.write);
    let stream = Framed::new(stream, limits.head_bytes_max, line.turned.clone());
    let service = service_fn(move |request| {
        let desk = desk.clone();
        async move { Ok::<_, Infallible>(desk.answer(request).await) }
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        // More than a head may have, so that the HTTP library never refuses one itself.
        .max_buf_size((2 * limits.head_bytes_max).max(BUFFER_MIN))
        .max_headers(FIELDS_MAX)
        .keep_alive(limits.keep_alive)
        .serve_connection(TokioIo::new(stream), service);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = told(&mut stopped) => {
            std::pin::Pin::new(&mut connection).graceful_shutdown();
            (&mut connection).await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a local connection broke");
    }
    let mut stream = connection.into_parts().io.into_inner();
    if line.unread.load(Ordering::Relaxed) {
        stream.give_up();
    }
    let _left = tokio::time::timeout(limits.discard, stream.linger()).await;
}

#[cfg(test)]
mod tests {
    use std::future;

    use meshward_core::wire::http::Response;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        sync::mpsc,
        time::timeout,
    };

    use super::*;
    use crate::local::Asked;

    const ANSWER: Duration = Duration::from_millis(50);

    async fn answer(place: std::net::SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(place).await.unwrap();
        let head = format!("{line} HTTP/1.1\r\nhost: node\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn the_end_of_a_run_is_waited_for_beyond_the_limit_of_other_answers() {
        let (asked, mut inbox) = mpsc::channel::<Asked>(4);
        tokio::spawn(async move {
            let mut unanswered = Vec::new();
            while let Some(asked) = inbox.recv().await {
                if asked.request.path == "/v1/actions/run" {
                    let run = timeout(ANSWER * 8, future::pending::<()>());
                    assert!(run.await.is_err(), "it goes on");
                    drop(asked.reply.send(Response::empty(204).into()));
                } else {
                    unanswered.push(asked);
                }
            }
        });
        let limits = Limits { answer: ANSWER, ..socket::LIMITS };
        let door = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = door.local_addr().unwrap();
        let (_go_on, stopped) = watch::channel(false);
        tokio::spawn(listener(door, Hall::new(limits, None, asked), stopped));
        assert!(answer(place, "GET /v1/state").await.starts_with("HTTP/1.1 503 "));
        assert!(answer(place, "POST /v1/actions/run").await.starts_with("HTTP/1.1 204 "));
    }
}
