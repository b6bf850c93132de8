//! Streams of events over real sockets, where the other end is no fixture: what the hands do of themselves, and what the
//! running agent makes of a server that sends anything.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use meshward_core::{
    agent::{Acted, CHUNK_MAX, Heard, Input, Listen},
    ids::CallId,
    wire::http::{Body, Headers, Method, Request},
};
use meshward_shell::{
    client::{Client, ClientSettings},
    stream::Streams,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    time::timeout,
};

use crate::{
    node::{PATIENCE, counter, fixture, until},
    stream::{configure, inject, metadatum, node, scope, until_mode, until_pulled},
};

const NAME: CallId = CallId(7);
const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

/// The hands alone, with the inbox of an agent that takes so much at once.
struct Line {
    streams: Streams,
    facts: mpsc::Receiver<Input>,
    server: TcpListener,
}

impl Line {
    async fn open(room: usize, limit: Duration) -> Self {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::new(&ClientSettings {
            url: format!("http://{}/prefix/", server.local_addr().unwrap()),
            ca_file: None,
            tls_insecure_skip_verify: false,
            connect_timeout: Duration::from_secs(10),
        })
        .unwrap();
        let (told, facts) = mpsc::channel(room);
        let mut line = Self { streams: Streams::new(told, client), facts, server };
        let request = Request {
            method: Method::Get,
            path: "/v1/nodes/n/events".into(),
            query: None,
            headers: Headers::new().with("authorization", "Bearer canary"),
            body: Body::EMPTY,
        };
        let order = Listen::Open { request, timeout: limit, answer_max: 1_000 };
        line.streams.begin(NAME, order);
        line
    }

    async fn accepted(&self) -> (TcpStream, String) {
        let (mut peer, _) = timeout(PATIENCE, self.server.accept()).await.unwrap().unwrap();
        let head = head(&mut peer).await;
        (peer, head)
    }

    async fn heard(&mut self) -> Heard {
        let fact = timeout(PATIENCE, self.facts.recv()).await.unwrap().unwrap();
        let Input::Acted(Acted::Heard { stream, heard, .. }) = fact else { panic!("{fact:?}") };
        assert_eq!(stream, NAME);
        heard
    }
}

/// Reads up to the end of a head.
async fn head(peer: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        assert!(peer.read_buf(&mut text).await.unwrap() > 0, "the head ends");
    }
    String::from_utf8(text).unwrap()
}

/// Waits until the other end has closed the connection.
async fn closed(peer: &mut TcpStream) {
    let mut rest = [0; 64];
    let read = timeout(PATIENCE, peer.read(&mut rest)).await.expect("it is broken off");
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
}

#[tokio::test]
async fn a_stream_is_told_from_its_head_to_its_end() {
    let mut line = Line::open(8, PATIENCE).await;
    let (mut peer, head) = line.accepted().await;
    assert!(head.starts_with("GET /prefix/v1/nodes/n/events HTTP/1.1\r\n"), "{head}");
    peer.write_all(HEAD).await.unwrap();
    match line.heard().await {
        Heard::Answered(response) => assert_eq!((response.status, response.body), (200, vec![])),
        other @ (Heard::Bytes(_) | Heard::Ended(_)) => panic!("{other:?}"),
    }
    peer.write_all(b": alive\n\n").await.unwrap();
    assert_eq!(
        line.heard().await,
        Heard::Bytes(meshward_core::agent::Bytes(b": alive\n\n".to_vec()))
    );
    drop(peer);
    assert_eq!(line.heard().await, Heard::Ended(None));
}

#[tokio::test]
async fn an_end_out_of_order_tells_its_cause_and_no_credential() {
    let mut line = Line::open(8, PATIENCE).await;
    let (mut peer, _) = line.accepted().await;
    let chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\nhalf";
    peer.write_all(chunked.as_bytes()).await.unwrap();
    drop(peer);
    assert!(matches!(line.heard().await, Heard::Answered(_)));
    let mut heard = line.heard().await;
    if let Heard::Bytes(bytes) = &heard {
        assert_eq!(bytes.0, b"half");
        heard = line.heard().await;
    }
    let Heard::Ended(Some(lost)) = heard else { panic!("{heard:?}") };
    assert!(lost.cause.contains("/prefix") && !lost.cause.contains("canary"), "{lost}");
}

#[tokio::test]
async fn a_head_that_does_not_come_in_time_ends_the_try() {
    let mut line = Line::open(8, Duration::from_millis(300)).await;
    let (mut peer, _) = line.accepted().await;
    let Heard::Ended(Some(lost)) = line.heard().await else { panic!("it has not ended") };
    assert!(lost.to_string().contains("no answer within the timeout"), "{lost}");
    closed(&mut peer).await;
}

