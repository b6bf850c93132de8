//! Connections of local clients: accepted up to a cap, head and body read within their limits, asked, answered.

use std::{
    collections::VecDeque, convert::Infallible, future::Future, io, sync::Arc, time::Duration,
};

use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited};
use hyper::{
    Request as HttpRequest, Response as HttpResponse, StatusCode,
    body::{Body as _, Bytes, Incoming},
    header::{HeaderName, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use meshward_core::{
    agent::{Caller, Door, Peer, local::body_max},
    secret::Secret,
    wire::http::{Body, Headers, Method, Request, Response},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc, oneshot, watch},
    task::{AbortHandle, JoinSet},
};
use tracing::{debug, warn};

use super::{Asked, Reply, peer, stall::Stalling, watch::Events};

/// What a listener allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) door: Door,
    /// Connections at once.
    pub(super) connections_max: usize,
    /// What happens to one more than that.
    pub(super) crowded: Crowded,
    /// From the first byte of a head to its last.
    pub(super) head: Duration,
    /// From the end of a head to the end of the body.
    pub(super) body: Duration,
    /// What the agent may take to answer.
    pub(super) answer: Duration,
    /// How long the peer may leave an answer untaken.
    pub(super) write: Duration,
    pub(super) head_bytes_max: usize,
    pub(super) keep_alive: bool,
}

/// Who has to go when there is no room for one more connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crowded {
    /// The one that comes.
    RefuseNewest,
    /// The one that came first: where every answer is given at once, it is the one that asks nothing.
    DropOldest,
}

/// How long accepting rests when the system is out of descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(100);

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

/// The socket, with the group whose members may read secrets.
pub(super) struct Guarded {
    pub(super) listener: UnixListener,
    pub(super) secret_group: Option<String>,
}

impl Accept for Guarded {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<(UnixStream, Option<Peer>)> {
        let (stream, _) = self.listener.accept().await?;
        let peer = peer::of(&stream, self.secret_group.as_deref());
        Ok((stream, peer))
    }
}

/// Accepts until stopped; over the cap, a connection is closed at once.
pub(super) async fn listener(
    listener: impl Accept,
    limits: Limits,
    asked: mpsc::Sender<Asked>,
    mut stopped: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(limits.connections_max));
    let answers = Arc::new(Semaphore::new(ANSWERS_MAX));
    let bodies = Arc::new(Semaphore::new(BODIES_MAX));
    let mut connections = JoinSet::new();
    let mut oldest = Oldest::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.next() => accepted,
            Some(_) = connections.join_next() => continue,
            () = told(&mut stopped) => break,
        };
        if limits.crowded == Crowded::DropOldest && room.available_permits() == 0 {
            oldest.cut();
        }
        let place = match limits.crowded {
            Crowded::RefuseNewest => Arc::clone(&room).try_acquire_owned(),
            // The one that was cut gives its place back as soon as its task has ended.
            Crowded::DropOldest => {
                Arc::clone(&room).acquire_owned().await.map_err(|_| TryAcquireError::Closed)
            }
        };
        match (accepted, place) {
            (Ok((stream, peer)), Ok(permit)) => {
                let caller = Caller { door: limits.door, peer };
                let (answers, bodies) = (Arc::clone(&answers), Arc::clone(&bodies));
                let desk = Desk { caller, asked: asked.clone(), answers, bodies };
                let served = connection(stream, limits, desk, stopped.clone());
                let handle = connections.spawn(async move {
                    served.await;
                    drop(permit);
                });
                if limits.crowded == Crowded::DropOldest {
                    oldest.note(handle);
                }
            }
            (Ok(_), Err(_)) => {
                debug!(door = ?limits.door, "no room for another connection; it is closed")
            }
            (Err(error), _) => {
                warn!(%error, door = ?limits.door, "a local connection cannot be accepted");
                tokio::time::sleep(ACCEPT_REST).await;
            }
        }
    }
    // Whoever comes now is refused instead of being left waiting.
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The open connections in the order they came.
#[derive(Debug, Default)]
struct Oldest(VecDeque<AbortHandle>);

impl Oldest {
    fn note(&mut self, connection: AbortHandle) {
        self.0.retain(|known| !known.is_finished());
        self.0.push_back(connection);
    }

    fn cut(&mut self) {
        while let Some(oldest) = self.0.pop_front() {
            if !oldest.is_finished() {
                return oldest.abort();
            }
        }
    }
}

