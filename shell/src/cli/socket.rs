//! The client's side of the local API: one request over the Unix socket.

use std::{
    fs, io,
    os::unix::fs::FileTypeExt as _,
    path::Path,
    time::{Duration, Instant},
};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Method, Request, body::Bytes, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use tokio::{
    net::UnixStream,
    time::{sleep, timeout},
};

use super::{Code, Failed, refused::About};
use crate::config::duration;

/// How long the agent may take to answer, from the first try to connect to the last byte.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a command tries on while a busy agent has no place for it.
const BUSY_MAX: Duration = Duration::from_secs(3);

/// How long it rests between two tries.
const BUSY_REST: Duration = Duration::from_millis(50);

/// The longest answer that is read, in bytes.
const ANSWER_MAX: usize = 32 << 20;

/// What the agent answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The wait that it asks for, in seconds.
    pub(super) retry_after: Option<u64>,
    pub(super) body: Bytes,
}

/// What is asked of the agent.
#[derive(Debug)]
pub(super) struct Question {
    method: Method,
    path: String,
    body: Bytes,
    /// The version that must be there.
    pub(super) if_match: Option<i64>,
    /// What it is about, for the words of a refusal.
    pub(super) about: About,
}

impl Question {
    pub(super) const fn get(path: String) -> Self {
        Self { method: Method::GET, path, body: Bytes::new(), if_match: None, about: About::All }
    }

    pub(super) fn put(path: String, body: Vec<u8>) -> Self {
        Self { method: Method::PUT, path, body: body.into(), if_match: None, about: About::All }
    }

    pub(super) fn post(path: String, body: Vec<u8>) -> Self {
        Self { method: Method::POST, path, body: body.into(), if_match: None, about: About::All }
    }

    pub(super) const fn delete(path: String) -> Self {
        Self { method: Method::DELETE, path, body: Bytes::new(), if_match: None, about: About::All }
    }

    pub(super) fn about(mut self, about: About) -> Self {
        self.about = about;
        self
    }

    /// Whether it can be asked again without changing anything.
    fn is_read(&self) -> bool {
        self.method == Method::GET
    }

    fn request(&self) -> hyper::http::Result<Request<Full<Bytes>>> {
        let mut request = Request::builder()
            .method(&self.method)
            .uri(&self.path)
            .header(header::HOST, "localhost");
        if !self.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(version) = self.if_match {
            request = request.header(header::IF_MATCH, version);
        }
        request.body(Full::from(self.body.clone()))
    }
}

/// Why there is no answer.
#[derive(Debug)]
enum Lost {
    /// Nobody listens, or not to this user.
    Absent(io::Error),
    /// The queue of those that wait for a place is full.
    Crowded,
    /// The connection was closed before an answer began, as it is where every place is taken.
    Closed,
    /// What answers speaks no HTTP.
    Foreign(hyper::Error),
    /// The answer began, and did not end.
    Broken(String),
    Silent(Duration),
    /// Nothing was asked.
    Unasked(String),
}

impl Lost {
    /// What the user is told: the agent was found but is too busy, or none answers.
    fn failed(self, socket: &Path, question: &Question) -> Failed {
        let place = socket.display();
        let found = |text: String| Failed::new(Code::Failed, text);
        let none = |text: String| Failed::new(Code::Unreachable, text);
        match self {
            Self::Absent(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                none(format!("the socket {place} cannot be opened by this user: {error}; {RIGHTS}"))
            }
            Self::Absent(error) => {
                none(format!("no agent on the socket {place}: {error}; {}", mend(socket, &error)))
            }
            Self::Crowded => found(format!(
                "the agent on the socket {place} is busy: more programs wait for it than its queue holds; {LATER}"
            )),
            Self::Closed if question.is_read() => found(format!(
                "the agent on the socket {place} is busy or stops: it closes connections without an answer; {LATER}"
            )),
            Self::Closed => found(format!(
                "the agent on the socket {place} is busy or stops: it closed the connection without an answer, and \
                 may have done what was asked; look at it, then {LATER}"
            )),
            Self::Foreign(error) => none(format!(
                "what answers on the socket {place} is no agent: {error}; name the socket of one with --socket"
            )),
            Self::Broken(cause) => {
                found(format!("the answer of the agent on the socket {place} broke off: {cause}"))
            }
            Self::Silent(limit) => none(format!(
                "the agent on the socket {place} does not answer within {}; look at its log",
                duration::text(limit)
            )),
            Self::Unasked(cause) => found(format!("nothing can be asked: {cause}")),
        }
    }
}