#[tokio::test]
async fn of_an_error_as_much_is_told_as_comes_in_time_and_fits() {
    for (body, expected) in [("x".repeat(400), 400), ("x".repeat(5_000), 1_000)] {
        let mut line = Line::open(8, Duration::from_secs(2)).await;
        let (mut peer, _) = line.accepted().await;
        // It announces more than it ever sends.
        let answer = format!("HTTP/1.1 401 Unauthorized\r\nContent-Length: 9000\r\n\r\n{body}");
        peer.write_all(answer.as_bytes()).await.unwrap();
        let heard = line.heard().await;
        let Heard::Answered(response) = heard else { panic!("{heard:?}") };
        assert_eq!((response.status, response.body.len()), (401, expected));
        closed(&mut peer).await;
        drop(line.streams);
        assert!(line.facts.recv().await.is_none(), "nothing follows");
    }
}

#[tokio::test]
async fn a_close_breaks_a_stream_off_at_once_and_nothing_more_is_told() {
    for opens in [false, true] {
        let mut line = Line::open(8, Duration::from_secs(3600)).await;
        let (mut peer, _) = line.accepted().await;
        if opens {
            peer.write_all(HEAD).await.unwrap();
            assert!(matches!(line.heard().await, Heard::Answered(_)));
        }
        line.streams.begin(NAME, Listen::Close);
        closed(&mut peer).await;
        drop(line.streams);
        assert!(line.facts.recv().await.is_none());
    }
}

#[tokio::test]
async fn whoever_floods_a_stream_waits_for_the_agent_and_loses_nothing() {
    const WHOLE: usize = 64 << 20;
    let mut line = Line::open(1, PATIENCE).await;
    let (mut peer, _) = line.accepted().await;
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let flood = tokio::spawn(async move {
        peer.write_all(HEAD).await.unwrap();
        let piece = vec![b'x'; 256 << 10];
        for _ in 0..WHOLE / piece.len() {
            peer.write_all(&piece).await.unwrap();
            count.fetch_add(piece.len(), Ordering::Relaxed);
        }
    });
    // Until nothing moves any more, as nobody takes what is told.
    let (mut seen, mut still) = (0, 0);
    until("the flood is held up", || {
        let now = written.load(Ordering::Relaxed);
        still = if now == seen && now > 0 { still + 1 } else { 0 };
        seen = now;
        still > 50
    })
    .await;
    assert!(seen < WHOLE / 2, "{seen} bytes were taken from it");
    assert!(matches!(line.heard().await, Heard::Answered(_)));
    let mut taken = 0;
    loop {
        match line.heard().await {
            Heard::Bytes(bytes) => {
                assert!(!bytes.0.is_empty() && bytes.0.len() <= CHUNK_MAX);
                taken += bytes.0.len();
            }
            Heard::Ended(lost) => break assert_eq!(lost, None),
            other @ Heard::Answered(_) => panic!("{other:?}"),
        }
    }
    flood.await.unwrap();
    assert_eq!(taken, WHOLE);
}

