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

use meshward_core::doctor::{Fares, Holder, Local, Place, Port, Socket, TcpToken, TokenSeen};

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

/// How much is read of the figures.
const FIGURES_MAX: u64 = 1 << 20;

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
    let local = &config.local_api;
    let path = local.socket_path.clone();
    let socket_path = path.display().to_string();
    let health = config.health.enabled.then(|| config.health.listen.clone());
    let tcp = local.http_enabled.then(|| local.http_listen.clone());
    let (socket, health, tcp) = tokio::join!(
        bounded("doctor socket", LOOK_MAX, move || socket(&path)),
        place("doctor health", health, ("/healthz", is_healthy)),
        place("doctor tcp", tcp, ("/v1/status", asks_for_a_token)),
    );
    Looked(Local { agent: Holder::Hidden, socket_path, socket, health, tcp })
}

/// The token of the TCP listener, where one is wanted.
pub(super) async fn token(config: &Config) -> Option<TcpToken> {
    let local = &config.local_api;
    let file = local.http_token_file.clone().filter(|_| local.http_enabled)?;
    let path = file.display().to_string();
    let seen = bounded("doctor token", LOOK_MAX, move || match local::token::look(&file) {
        Ok((_, weaknesses)) => TokenSeen::Usable { weaknesses },
        Err(error) => {
            TokenSeen::Refused { words: error.fault.to_string(), mend: error.fault.mend() }
        }
    });
    Some(TcpToken { path, seen: seen.await })
}

/// What an agent is asked for by TCP, and how its answer is known.
type Known = (&'static str, fn(&str) -> bool);

async fn place(work: &'static str, listen: Option<ListenAddress>, known: Known) -> Option<Place> {
    let listen = listen?;
    let at = listen.to_string();
    Some((at, bounded(work, LOOK_MAX, move || port(&listen, known)).await))
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

/// How the records for the local endpoint of a pipeline fare, by the figures of the agent.
pub(super) fn fares(socket: &Path, pipeline: &str) -> Fares {
    let answer = match at_socket(socket, "/metrics", FIGURES_MAX) {
        Ok(answer) => answer,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Fares::Closed,
        Err(error) => return Fares::Unasked(format!("no agent tells it ({error})")),
    };
    let count = |outcome: &str| {
        let labels = format!("{{pipeline=\"{pipeline}\",outcome=\"{outcome}\"}} ");
        let figure = |line: &str| {
            line.strip_prefix("meshward_local_records_total")?.strip_prefix(&labels)?.parse().ok()
        };
        answer.lines().find_map(figure)
    };
    match (count("delivered"), count("failed")) {
        (Some(delivered), Some(failed)) if is_answer(&answer) => {
            Fares::Counted { delivered, failed }
        }
        _ => Fares::Unasked("the agent does not tell it now".to_owned()),
    }
}

/// Whoever listens on this node at the port is in the way of the agent, or is the agent.
fn port(listen: &ListenAddress, (path, is_agents): Known) -> Port {
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
            .and_then(|()| asked(stream, path, ANSWER_MAX));
        let is_agent = answer.is_ok_and(|text| is_agents(&text));
        port = if is_agent { Port::Agent } else { Port::Other };
    }
    port
}

fn asked(mut stream: impl io::Read + io::Write, path: &str, max: u64) -> io::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.take(max).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_healthy(text: &str) -> bool {
    is_answer(text) && text.ends_with("\r\n\r\nok\n")
}

/// How the TCP listener answers who shows no token; whoever listens there is not given it.
fn asks_for_a_token(text: &str) -> bool {
    text.starts_with("HTTP/1.1 401 ") && text.trim_end().ends_with("{\"error\":\"unauthorized\"}")
}

fn is_answer(text: &str) -> bool {
    text.starts_with("HTTP/1.1 200 ")
}
