//! What a head tells is judged before its body: who may not ask, or asks nothing, is neither asked for it nor waited for.

use std::time::{Duration, Instant};

use meshward_core::agent::Door;
use tokio::{io::AsyncWriteExt as _, time::timeout};

use crate::scene::{AT_ONCE, BEARER, Scene, TCP_MAX, is_closed, next, rest, statuses};

const MIB: usize = 1 << 20;

/// Shorter than a listener reads on behind an answer.
const SOON: Duration = Duration::from_secs(1);

/// A head that announces a body, and asks whether it is wanted.
fn asking(line: &str, fields: &str, length: usize) -> String {
    format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n{fields}Content-Length: {length}\r\n\r\n"
    )
}

const PUT: &str = "PUT /v1/state/report/a";

#[tokio::test]
async fn a_stranger_that_announces_a_body_is_told_401_at_once_and_not_asked_for_it() {
    let scene = Scene::telling().await;
    let page = format!("{BEARER}Origin: http://evil.example\r\n");
    let site = format!("{BEARER}Host: evil.example\r\n");
    for (fields, status) in
        [("", 401), ("Authorization: Bearer x\r\n", 401), (&page, 403), (&site, 403)]
    {
        for expecting in [true, false] {
            let mut stream = scene.tcp().await;
            let head = asking(PUT, fields, MIB);
            let head = if expecting { head } else { head.replace("Expect: 100-continue\r\n", "") };
            stream.write_all(head.as_bytes()).await.unwrap();
            let answer = next(&mut stream).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{fields}: {answer}");
            assert!(answer.contains("connection: close\r\n"), "{answer}");
            assert!(is_closed(&mut stream).await, "{fields}: the body is not waited for");
        }
    }
}

#[tokio::test]
async fn what_asks_nothing_or_too_much_is_answered_at_once_and_not_asked_for_its_body() {
    let scene = Scene::telling().await;
    for (line, length, status, told) in [
        ("PUT /none", MIB, 404, "not found"),
        ("PUT /v1/state", MIB, 405, "method not allowed"),
        (PUT, MIB + 1, 200, "oversized"),
        ("PUT /v1/state/report/..", 8, 200, "\"body\":\"0\""),
        ("GET /v1/state", 8, 200, "\"body\":\"0\""),
        ("DELETE /v1/state/report/a", 8, 200, "\"body\":\"0\""),
        ("POST /v1/hooks/reload", 8, 200, "\"body\":\"0\""),
        ("POST /v1/actions/run", 65_537, 200, "oversized"),
    ] {
        let mut stream = scene.unix().await;
        stream.write_all(asking(line, "", length).as_bytes()).await.unwrap();
        let answer = next(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {answer}");
        assert!(answer.contains(told), "{line}: {answer}");
        assert!(is_closed(&mut stream).await, "{line}");
    }
}

#[tokio::test]
async fn whoever_may_write_is_asked_for_the_body() {
    let scene = Scene::telling().await;
    let mut stream = scene.tcp().await;
    stream.write_all(asking(PUT, BEARER, 2).as_bytes()).await.unwrap();
    assert_eq!(next(&mut stream).await, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{}GET /v1/state HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(next(&mut stream).await.contains("\"body\":\"2\""));
    let last = rest(stream).await;
    assert_eq!(statuses(&last), [401], "each request shows the token: {last}");
}

#[tokio::test]
async fn slow_bodies_of_strangers_hold_neither_a_place_nor_the_room_of_bodies() {
    let scene = Scene::telling().await;
    let mut strangers = Vec::new();
    // Together they announce more than all bodies of a listener may hold.
    for _ in 0..2 * TCP_MAX {
        let mut stream = scene.tcp().await;
        let head = asking(PUT, "", MIB).replace("Expect: 100-continue\r\n", "");
        stream.write_all(format!("{head}slow").as_bytes()).await.unwrap();
        strangers.push(stream);
    }
    let begun = Instant::now();
    let body = " ".repeat(MIB);
    let head = format!(
        "{PUT} HTTP/1.1\r\nHost: localhost\r\n{BEARER}Connection: close\r\nContent-Length: {MIB}\r\n\r\n"
    );
    let answer = scene.exchange(Door::Tcp, (head + &body).as_bytes()).await;
    assert!(answer.contains("\"body\":\"1048576\""), "{answer}");
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    let mut latest = strangers.split_off(TCP_MAX + 1);
    for stream in &mut latest {
        let answer = next(stream).await;
        assert_eq!(statuses(&answer), [401]);
    }
    for mut stream in strangers {
        let refused = async {
            while stream.write_all(b"slow").await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        let cut = timeout(SOON, refused).await;
        assert!(cut.is_ok(), "one that goes on sending has a place like any other");
    }
}