/// What stands between the agent and its control plane does with a request for the stream.
#[derive(Clone, Debug)]
enum Way {
    Through,
    /// Through, a byte at a time.
    Slowly,
    /// Answered with this, then held open until the agent goes, or the way is another.
    Instead(&'static [u8]),
    /// This again and again, behind a head.
    Endless(&'static [u8]),
}

/// Stands between the agent and its control plane.
struct Between {
    url: String,
    way: watch::Sender<Way>,
    /// The heads of the requests for streams.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Between {
    async fn new(plane: std::net::SocketAddr) -> Self {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", server.local_addr().unwrap());
        let (way, ways) = watch::channel(Way::Through);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((peer, _)) = server.accept().await {
                let (ways, heads) = (ways.clone(), Arc::clone(&heads));
                tokio::spawn(async move { carry(peer, plane, ways, heads).await });
            }
        });
        Self { url, way, asked }
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// One request a connection; whatever ends, ends it.
async fn carry(
    mut peer: TcpStream,
    plane: std::net::SocketAddr,
    mut ways: watch::Receiver<Way>,
    heads: Arc<Mutex<Vec<String>>>,
) {
    let mut text = Vec::new();
    while !text.windows(4).any(|end| end == b"\r\n\r\n") {
        if peer.read_buf(&mut text).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let line = String::from_utf8_lossy(&text).into_owned();
    let is_stream = line.lines().next().is_some_and(|line| line.contains("/events "));
    let way = ways.borrow_and_update().clone();
    if is_stream {
        heads.lock().unwrap().push(line);
    }
    let way = if is_stream { way } else { Way::Through };
    match way {
        Way::Instead(bytes) => {
            let _ = peer.write_all(bytes).await;
            let mut rest = [0; 64];
            tokio::select! {
                _ = peer.read(&mut rest) => {}
                _ = ways.changed() => {}
            }
        }
        Way::Endless(bytes) => {
            if peer.write_all(HEAD).await.is_err() {
                return;
            }
            while !ways.has_changed().unwrap_or(true) && peer.write_all(bytes).await.is_ok() {}
        }
        Way::Through | Way::Slowly => {
            let Ok(mut plane) = TcpStream::connect(plane).await else { return };
            let front = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
            let _ = plane.write_all(&text[..front]).await;
            let _ = plane.write_all(b"Connection: close\r\n").await;
            let _ = plane.write_all(&text[front..]).await;
            if matches!(way, Way::Through) {
                let _ = copy_bidirectional(&mut peer, &mut plane).await;
                return;
            }
            let _ = peer.set_nodelay(true);
            let mut byte = [0];
            while plane.read_exact(&mut byte).await.is_ok() && peer.write_all(&byte).await.is_ok() {
                tokio::task::yield_now().await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_node_outlives_whatever_a_server_sends_in_the_place_of_a_stream() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let redirect = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{}/v1/events\r\nContent-Length: 0\r\n\r\n",
        elsewhere.local_addr().unwrap()
    );
    let rows: [(&str, Way); 13] = [
        ("garbage", Way::Instead(b"\x00\xff\x16\x03\x01 what is this\r\n\r\n")),
        ("nothing", Way::Instead(b"")),
        ("half a head", Way::Instead(b"HTTP/1.1 200 OK\r\nContent-Ty")),
        ("204", Way::Instead(b"HTTP/1.1 204 No Content\r\n\r\n")),
        ("a redirect", Way::Instead(redirect.leak().as_bytes())),
        (
            "a page",
            Way::Instead(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<html",
            ),
        ),
        ("silence behind the head", Way::Instead(HEAD)),
        ("an endless line", Way::Endless(&[b'x'; 4096])),
        ("endless frames of nothing", Way::Endless(b"\n\n\n\n\n\n\n\n")),
        ("endless comments", Way::Endless(b": alive\n\n")),
        ("endless data", Way::Endless(b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n")),
        (
            "forged frames without end",
            Way::Endless(b"id: 1\nevent: rotate_keys\ndata: {\"id\":\"x\"}\n\n"),
        ),
        ("returns alone", Way::Endless(b"id: 5\rdata: {}\r\r")),
    ];
    let plane = fixture().await;
    let between = Between::new(plane.addr()).await;
    let node = node(&between.url);
    let _agent = node.start();
    until_mode(&node, "streaming").await;
    for (name, way) in rows {
        let asked = between.asked();
        between.way.send_replace(way);
        // What is open ends with the control plane's end of it.
        scope(&plane, "descoped");
        scope(&plane, "streaming");
        until(&format!("{name} is met"), || between.asked() > asked).await;
        until(&format!("with {name} the node answers"), || {
            metadatum(&node, "delivery_mode").is_some()
        })
        .await;
        configure(&plane, name);
        inject(&plane, "node_state_updated");
        between.way.send_replace(Way::Through);
        until_pulled(&node, name).await;
        let sound = format!("{name}, and goes on");
        configure(&plane, &sound);
        inject(&plane, "node_state_updated");
        until_pulled(&node, &sound).await;
    }
    assert_eq!(counter(&plane, "key_rotate_count"), 0);
    let strayed = timeout(Duration::from_millis(1), elsewhere.accept()).await;
    assert!(strayed.is_err(), "no redirect is followed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stream_that_comes_byte_by_byte_is_followed_and_its_cursor_is_sent_again() {
    let plane = fixture().await;
    let between = Between::new(plane.addr()).await;
    between.way.send_replace(Way::Slowly);
    let node = node(&between.url);
    let _agent = node.start();
    until_mode(&node, "streaming").await;
    for number in 0..5 {
        let value = format!("slow {number}");
        configure(&plane, &value);
        inject(&plane, "node_state_updated");
        until_pulled(&node, &value).await;
    }
    let asked = between.asked();
    scope(&plane, "descoped");
    scope(&plane, "streaming");
    until("it is asked for again", || between.asked() > asked).await;
    let heads = between.asked.lock().unwrap().clone();
    let fields = |head: &str| head.to_lowercase();
    assert!(!fields(&heads[0]).contains("last-event-id"), "{}", heads[0]);
    for field in [
        "accept: text/event-stream",
        "cache-control: no-cache",
        "user-agent: meshward/",
        "last-event-id: 5",
    ] {
        let last = fields(heads.last().unwrap());
        assert_eq!(last.matches(field).count(), 1, "{field} in {last}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn heartbeats_go_on_while_a_stream_floods_the_agent() {
    let plane = fixture().await;
    let between = Between::new(plane.addr()).await;
    let node = node(&between.url);
    node.amend("[heartbeat]\ninterval = \"1h\"", "[heartbeat]\ninterval = \"1s\"");
    let _agent = node.start();
    until_mode(&node, "streaming").await;
    for bytes in [&[b'x'; 4096][..], b"\n\n", b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"] {
        let asked = between.asked();
        between.way.send_replace(Way::Endless(bytes.to_vec().leak()));
        scope(&plane, "descoped");
        scope(&plane, "streaming");
        until("it floods", || between.asked() > asked).await;
        let before = counter(&plane, "heartbeat_count");
        until("hearts beat", || counter(&plane, "heartbeat_count") > before + 2).await;
        assert_eq!(between.asked(), asked + 1, "it is still the same stream");
    }
}
