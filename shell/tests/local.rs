//! The local listeners on real sockets: modes, takeovers, limits and the way of a request to the core and back.

#![expect(clippy::unwrap_used, reason = "a test ends where its setting cannot be made")]

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use meshward_core::{
    agent::Door,
    wire::http::{Body, Request, Response},
};
use meshward_shell::{
    config::ListenAddress,
    local::{self, Addresses, Asked, Inlet, ListenError, Listeners},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, UnixStream},
    sync::mpsc,
};

const LONG: Duration = Duration::from_secs(30);

/// A core that answers each request with what it saw.
fn core(answer: fn(&Asked) -> Response) -> Inlet {
    let (sender, mut inbox) = mpsc::channel::<Asked>(4);
    tokio::spawn(async move {
        while let Some(asked) = inbox.recv().await {
            let response = answer(&asked);
            // The peer may be gone.
            drop(asked.reply.send(response.into()));
        }
    });
    inlet(sender)
}

/// Requests go here, and whatever else there is to tell goes nowhere.
fn inlet(asked: mpsc::Sender<Asked>) -> Inlet {
    Inlet { asked, facts: mpsc::channel(1).0 }
}

fn echo(asked: &Asked) -> Response {
    let Request { method, path, query, headers, body } = &asked.request;
    let text = match body {
        Body::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Body::Oversized => "oversized".into(),
        Body::Unreadable => "unreadable".into(),
    };
    let seen = format!("{method:?} {path} {query:?} {:?} {text}", headers.first("x-one"));
    Response {
        body: seen.into_bytes(),
        ..Response::empty(200).with("x-door", door(asked.caller.door))
    }
}

const fn door(door: Door) -> &'static str {
    match door {
        Door::Health => "health",
        Door::Socket => "socket",
        Door::Tcp => "tcp",
    }
}

/// A folder and where the socket shall be in it, without a health listener.
fn place() -> (TempDir, Addresses) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("run/api.sock");
    (
        folder,
        Addresses {
            socket,
            group: local::GROUP.to_owned(),
            secret_group: None,
            tcp: None,
            health: None,
        },
    )
}

async fn open(place: &Addresses) -> Result<Listeners, ListenError> {
    local::listen(place, &core(echo)).await
}

async fn refused(place: &Addresses) -> ListenError {
    open(place).await.unwrap_err()
}

/// Opens a health listener, and a socket that nobody uses.
async fn health(listen: &str, to: Inlet) -> Result<(TempDir, Listeners), ListenError> {
    let (folder, place) = place();
    let place = Addresses { health: ListenAddress::parse(listen), ..place };
    assert!(place.health.is_some(), "{listen}");
    Ok((folder, local::listen(&place, &to).await?))
}

async fn health_echo() -> (TempDir, Listeners, SocketAddr) {
    let (folder, listeners) = health("127.0.0.1:0", core(echo)).await.unwrap();
    let address = listeners.health().unwrap();
    (folder, listeners, address)
}

/// Sends bytes and reads until the other end closes.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &[u8]) -> String {
    stream.write_all(request).await.unwrap();
    let mut text = Vec::new();
    // A connection that is broken off may end in a reset.
    drop(stream.read_to_end(&mut text).await);
    String::from_utf8_lossy(&text).into_owned()
}

async fn over_tcp(address: SocketAddr, request: &[u8]) -> String {
    exchange(TcpStream::connect(address).await.unwrap(), request).await
}

