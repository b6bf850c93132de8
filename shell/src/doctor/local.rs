//! What the agent offers on this node, asked as its users ask.

use std::{
    fs,
    io::{self, Read as _},
    net::{SocketAddr, TcpStream, ToSocketAddrs as _},
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _},
        net::UnixStream,
    },
    path::Path,
    time::Duration,
};

use meshward_core::{
    doctor::{Holder, Local, Port, Secret, Socket},
    wire::json,
};
use serde::Deserialize;

use super::LOOK_MAX;
use crate::{
    actions::bounded::bounded,
    config::{Config, ListenAddress},
    local,
};

/// How long a byte may be waited for.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// How much of an answer is read whose status tells enough.
const ANSWER_MAX: u64 = 4096;

/// How much is read of a list.
const LIST_MAX: u64 = 1 << 20;

const GROUP_WRITE: u32 = 0o020;

/// What was seen, before it is known whether an agent runs.
#[derive(Debug)]
pub(super) struct Looked(Local);

impl Looked {
    pub(super) fn of(self, agent: Holder) -> Local {
        Local { agent, ..self.0 }
    }
}

pub(super) async fn look(config: &Config) -> Looked {
    let path = config.local_api.socket_path.clone();
    let listen = config.health.enabled.then(|| config.health.listen.clone());
    let (socket_path, health) =
        (path.display().to_string(), listen.as_ref().map(ToString::to_string));
    let socket = bounded("doctor socket", LOOK_MAX, move || socket(&path));
    let port = async {
        match listen {
            Some(listen) => bounded("doctor port", LOOK_MAX, move || port(&listen)).await,
            None => None,
        }
    };
    let (socket, port) = tokio::join!(socket, port);
    Looked(Local { agent: Holder::Hidden, socket_path, socket, health, port })
}

fn socket(path: &Path) -> Socket {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Socket::Absent,
        Err(error) => return silent(&error),
        Ok(found) if !found.file_type().is_socket() => return Socket::NoSocket,
        Ok(found) => found,
    };
    let answer = at_socket(path, "/v1/status", ANSWER_MAX);
    let group = local::group_id(local::GROUP);
    match answer {
        Ok(answer) if is_answer(&answer) => Socket::Answers {
            group: group == Some(found.gid()) && found.mode() & GROUP_WRITE != 0,
            has_group: group.is_some(),
        },
        Ok(_) => Socket::Silent("what answers is no agent".to_owned()),
        Err(error) => silent(&error),
    }
}

fn silent(error: &io::Error) -> Socket {
    let kind = error.kind();
    if kind == io::ErrorKind::PermissionDenied {
        return Socket::Closed(error.to_string());
    }
    match kind == io::ErrorKind::ConnectionRefused {
        true => Socket::Left,
        false => Socket::Silent(error.to_string()),
    }
}

fn at_socket(path: &Path, asked_for: &str, max: u64) -> io::Result<String> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(WAIT_MAX))?;
    stream.set_write_timeout(Some(WAIT_MAX))?;
    asked(stream, asked_for, max)
}

/// A secret as the agent lists it, without its value.
#[derive(Deserialize)]
struct Listed {
    key: String,
}

/// Whether the agent lists a secret of this name; its value is asked of nobody.
pub(super) fn secret(socket: &Path, key: &str) -> Secret {
    let answer = match at_socket(socket, "/v1/state/secrets", LIST_MAX) {
        Ok(answer) => answer,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Secret::Closed,
        Err(error) => return Secret::Unasked(format!("no agent lists any ({error})")),
    };
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).filter(|_| is_answer(&answer));
    match body.and_then(|body| json::decode_tolerant::<Vec<Listed>>(body.as_bytes()).ok()) {
        Some(listed) if listed.iter().any(|listed| listed.key == key) => Secret::Listed,
        Some(_) => Secret::Unlisted,
        None if answer.starts_with("HTTP/1.1 403 ") => Secret::Closed,
        None => Secret::Unasked("the agent does not list any now".to_owned()),
    }
}

/// Whoever listens on this node at the port is in the way of the agent, or is the agent.
fn port(listen: &ListenAddress) -> Port {
    let here = |address: SocketAddr| match address.ip() {
        ip if !ip.is_unspecified() => address,
        ip if ip.is_ipv4() => SocketAddr::from(([127, 0, 0, 1], address.port())),
        _ => SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], address.port())),
    };
    let mut port = Port::Free;
    let places = listen.candidates();
    for address in places.iter().filter_map(|place| place.to_socket_addrs().ok()).flatten() {
        let Ok(stream) = TcpStream::connect_timeout(&here(address), WAIT_MAX) else { continue };
        let answer = stream
            .set_read_timeout(Some(WAIT_MAX))
            .and_then(|()| stream.set_write_timeout(Some(WAIT_MAX)))
            .and_then(|()| asked(stream, "/healthz", ANSWER_MAX));
        let is_agent = answer.is_ok_and(|text| is_answer(&text) && text.ends_with("\r\n\r\nok\n"));
        port = if is_agent { Port::Agent } else { Port::Other };
    }
    port
}

fn asked(mut stream: impl io::Read + io::Write, path: &str, max: u64) -> io::Result<String> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.take(max).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_answer(text: &str) -> bool {
    text.starts_with("HTTP/1.1 200 ")
}