/// Waits until the listeners are told to stop, or are gone.
async fn told(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Serves one connection until it ends or the listener stops.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    limits: Limits,
    desk: Desk,
    mut stopped: watch::Receiver<bool>,
) {
    let service = service_fn(move |request| {
        let desk = desk.clone();
        async move { Ok::<_, Infallible>(answer(request, limits, desk).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes_max.max(HYPER_BUFFER_MIN))
        .keep_alive(limits.keep_alive)
        .serve_connection(TokioIo::new(Stalling::new(stream, limits.write)), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = told(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a local connection broke");
    }
}

/// The longest body of a probe, in bytes.
const HEALTH_BODY_MAX: usize = 1 << 10;

/// The smallest buffer that hyper takes.
const HYPER_BUFFER_MIN: usize = 8192;

/// How many bytes the answers of one listener may hold that their readers have not taken yet; for an answer beyond
/// that the agent is busy.
const ANSWERS_MAX: usize = 64 << 20;

/// How many bytes the bodies of one listener may hold that are being read or judged; for one beyond that the agent is
/// busy.
const BODIES_MAX: usize = 64 << 20;

/// Who asks over a connection, where the requests go, and the room that their bodies and answers share.
#[derive(Clone)]
struct Desk {
    caller: Caller,
    asked: mpsc::Sender<Asked>,
    answers: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
}

/// The body of an answer, with the room that it takes until it has been sent.
struct Held {
    body: Content,
    _room: OwnedSemaphorePermit,
}

/// What an answer holds; a secret is zeroed once it has been sent, or will never be.
enum Content {
    Open(Vec<u8>),
    Hidden(Secret<Vec<u8>>),
}

impl Content {
    fn take(response: &mut Response) -> Self {
        match response.hidden.take() {
            Some(secret) => Self::Hidden(secret),
            None => Self::Open(std::mem::take(&mut response.body)),
        }
    }
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Open(bytes) => bytes,
            Self::Hidden(secret) => secret.expose(),
        }
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.body.as_ref()
    }
}

/// What an answer is sent as.
type Sent = HttpResponse<Either<Full<Bytes>, Events>>;

async fn answer(request: HttpRequest<Incoming>, limits: Limits, desk: Desk) -> Sent {
    let reading = read(request, limits, &desk.bodies).await;
    let answered = async {
        let (request, _room) = reading?;
        match ask(request, desk.caller, desk.asked).await? {
            Reply::Whole(response) => held(response, desk.answers),
            Reply::Stream(feed) => Some(written(&stream_head(), Either::Right(Events::new(feed)))),
        }
    };
    match tokio::time::timeout(limits.answer, answered).await {
        Ok(Some(answer)) => answer,
        Ok(None) | Err(_) => {
            let mut response = busy(limits.door);
            let body = Bytes::from(std::mem::take(&mut response.body));
            written(&response, Either::Left(Full::new(body)))
        }
    }
}

/// An answer in the room that it takes; `None` when there is no room.
fn held(mut response: Response, answers: Arc<Semaphore>) -> Option<Sent> {
    let body = Content::take(&mut response);
    let bytes = u32::try_from(body.as_ref().len().min(ANSWERS_MAX)).unwrap_or(u32::MAX);
    let room = answers.try_acquire_many_owned(bytes).ok()?;
    let body = Full::new(Bytes::from_owner(Held { body, _room: room }));
    Some(written(&response, Either::Left(body)))
}

fn stream_head() -> Response {
    Response::empty(200).with("content-type", "text/event-stream").with("cache-control", "no-store")
}

/// `None` when the agent has stopped.
async fn ask(request: Request, caller: Caller, asked: mpsc::Sender<Asked>) -> Option<Reply> {
    let (reply, answered) = oneshot::channel();
    asked.send(Asked { caller, request, reply }).await.ok()?;
    answered.await.ok()
}

/// What a peer is told while the agent cannot answer.
fn busy(door: Door) -> Response {
    match door {
        Door::Health => Response {
            status: 503,
            headers: Headers::new().with("content-type", "text/plain; charset=utf-8"),
            body: b"not ready: agent busy\n".to_vec(),
            hidden: None,
        },
        Door::Socket | Door::Tcp => Response::json(503, br#"{"error":"agent busy"}"#.to_vec()),
    }
}

/// Reads a request with the room that its body takes; `None` when there is no room.
async fn read(
    request: HttpRequest<Incoming>,
    limits: Limits,
    bodies: &Arc<Semaphore>,
) -> Option<(Request, OwnedSemaphorePermit)> {
    let (head, body) = request.into_parts();
    let mut headers = Headers::new();
    for (name, value) in &head.headers {
        headers.push_bytes(name.as_str(), value.as_bytes());
    }
    let method = Method::parse(head.method.as_str());
    let length_max = match limits.door {
        Door::Health => HEALTH_BODY_MAX,
        Door::Socket | Door::Tcp => body_max(method, head.uri.path()),
    };
    let told = body.size_hint().upper().and_then(|length| u32::try_from(length).ok());
    let length = u32::try_from(length_max).unwrap_or(u32::MAX);
    let room = told.map_or(length, |told| told.min(length));
    let room = Arc::clone(bodies).try_acquire_many_owned(room).ok()?;
    let whole = Limited::new(body, length_max).collect();
    let body = match tokio::time::timeout(limits.body, whole).await {
        Ok(Ok(whole)) => Body::Whole(whole.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Body::Oversized,
        Ok(Err(_)) | Err(_) => Body::Unreadable,
    };
    let (path, query) = (head.uri.path().to_owned(), head.uri.query().map(str::to_owned));
    Some((Request { method, path, query, headers, body }, room))
}

fn written(response: &Response, body: Either<Full<Bytes>, Events>) -> Sent {
    let mut written = HttpResponse::new(body);
    *written.status_mut() =
        StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in response.headers.iter() {
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
        {
            written.headers_mut().append(name, value);
        }
    }
    written
}
