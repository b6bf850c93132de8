//! More connections than there are places: the one that is idle for the longest makes room, what is at work never does.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use meshward_core::agent::Door;
use meshward_shell::local::{self, Asked};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    sync::mpsc,
    time::timeout,
};

use crate::scene::{
    AT_ONCE, BEARER, PATIENCE, Scene, TCP_MAX, is_closed, next, rest, statuses, told,
};

const STATE: &str = "GET /v1/state HTTP/1.1\r\nHost: localhost\r\n";

/// A write that waits so long waits for what its reader does not take.
const STANDSTILL: Duration = Duration::from_secs(1);

async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    stream.write_all(format!("{STATE}{BEARER}\r\n").as_bytes()).await.unwrap();
}

/// Asks on a connection of its own and tells whether the answer came at once.
async fn is_served(scene: &Scene, door: Door) -> bool {
    let begun = Instant::now();
    let request = format!("{STATE}{BEARER}Connection: close\r\n\r\n");
    let answer = scene.exchange(door, request.as_bytes()).await;
    statuses(&answer) == [200] && begun.elapsed() < AT_ONCE
}

#[tokio::test]
async fn idle_connections_take_every_place_and_a_new_client_is_served_at_once() {
    let scene = Scene::telling().await;
    let mut used = scene.tcp().await;
    let mut idle = Vec::new();
    for number in 0..TCP_MAX - 1 {
        let mut stream = scene.tcp().await;
        if number % 2 == 0 {
            // One that begins a head and never ends it is as idle as one that says nothing.
            stream.write_all(STATE.as_bytes()).await.unwrap();
        }
        idle.push(stream);
    }
    ask(&mut used).await;
    assert_eq!(statuses(&next(&mut used).await), [200]);
    for _ in 0..TCP_MAX / 2 {
        assert!(is_served(&scene, Door::Tcp).await);
    }
    assert!(is_closed(&mut idle[0]).await, "the one that was idle for the longest is not closed");
    ask(&mut used).await;
    assert_eq!(statuses(&next(&mut used).await), [200], "it asked later than the others came");
}

#[tokio::test]
async fn the_socket_has_room_for_a_new_client_behind_a_thousand_idle_ones() {
    let scene = Scene::telling().await;
    let mut idle = Vec::new();
    for _ in 0..1024 {
        idle.push(scene.unix().await);
    }
    assert!(is_served(&scene, Door::Socket).await);
    assert!(is_closed(&mut idle[0]).await);
}

/// A stranger that asks until nothing of it is taken any more, and takes no answer.
async fn stalled(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let requests = format!("{STATE}\r\n").repeat(100);
    while let Ok(sent) = timeout(STANDSTILL, stream.write_all(requests.as_bytes())).await {
        sent.unwrap();
    }
    stream
}

/// So many places that are taken by requests that wait for their answers.
async fn at_work(places: usize) -> (Scene, Vec<TcpStream>, Vec<Asked>, mpsc::Receiver<Asked>) {
    let (sender, mut inbox) = mpsc::channel::<Asked>(local::ASKED_MAX);
    let scene = Scene::over(sender).await;
    let (mut streams, mut waiting) = (Vec::new(), Vec::new());
    for _ in 0..places {
        let mut stream = scene.tcp().await;
        ask(&mut stream).await;
        streams.push(stream);
        waiting.push(timeout(PATIENCE, inbox.recv()).await.unwrap().unwrap());
    }
    (scene, streams, waiting, inbox)
}

#[tokio::test]
async fn what_is_at_work_makes_no_room_and_gets_its_answer() {
    let (scene, mut streams, waiting, _inbox) = at_work(TCP_MAX).await;
    let mut excess = scene.tcp().await;
    assert!(is_closed(&mut excess).await, "one too many is closed");
    for asked in waiting {
        let response = told(&asked);
        asked.reply.send(response.into()).unwrap();
    }
    for stream in &mut streams {
        assert_eq!(statuses(&next(stream).await), [200]);
    }
}

#[tokio::test]
async fn a_connection_makes_room_once_its_answer_is_taken() {
    let (scene, mut streams, mut waiting, mut inbox) = at_work(TCP_MAX).await;
    let asked = waiting.pop().unwrap();
    let response = told(&asked);
    asked.reply.send(response.into()).unwrap();
    assert_eq!(statuses(&next(&mut streams[TCP_MAX - 1]).await), [200]);
    let mut new = scene.tcp().await;
    ask(&mut new).await;
    let asked = timeout(AT_ONCE, inbox.recv()).await.expect("a place at once").unwrap();
    let response = told(&asked);
    asked.reply.send(response.into()).unwrap();
    assert_eq!(statuses(&next(&mut new).await), [200]);
    assert!(is_closed(&mut streams[TCP_MAX - 1]).await);
}

#[tokio::test]
async fn a_stranger_that_takes_no_answers_gives_way() {
    let (scene, _streams, _waiting, mut inbox) = at_work(TCP_MAX - 1).await;
    let _stranger = stalled(scene.tcp).await;
    let mut new = scene.tcp().await;
    ask(&mut new).await;
    let asked = timeout(AT_ONCE, inbox.recv()).await.expect("a place at once").unwrap();
    let response = told(&asked);
    asked.reply.send(response.into()).unwrap();
    assert_eq!(statuses(&next(&mut new).await), [200]);
}

#[tokio::test]
async fn a_kept_connection_that_asks_nothing_more_is_closed_after_a_while() {
    let scene = Scene::telling().await;
    let mut stream = scene.unix().await;
    ask(&mut stream).await;
    assert_eq!(statuses(&next(&mut stream).await), [200]);
    let begun = Instant::now();
    assert_eq!(rest(stream).await, "");
    assert!(begun.elapsed() > AT_ONCE, "{:?}", begun.elapsed());
}
