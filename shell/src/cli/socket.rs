//! The client's side of the local API: one request over the Unix socket.

use std::{io, path::Path, time::Duration};

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{Request, body::Bytes, client::conn::http1, header};
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

/// Reads a route of the agent.
pub(super) fn get(socket: &Path, path: &str) -> Result<Answer, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failed::new(Code::Failed, error.to_string()))?;
    runtime.block_on(async {
        match timeout(TIMEOUT, exchange(socket, path)).await {
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

async fn exchange(socket: &Path, path: &str) -> io::Result<Answer> {
    let stream = UnixStream::connect(socket).await?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let connection = tokio::spawn(connection);
    let request = Request::get(path).header(header::HOST, "localhost").body(Empty::<Bytes>::new());
    let response =
        sender.send_request(request.map_err(io::Error::other)?).await.map_err(io::Error::other)?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), ANSWER_MAX)
        .collect()
        .await
        .map_err(io::Error::other)?
        .to_bytes();
    connection.abort();
    Ok(Answer { status, body })
}