/// What helps a user to whom the socket is closed, behind which an agent may run or not.
const RIGHTS: &str =
    "join the group meshward, or ask as the user of the agent; whether one runs there is not known";

/// What helps against a busy agent.
const LATER: &str = "try again later, or look at its log";

fn mend(socket: &Path, error: &io::Error) -> &'static str {
    let found = fs::metadata(socket).map(|found| found.file_type());
    match found {
        // The only fault that a path has by itself.
        _ if error.kind() == io::ErrorKind::InvalidInput => {
            "the path is too long for a socket, which takes 107 bytes: name a shorter one, such as that of a link to \
             its folder"
        }
        Ok(kind) if kind.is_dir() => {
            "that is a folder: name the socket in it, which is usually api.sock"
        }
        Ok(kind) if !kind.is_socket() => "that is no socket: name the one of a running agent",
        Ok(_) | Err(_) => {
            "start it with `meshward run`, or name the socket of one that runs with --socket"
        }
    }
}

/// Asks the agent and waits for its answer, both within the limit.
pub(super) fn ask(socket: &Path, question: &Question, limit: Duration) -> Result<Answer, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Lost::Unasked(error.to_string()).failed(socket, question))?;
    let answered = runtime.block_on(async {
        let patience = BUSY_MAX.min(limit / 2);
        timeout(limit, patient(socket, question, patience))
            .await
            .unwrap_or(Err(Lost::Silent(limit)))
    });
    answered.map_err(|lost| lost.failed(socket, question))
}

/// Tries again for a while where an agent has no place; a change only where it surely has not seen it.
async fn patient(socket: &Path, question: &Question, patience: Duration) -> Result<Answer, Lost> {
    let until = Instant::now() + patience;
    loop {
        let lost = match exchange(socket, question).await {
            Err(lost @ Lost::Crowded) => lost,
            Err(lost @ Lost::Closed) if question.is_read() => lost,
            done => return done,
        };
        if Instant::now() >= until {
            return Err(lost);
        }
        sleep(BUSY_REST).await;
    }
}

async fn exchange(socket: &Path, question: &Question) -> Result<Answer, Lost> {
    let request = question.request().map_err(|error| Lost::Unasked(error.to_string()))?;
    let stream = UnixStream::connect(socket).await.map_err(unconnected)?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(unanswered)?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(unanswered)?;
    let status = response.status().as_u16();
    let wait = response.headers().get(header::RETRY_AFTER).and_then(|wait| wait.to_str().ok());
    let retry_after = wait.and_then(|wait| wait.parse().ok());
    let body = Limited::new(response.into_body(), ANSWER_MAX)
        .collect()
        .await
        .map_err(|error| Lost::Broken(error.to_string()))?
        .to_bytes();
    connection.abort();
    Ok(Answer { status, retry_after, body })
}

/// A full queue is told at once, as it is never waited for.
fn unconnected(error: io::Error) -> Lost {
    match error.kind() == io::ErrorKind::WouldBlock {
        true => Lost::Crowded,
        false => Lost::Absent(error),
    }
}

fn unanswered(error: hyper::Error) -> Lost {
    if error.is_parse() { Lost::Foreign(error) } else { Lost::Closed }
}
