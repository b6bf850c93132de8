//! The one way from a request to its answer: judged by its head, its body read within the limits, asked, answered.

use std::{sync::Arc, time::Duration};

use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited};
use hyper::{
    Request as HttpRequest, Response as HttpResponse, StatusCode,
    body::{Body as _, Bytes, Incoming},
    header::{CONNECTION, HeaderName, HeaderValue},
};
use meshward_core::{
    agent::{Caller, Door, TcpSettings, local::head},
    duration,
    secret::Secret,
    wire::http::{Body, Headers, Request, Response},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    time::timeout,
};

use super::{
    Asked, Reply,
    crowd::{Place, Work},
    framed,
    serve::{Limits, Line},
    watch::Events,
};

/// How many bytes the answers of one listener may hold that their readers have not taken yet; for an answer beyond
/// that the agent is busy.
const ANSWERS_MAX: usize = 64 << 20;

/// How many bytes the bodies of one listener may hold that are being read or judged; for one beyond that the agent is
/// busy.
const BODIES_MAX: usize = 64 << 20;

/// How long the end of a run is waited for: the agent ends it before, as no setting lets one go on for longer.
const RUN_MAX: Duration = duration::DURATION_MAX;

/// What all connections of a listener share: who may ask, where requests go, the room of their bodies and answers.
#[derive(Clone)]
pub(super) struct Hall {
    pub(super) limits: Limits,
    tcp: Option<Arc<TcpSettings>>,
    asked: mpsc::Sender<Asked>,
    answers: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
}

impl Hall {
    pub(super) fn new(
        limits: Limits,
        tcp: Option<TcpSettings>,
        asked: mpsc::Sender<Asked>,
    ) -> Self {
        let room = |bytes| Arc::new(Semaphore::new(bytes));
        let (answers, bodies) = (room(ANSWERS_MAX), room(BODIES_MAX));
        Self { limits, tcp: tcp.map(Arc::new), asked, answers, bodies }
    }

    /// What a peer is told while the agent cannot answer.
    fn busy(&self) -> Sent {
        sent(match self.limits.door {
            Door::Health => Response {
                status: 503,
                headers: Headers::new().with("content-type", "text/plain; charset=utf-8"),
                body: b"not ready: agent busy\n".to_vec(),
                hidden: None,
            },
            Door::Socket | Door::Tcp => Response::json(503, br#"{"error":"agent busy"}"#.to_vec()),
        })
    }
}

/// Where the requests of one connection are answered.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) hall: Hall,
    pub(super) caller: Caller,
    pub(super) place: Arc<Place>,
    pub(super) line: Line,
}

impl Desk {
    /// Answers one request; what it does not need of the body is not asked for, and ends the connection.
    pub(super) async fn answer(self, request: HttpRequest<Incoming>) -> Sent {
        let (tcp, door) = (self.hall.tcp.as_deref(), self.caller.door);
        if let Some(refused) = self.line.turned.next() {
            return last(sent(head::turned_away(tcp, door, &refused)));
        }
        let (parts, body) = request.into_parts();
        let request = framed::head(&parts);
        let (answer, is_read) = match head::read_max(tcp, door, &request) {
            Err(refused) => (sent(refused), body.is_end_stream()),
            Ok(max) => self.admitted(request, body, max).await,
        };
        if is_read {
            return answer;
        }
        self.line.leave_unread();
        last(answer)
    }

    /// Answers a request whose head was let through; and whether nothing of its body is left.
    async fn admitted(&self, mut request: Request, body: Incoming, max: usize) -> (Sent, bool) {
        let Hall { limits, bodies, .. } = &self.hall;
        let Some(mut read) = read(body, max, limits, bodies).await else {
            return (self.hall.busy(), false);
        };
        request.body = std::mem::replace(&mut read.body, Body::EMPTY);
        // A body that does not come is its sender's delay, and no work of the agent.
        let work = self.place.begin();
        let limit = match head::takes_long(self.caller.door, &request) {
            true => RUN_MAX,
            false => limits.answer,
        };
        let answered = timeout(limit, self.ask(request, work)).await;
        (answered.ok().flatten().unwrap_or_else(|| self.hall.busy()), read.is_whole)
    }

    /// `None` when the agent has stopped, or there is no room for its answer.
    async fn ask(&self, request: Request, work: Work) -> Option<Sent> {
        let (reply, answered) = oneshot::channel();
        let asked = Asked { caller: self.caller.clone(), request, reply };
        self.hall.asked.send(asked).await.ok()?;
        match answered.await.ok()? {
            Reply::Whole(response) => held(response, &self.hall.answers, work),
            Reply::Stream(feed) => {
                Some(written(&stream_head(), Either::Right(Events::new(feed, work))))
            }
        }
    }
}

/// What was read of a body, with the room that it takes.
struct Read {
    body: Body,
    /// Whether nothing of it is left to be read.
    is_whole: bool,
    _room: OwnedSemaphorePermit,
}

/// Reads a body of at most so many bytes, and nothing of one that says to have more; `None` when there is no room.
async fn read(
    body: Incoming,
    max: usize,
    limits: &Limits,
    bodies: &Arc<Semaphore>,
) -> Option<Read> {
    let announced = body.size_hint();
    let is_over = usize::try_from(announced.lower()).map_or(true, |length| length > max);
    let most = if is_over { 0 } else { u32::try_from(max).unwrap_or(u32::MAX) };
    let told = announced.upper().and_then(|length| u32::try_from(length).ok());
    let room = told.map_or(most, |told| told.min(most));
    let room = Arc::clone(bodies).try_acquire_many_owned(room).ok()?;
    let (body, is_whole) = match max {
        0 => (Body::EMPTY, body.is_end_stream()),
        _ if is_over => (Body::Oversized, false),
        _ => match timeout(limits.body, Limited::new(body, max).collect()).await {
            Ok(Ok(whole)) => (Body::Whole(whole.to_bytes().into()), true),
            Ok(Err(error)) if error.is::<LengthLimitError>() => (Body::Oversized, false),
            Ok(Err(_)) | Err(_) => (Body::Unreadable, false),
        },
    };
    Some(Read { body, is_whole, _room: room })
}

/// The body of an answer, with what it takes until it has been sent.
struct Held {
    body: Content,
    _room: OwnedSemaphorePermit,
    _work: Work,
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

/// An answer in the room that it takes; `None` when there is no room.
fn held(mut response: Response, answers: &Arc<Semaphore>, work: Work) -> Option<Sent> {
    let body = Content::take(&mut response);
    let bytes = u32::try_from(body.as_ref().len().min(ANSWERS_MAX)).unwrap_or(u32::MAX);
    let room = Arc::clone(answers).try_acquire_many_owned(bytes).ok()?;
    let body = Full::new(Bytes::from_owner(Held { body, _room: room, _work: work }));
    Some(written(&response, Either::Left(body)))
}

/// A short answer, for which nothing is kept: who does not take it is as idle as one that asks nothing.
fn sent(mut response: Response) -> Sent {
    let body = Bytes::from(std::mem::take(&mut response.body));
    written(&response, Either::Left(Full::new(body)))
}

/// Has the connection end with this answer.
fn last(mut answer: Sent) -> Sent {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

fn stream_head() -> Response {
    Response::empty(200).with("content-type", "text/event-stream").with("cache-control", "no-store")
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
