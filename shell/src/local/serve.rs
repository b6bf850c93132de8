//! One listener: connections are counted and timed, requests are turned into plain data and answered from the core.

use std::{convert::Infallible, fmt, io, sync::Arc, time::Duration};

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use meshward_core::{
    agent::Door,
    wire::http::{Body, Headers, Method, Request, Response},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, mpsc, oneshot, watch},
    task::{JoinHandle, JoinSet},
};
use tracing::{debug, warn};

use super::stall::Stalling;

/// The longest request body that is read, in bytes.
const BODY_MAX: usize = 64 * 1024;

/// The longest request head, in bytes; hyper takes no less.
const HEAD_MAX: usize = 8 * 1024;

/// The most connections at a time; one more is closed at once.
const CONNECTIONS_MAX: usize = 64;

/// How long a head may take, counted from the start of the connection or the end of the last request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a peer may leave an answer untaken.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the core may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause after a connection could not be taken, as when descriptors are used up.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A request of a co-located program; the answer goes into `reply`.
#[derive(Debug)]
pub struct Asked {
    pub door: Door,
    pub request: Request,
    pub reply: oneshot::Sender<Response>,
}

/// Takes connections of either kind.
pub(super) trait Listen: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// A listener at work.
pub struct Serving {
    stop: watch::Sender<bool>,
    /// Gone once it was found broken.
    accepting: Option<JoinHandle<JoinSet<()>>>,
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Serving")
    }
}

impl Serving {
    /// Begins to take connections; every request goes into `asked`.
    pub(super) fn begin(listener: impl Listen, door: Door, asked: mpsc::Sender<Asked>) -> Self {
        let (stop, stopped) = watch::channel(false);
        let accepting = tokio::spawn(accept(listener, Desk { door, asked }, stopped));
        Self { stop, accepting: Some(accepting) }
    }

    /// Takes no more connections, lets those that are being answered end, and breaks them off after a while. The core
    /// must go on answering meanwhile.
    pub async fn stop(mut self, within: Duration) {
        // The task holds the other side until it ends.
        let _ = self.stop.send(true);
        let accepting = self.accepting.take();
        let ended = tokio::time::timeout(within, async {
            if let Some(accepting) = accepting
                && let Ok(mut connections) = accepting.await
            {
                while connections.join_next().await.is_some() {}
            }
        });
        if ended.await.is_err() {
            debug!("some local connections did not end in time");
        }
    }

    /// Comes back only if the listener has broken down, which a stopping does not count as.
    pub async fn broken(&mut self) {
        if let Some(accepting) = &mut self.accepting {
            // Its connections, if any, are broken off here.
            drop(accepting.await);
            self.accepting = None;
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

async fn accept(
    mut listener: impl Listen,
    desk: Desk,
    mut stopped: watch::Receiver<bool>,
) -> JoinSet<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => return connections,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                warn!("a local connection cannot be taken: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let (desk, stopped) = (desk.clone(), stopped.clone());
        connections.spawn(async move {
            desk.attend(stream, stopped).await;
            drop(place);
        });
    }
}

/// Where requests are taken and answers given.
#[derive(Clone)]
struct Desk {
    door: Door,
    asked: mpsc::Sender<Asked>,
}

impl Desk {
    async fn attend(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        mut stopped: watch::Receiver<bool>,
    ) {
        let stream = TokioIo::new(Stalling::new(stream, WRITE_TIMEOUT));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(HEAD_MAX)
            .keep_alive(self.door == Door::Socket)
            .serve_connection(stream, service_fn(|request| self.answer(request)));
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = &mut connection => ended,
            _ = stopped.changed() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(door = ?self.door, "a local connection broke: {error}");
        }
    }

    async fn answer(
        &self,
        request: hyper::Request<Incoming>,
    ) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = read(body).await;
        let request = Request {
            method: Method::parse(head.method.as_str()),
            path: head.uri.path().to_owned(),
            query: head.uri.query().map(str::to_owned),
            headers: headers(&head.headers),
            body,
        };
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, self.ask(request)).await;
        Ok(written(answer.ok().flatten().unwrap_or_else(|| busy(self.door))))
    }

    /// Asks the core; `None` where it has ended.
    async fn ask(&self, request: Request) -> Option<Response> {
        let (reply, answer) = oneshot::channel();
        self.asked.send(Asked { door: self.door, request, reply }).await.ok()?;
        answer.await.ok()
    }
}

async fn read(body: Incoming) -> Body {
    match tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, BODY_MAX).collect()).await {
        Ok(Ok(whole)) => Body::Whole(whole.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Body::Oversized,
        Ok(Err(_)) | Err(_) => Body::Unreadable,
    }
}

fn headers(fields: &hyper::HeaderMap) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in fields {
        headers.push(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
    }
    headers
}

/// What a peer is told while the core cannot answer.
fn busy(door: Door) -> Response {
    match door {
        Door::Health => Response {
            status: 503,
            headers: Headers::new().with("content-type", "text/plain; charset=utf-8"),
            body: b"not ready: agent busy\n".to_vec(),
        },
        Door::Socket => Response::json(503, br#"{"error":"agent busy"}"#.to_vec()),
    }
}

fn written(response: Response) -> hyper::Response<Full<Bytes>> {
    let mut built = hyper::Response::builder().status(response.status);
    for (name, value) in response.headers.iter() {
        built = built.header(name, value);
    }
    built.body(Full::from(response.body)).unwrap_or_else(|error| {
        warn!("an answer to a local request cannot be written: {error}");
        let mut broken = hyper::Response::new(Full::default());
        *broken.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
        broken
    })
}
