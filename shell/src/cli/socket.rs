//! The client's side of the local API: one request over the Unix socket.

use std::{io, path::Path, time::Duration};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Method, Request, body::Bytes, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use tokio::{net::UnixStream, time::timeout};

use super::{Code, Failed};

/// How long the agent may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest answer that is read, in bytes.
const ANSWER_MAX: usize = 32 << 20;

/// What the agent answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

/// What is asked of the agent.
#[derive(Debug)]
pub(super) struct Question {
    method: Method,
    path: String,
    body: Vec<u8>,
    /// The version that must be there.
    pub(super) if_match: Option<i64>,
}

impl Question {
    pub(super) const fn get(path: String) -> Self {
        Self { method: Method::GET, path, body: Vec::new(), if_match: None }
    }

    pub(super) const fn put(path: String, body: Vec<u8>) -> Self {
        Self { method: Method::PUT, path, body, if_match: None }
    }

    pub(super) const fn delete(path: String) -> Self {
        Self { method: Method::DELETE, path, body: Vec::new(), if_match: None }
    }

    fn request(self) -> hyper::http::Result<Request<Full<Bytes>>> {
        let mut request =
            Request::builder().method(self.method).uri(self.path).header(header::HOST, "localhost");
        if !self.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(version) = self.if_match {
            request = request.header(header::IF_MATCH, version);
        }
        request.body(Full::from(self.body))
    }
}

/// Asks the agent and waits for its answer.
pub(super) fn ask(socket: &Path, question: Question) -> Result<Answer, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failed::new(Code::Failed, error.to_string()))?;
    runtime.block_on(async {
        match timeout(TIMEOUT, exchange(socket, question)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(unreachable(socket, &error.to_string(), mend(&error))),
            Err(_) => Err(unreachable(socket, "it does not answer", "look at its log")),
        }
    })
}

fn mend(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied {
        "join the group meshward, or ask as the user of the agent"
    } else {
        "start it with `meshward run`, or name the socket of one that runs with --socket"
    }
}

fn unreachable(socket: &Path, cause: &str, mend: &str) -> Failed {
    let text = format!("no agent on the socket {}: {cause}; {mend}", socket.display());
    Failed::new(Code::Unreachable, text)
}

async fn exchange(socket: &Path, question: Question) -> io::Result<Answer> {
    let stream = UnixStream::connect(socket).await?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let connection = tokio::spawn(connection);
    let request = question.request().map_err(io::Error::other)?;
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), ANSWER_MAX)
        .collect()
        .await
        .map_err(io::Error::other)?
        .to_bytes();
    connection.abort();
    Ok(Answer { status, body })
}
