//! The listeners of an agent over a core that tells what it was asked.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use meshward_core::{
    agent::{Door, TcpSettings},
    secret::Secret,
    wire::http::{Body, Response},
};
use meshward_shell::{
    config::ListenAddress,
    local::{self, Addresses, Asked, Inlet, Listeners, Tcp},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
    sync::mpsc,
    time::timeout,
};

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Longer than anything takes that is done at once, and shorter than every limit of a listener.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(4);

/// The header field of whoever may ask by TCP.
pub(crate) const BEARER: &str = "Authorization: Bearer sixteen-bytes-of-token\r\n";

/// The connections that the TCP listener has at once.
pub(crate) const TCP_MAX: usize = 64;

pub(crate) struct Scene {
    _folder: TempDir,
    _listeners: Listeners,
    pub(crate) socket: PathBuf,
    pub(crate) tcp: SocketAddr,
    health: SocketAddr,
}

impl Scene {
    /// Opens every listener; requests go there.
    pub(crate) async fn over(asked: mpsc::Sender<Asked>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("api.sock");
        let token = Secret::new("sixteen-bytes-of-token".to_owned());
        let settings = TcpSettings::new(&token, String::new());
        let listen = ListenAddress::parse("127.0.0.1:0").unwrap();
        let addresses = Addresses {
            socket: socket.clone(),
            group: local::GROUP.to_owned(),
            secret_group: None,
            tcp: Some(Tcp { listen: listen.clone(), settings }),
            health: Some(listen),
        };
        let to = Inlet { asked, facts: mpsc::channel(1).0 };
        let listeners = local::listen(&addresses, &to).await.unwrap();
        let (tcp, health) = (listeners.tcp().unwrap(), listeners.health().unwrap());
        Self { _folder: folder, _listeners: listeners, socket, tcp, health }
    }

    /// Over a core that answers at once with what it was asked.
    pub(crate) async fn telling() -> Self {
        let (asked, mut inbox) = mpsc::channel::<Asked>(local::ASKED_MAX);
        tokio::spawn(async move {
            while let Some(asked) = inbox.recv().await {
                let response = told(&asked);
                // The peer may be gone.
                drop(asked.reply.send(response.into()));
            }
        });
        Self::over(asked).await
    }

    /// Sends bytes to a door and reads until it says no more.
    pub(crate) async fn exchange(&self, door: Door, bytes: &[u8]) -> String {
        match door {
            Door::Socket => exchange(self.unix().await, bytes).await,
            Door::Tcp => exchange(self.tcp().await, bytes).await,
            Door::Health => exchange(self.probe().await, bytes).await,
        }
    }

    pub(crate) async fn unix(&self) -> UnixStream {
        UnixStream::connect(&self.socket).await.unwrap()
    }

    pub(crate) async fn probe(&self) -> TcpStream {
        TcpStream::connect(self.health).await.unwrap()
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.tcp).await.unwrap()
    }
}

/// What was asked, as JSON whatever it was.
pub(crate) fn told(asked: &Asked) -> Response {
    let length = match &asked.request.body {
        Body::Whole(bytes) => bytes.len().to_string(),
        Body::Oversized => "oversized".to_owned(),
        Body::Unreadable => "unreadable".to_owned(),
    };
    let told = format!("{{\"path\":\"{}\",\"body\":\"{length}\"}}", asked.request.path);
    Response::json(200, told.into_bytes())
}

async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> String {
    // The other side may answer and close before it has taken everything.
    drop(stream.write_all(bytes).await);
    rest(stream).await
}

/// What still comes until the end.
pub(crate) async fn rest(mut stream: impl AsyncRead + Unpin) -> String {
    let mut text = Vec::new();
    // A connection that is cut off may end in a reset.
    drop(timeout(PATIENCE, stream.read_to_end(&mut text)).await.expect("an end in time"));
    String::from_utf8_lossy(&text).into_owned()
}

/// The next answer, whose body has a length; nothing is read behind it.
pub(crate) async fn next(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    let read = async {
        while !text.ends_with(b"\r\n\r\n") {
            text.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8_lossy(&text).to_ascii_lowercase();
        let told = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; told.map_or(0, |length| length.parse().unwrap())];
        stream.read_exact(&mut body).await.unwrap();
        text.extend(body);
    };
    timeout(AT_ONCE, read).await.expect("an answer at once");
    String::from_utf8(text).unwrap()
}

/// Whether the other end closes this connection at once.
pub(crate) async fn is_closed(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let mut byte = [0; 1];
    matches!(timeout(AT_ONCE, stream.read(&mut byte)).await, Ok(Ok(0) | Err(_)))
}

/// The statuses of the answers that came on a connection, in order.
pub(crate) fn statuses(text: &str) -> Vec<u16> {
    let line = |line: &str| line.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok();
    text.lines().filter_map(line).collect()
}