async fn over_socket(path: &Path, request: &[u8]) -> String {
    exchange(UnixStream::connect(path).await.unwrap(), request).await
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[tokio::test]
async fn a_request_reaches_the_core_whole_and_its_answer_comes_back() {
    let (_folder, place) = place();
    let _listeners = open(&place).await.unwrap();
    let request = b"PUT /v1/state/report/a%62?x=%20y HTTP/1.1\r\nhost: h\r\nX-One: two\r\n\
                    content-length: 4\r\nconnection: close\r\n\r\nbody";
    let answer = over_socket(&place.socket, request).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\nx-door: socket\r\n"), "{answer}");
    let seen = r#"Put /v1/state/report/a%62 Some("x=%20y") Some("two") body"#;
    assert!(answer.ends_with(&format!("\r\n\r\n{seen}")), "{answer}");
}

#[tokio::test]
async fn the_socket_serves_one_request_after_another_and_the_health_address_one() {
    let (_run, place) = place();
    let _listeners = open(&place).await.unwrap();
    let two = b"GET /v1/peers HTTP/1.1\r\nhost: h\r\n\r\nGET /v1/state HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    assert_eq!(over_socket(&place.socket, two).await.matches("200 OK").count(), 2);
    let (_folder, _listeners, address) = health_echo().await;
    let answer = over_tcp(address, two).await;
    assert_eq!(answer.matches("200 OK").count(), 1, "{answer}");
    assert!(answer.contains("x-door: health") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn a_body_over_the_cap_is_told_to_the_core_as_oversized() {
    let (_folder, place) = place();
    let _listeners = open(&place).await.unwrap();
    for (length, seen) in [(1 << 20, "x"), ((1 << 20) + 1, "oversized")] {
        let mut request = format!(
            "PUT /v1/state/report/a HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        )
        .into_bytes();
        request.resize(request.len() + length, b'x');
        let answer = over_socket(&place.socket, &request).await;
        assert!(answer.ends_with(seen), "{length}");
    }
}

#[tokio::test]
async fn a_core_that_has_ended_is_told_as_busy() {
    let (sender, inbox) = mpsc::channel(1);
    drop(inbox);
    let (_folder, listeners) = health("127.0.0.1:0", inlet(sender.clone()).clone()).await.unwrap();
    let address = listeners.health().unwrap();
    let request = b"GET /v1/state HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    let answer = over_tcp(address, request).await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.ends_with("agent busy\n"), "{answer}");
    let (_folder, place) = place();
    let _listeners = local::listen(&place, &inlet(sender)).await.unwrap();
    let answer = over_socket(&place.socket, request).await;
    assert!(answer.contains("application/json"), "{answer}");
    assert!(answer.ends_with("{\"error\":\"agent busy\"}\n"), "{answer}");
}

#[tokio::test]
async fn a_head_that_never_ends_is_ended() {
    let (_folder, _listeners, address) = health_echo().await;
    let begun = Instant::now();
    over_tcp(address, b"GET / HTTP/1.1\r\nhost:").await;
    let waited = begun.elapsed();
    assert!(waited > Duration::from_secs(4) && waited < LONG, "{waited:?}");
}

#[tokio::test]
async fn a_probe_is_answered_while_idle_connections_take_every_place() {
    let (_folder, _listeners, address) = health_echo().await;
    let mut held = Vec::new();
    for _ in 0..80 {
        held.push(TcpStream::connect(address).await.unwrap());
    }
    let answer = over_tcp(address, b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let mut byte = [0; 1];
    let read = tokio::time::timeout(Duration::from_secs(4), held[0].read(&mut byte)).await;
    assert!(matches!(read, Ok(Ok(0) | Err(_))), "the oldest is not closed: {read:?}");
}

/// The resident memory of this process, in MiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[tokio::test]
async fn clients_that_read_nothing_share_a_bounded_memory() {
    let (_folder, place) = place();
    let large = |_: &Asked| Response { body: vec![b'x'; 1 << 20], ..Response::empty(200) };
    let _listeners = local::listen(&place, &core(large)).await.unwrap();
    let before = resident();
    let mut silent = Vec::new();
    for _ in 0..400 {
        let mut stream = UnixStream::connect(&place.socket).await.unwrap();
        stream.write_all(b"GET /v1/state HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        silent.push(stream);
    }
    let mut refused = 0;
    for stream in &mut silent {
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.unwrap();
        refused += usize::from(&first == b"HTTP/1.1 503");
    }
    assert!((1..400).contains(&refused), "{refused} are told that the agent is busy");
    let grown = resident().saturating_sub(before);
    assert!(grown < 200, "{grown} MiB for clients that read nothing");
}

#[tokio::test]
async fn the_socket_is_its_owners_alone_without_the_group_and_leaves_nothing_beside_it() {
    let (_folder, place) = place();
    let _listeners = open(&place).await.unwrap();
    let run = place.socket.parent().unwrap();
    assert_eq!((mode(&place.socket), mode(run)), (0o600, 0o755));
    assert!(fs::metadata(&place.socket).unwrap().file_type().is_socket());
    assert_eq!(fs::read_dir(run).unwrap().count(), 1);
}

#[tokio::test]
async fn a_live_socket_is_refused_and_a_stale_one_replaced() {
    let (_folder, place) = place();
    let listeners = open(&place).await.unwrap();
    assert!(matches!(refused(&place).await, ListenError::SocketInUse(_)));
    let request = b"GET /v1/state HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    assert!(over_socket(&place.socket, request).await.contains("200 OK"));
    listeners.close(LONG).await;
    assert!(!place.socket.exists(), "the socket is removed at the end");
    drop(std::os::unix::net::UnixListener::bind(&place.socket).unwrap());
    assert!(place.socket.exists(), "a stale socket");
    let _listeners = open(&place).await.unwrap();
    assert!(over_socket(&place.socket, request).await.contains("200 OK"));
}

#[tokio::test]
async fn the_end_of_one_agent_leaves_the_socket_of_its_successor() {
    let (_folder, place) = place();
    let first = open(&place).await.unwrap();
    fs::remove_file(&place.socket).unwrap();
    let _second = open(&place).await.unwrap();
    first.close(LONG).await;
    assert!(place.socket.exists());
}

#[tokio::test]
async fn what_is_no_socket_is_left_alone() {
    let (_folder, place) = place();
    fs::create_dir_all(place.socket.parent().unwrap()).unwrap();
    fs::write(&place.socket, "precious").unwrap();
    assert!(matches!(refused(&place).await, ListenError::NoSocket(_)));
    assert_eq!(fs::read_to_string(&place.socket).unwrap(), "precious");
    fs::remove_file(&place.socket).unwrap();
    std::os::unix::fs::symlink("elsewhere", &place.socket).unwrap();
    assert!(matches!(refused(&place).await, ListenError::NoSocket(_)));
}

#[tokio::test]
async fn a_path_that_no_socket_can_have_is_refused() {
    for path in ["/".into(), format!("/tmp/{}/api.sock", "x".repeat(100))] {
        let place = Addresses { socket: PathBuf::from(path), ..place().1 };
        assert!(matches!(refused(&place).await, ListenError::SocketPath(_)));
    }
}

#[tokio::test]
async fn nobody_else_can_reach_the_socket_while_it_is_made() {
    let (_folder, place) = place();
    let run = place.socket.parent().unwrap().to_owned();
    let (done, watching) = std::sync::mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        let mut seen = 0_u32;
        while watching.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            for entry in fs::read_dir(&run).into_iter().flatten().flatten() {
                // It may be gone between the two looks.
                let Ok(found) = fs::symlink_metadata(entry.path()) else { continue };
                assert_eq!(found.permissions().mode() & 0o077, 0, "{:?}", entry.file_name());
                seen += 1;
            }
        }
        seen
    });
    for _ in 0..300 {
        open(&place).await.unwrap().close(LONG).await;
    }
    done.send(()).unwrap();
    assert!(watcher.join().unwrap() > 0, "nothing was seen");
}

#[tokio::test]
async fn a_stop_lets_a_request_end_and_an_idle_connection_does_not_hold_it_up() {
    let (sender, mut inbox) = mpsc::channel::<Asked>(1);
    let (_folder, listeners) = health("127.0.0.1:0", inlet(sender)).await.unwrap();
    let address = listeners.health().unwrap();
    let idle = TcpStream::connect(address).await.unwrap();
    let asking = tokio::spawn(over_tcp(address, b"GET /x HTTP/1.1\r\nhost: h\r\n\r\n"));
    let asked = inbox.recv().await.unwrap();
    let begun = Instant::now();
    let stopping = tokio::spawn(listeners.close(LONG));
    while TcpStream::connect(address).await.is_ok() {
        assert!(begun.elapsed() < LONG, "connections are still taken");
    }
    asked.reply.send(Response::empty(204).into()).unwrap();
    assert!(asking.await.unwrap().starts_with("HTTP/1.1 204 "));
    stopping.await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
    drop(idle);
}

#[tokio::test]
async fn an_address_without_a_host_serves_both_families() {
    let (_folder, listeners) = health(":0", core(echo)).await.unwrap();
    let port = listeners.health().unwrap().port();
    let request = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n";
    assert!(over_tcp(([127, 0, 0, 1], port).into(), request).await.contains("200 OK"));
    if fs::exists("/proc/net/if_inet6").unwrap() {
        let loopback = SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), port);
        assert!(over_tcp(loopback, request).await.contains("200 OK"));
    }
}

#[tokio::test]
async fn a_busy_port_names_the_address_and_the_key() {
    let (_folder, _listeners, address) = health_echo().await;
    for listen in [address.to_string(), format!(":{}", address.port())] {
        let told = health(&listen, core(echo)).await.unwrap_err();
        assert!(matches!(told, ListenError::Health { .. }), "{told}");
        let told = told.to_string();
        assert!(told.contains("health.listen") && told.contains(&listen), "{told}");
    }
}
