//! A thousand clients of one socket, a hundred of which stand still: the others are answered, and memory is bounded.

use std::time::{Duration, Instant};

use meshward_core::wire::http::Response;
use meshward_shell::local::{self, Addresses, Asked, Inlet};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    sync::mpsc,
    task::JoinSet,
};

const CLIENTS: usize = 1000;
const STALLED: usize = 100;
const ANSWER: usize = 16 << 10;

/// What the agent may take beyond what it has, in bytes; a tenth of it is usual.
const GROWTH_MAX: u64 = 64 << 20;

/// The resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

async fn stalled(socket: std::path::PathBuf, number: usize) -> UnixStream {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    // Some never end their head, some their body, and some never take their answers.
    let request = match number % 3 {
        0 => "GET /v1/state HTTP/1.1\r\nhost: h\r\n".to_owned(),
        1 => "PUT /v1/state/report/k HTTP/1.1\r\nhost: h\r\ncontent-length: 1048576\r\n\r\nx"
            .to_owned(),
        _ => "GET /v1/state HTTP/1.1\r\nhost: h\r\n\r\n".repeat(20),
    };
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Asks once and tells how long the answer took.
async fn asked(socket: std::path::PathBuf) -> Duration {
    let begun = Instant::now();
    let mut stream = UnixStream::connect(socket).await.unwrap();
    stream
        .write_all(b"GET /v1/state HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.len() > ANSWER);
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_stand_still_keep_nobody_from_being_answered() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("api.sock");
    let place = Addresses {
        socket: socket.clone(),
        group: local::GROUP.to_owned(),
        secret_group: None,
        tcp: None,
        health: None,
    };
    let (sender, mut inbox) = mpsc::channel::<Asked>(local::ASKED_MAX);
    tokio::spawn(async move {
        while let Some(asked) = inbox.recv().await {
            let response = Response { body: vec![b'x'; ANSWER], ..Response::empty(200) };
            // The peer may be gone.
            drop(asked.reply.send(response.into()));
        }
    });
    let to = Inlet { asked: sender, facts: mpsc::channel(1).0 };
    let _listeners = local::listen(&place, &to).await.unwrap();
    let before = resident();
    let mut still = Vec::new();
    for number in 0..STALLED {
        still.push(stalled(socket.clone(), number).await);
    }
    let mut asking = JoinSet::new();
    (0..CLIENTS - STALLED).for_each(|_| drop(asking.spawn(asked(socket.clone()))));
    let mut slowest = Duration::ZERO;
    while let Some(took) = asking.join_next().await {
        slowest = slowest.max(took.unwrap());
    }
    let grown = resident().saturating_sub(before);
    assert!(slowest < Duration::from_secs(4), "before the stalled are cut off: {slowest:?}");
    assert!(grown < GROWTH_MAX, "{grown} bytes more");
}
