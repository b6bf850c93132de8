//! Heads that are no request: each is answered in its turn and in the words of its door, and nothing behind it is read.

use std::time::Duration;

use meshward_core::{agent::Door, wire::framing::FIELDS_MAX};
use proptest::{prelude::*, sample::Index, test_runner::TestRunner};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};

use crate::scene::{BEARER, PATIENCE, Scene, rest, statuses};

/// The longest head of the local API, in bytes.
const HEAD_MAX: usize = 16 << 10;

const STATE: &str = "GET /v1/state HTTP/1.1\r\nHost: localhost\r\n\r\n";

fn refused(door: Door, answer: &str, status: u16) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{door:?}: {answer}");
    assert!(answer.contains("connection: close\r\n"), "{door:?}: {answer}");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    match door {
        Door::Health => assert!(head.contains("content-type: text/plain"), "{head}"),
        Door::Socket | Door::Tcp => {
            assert!(head.contains("content-type: application/json"), "{head}");
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert!(!body["error"].as_str().unwrap().is_empty(), "{answer}");
        }
    }
}

#[tokio::test]
async fn every_head_that_is_no_request_is_answered_in_the_words_of_its_door() {
    let scene = Scene::telling().await;
    let head = |fields: &str| format!("PUT /v1/state/report/a HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
    let rows = [
        ("\u{16}\u{3}\u{1}\r\n".to_owned(), 400),
        ("GET / HTTP/2.0\r\n\r\n".to_owned(), 400),
        ("GET /v1/a<b HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 400),
        (head("no colon\r\n"), 400),
        (head("Content-Length: +1\r\n"), 400),
        (head("Content-Length: 1, 2\r\n"), 400),
        (head("Transfer-Encoding: gzip\r\n"), 400),
        (head(&"A: b\r\n".repeat(FIELDS_MAX)), 431),
        (head(&format!("A: {}\r\n", "b".repeat(HEAD_MAX))), 431),
        (format!("GET /{}", "a".repeat(HEAD_MAX)), 414),
    ];
    for (request, status) in rows {
        for door in [Door::Socket, Door::Tcp, Door::Health] {
            let answer = scene.exchange(door, request.as_bytes()).await;
            refused(door, &answer, status);
        }
    }
}

#[tokio::test]
async fn a_head_just_within_the_limit_is_a_request() {
    let scene = Scene::telling().await;
    let start = "GET /v1/state HTTP/1.1\r\nConnection: close\r\nA: ";
    let value = "b".repeat(HEAD_MAX - start.len() - "\r\n\r\n".len());
    let answer = scene.exchange(Door::Socket, format!("{start}{value}\r\n\r\n").as_bytes()).await;
    assert_eq!(statuses(&answer), [200]);
    let answer = scene.exchange(Door::Socket, format!("{start}{value}b\r\n\r\n").as_bytes()).await;
    assert!(answer.contains("longer than 16384 bytes"), "{answer}");
}

#[tokio::test]
async fn a_length_that_is_told_twice_is_refused_behind_the_token_and_the_route() {
    let scene = Scene::telling().await;
    for second in [2, 3] {
        let put = |path: &str, bearer: &str| {
            let lengths = format!("Content-Length: 2\r\ncontent-length: {second}\r\n");
            format!("PUT {path} HTTP/1.1\r\nHost: localhost\r\n{bearer}{lengths}\r\n{{}}")
        };
        for (door, path, bearer, status) in [
            (Door::Tcp, "/v1/state/report/a", "", 401),
            (Door::Tcp, "/none", BEARER, 404),
            (Door::Tcp, "/v1/state/report/a", BEARER, 400),
            (Door::Socket, "/v1/state/report/a", "", 400),
            (Door::Socket, "/v1/state", "", 405),
            (Door::Health, "/healthz", "", 400),
        ] {
            refused(door, &scene.exchange(door, put(path, bearer).as_bytes()).await, status);
        }
    }
}

/// What the framing of the listeners and that of the HTTP library could be told apart by, so that the body of one
/// request would be another.
#[tokio::test]
async fn a_body_that_breaks_its_framing_ends_the_connection_and_is_no_request() {
    let scene = Scene::telling().await;
    let report = r#"{"content_type":"a/b","payload":1}"#;
    let put = format!(
        "PUT /v1/state/report/k HTTP/1.1\r\nHost: localhost\r\n{BEARER}Transfer-Encoding: chunked\r\n\r\n"
    );
    let inner = "GET /v1/actions HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let smuggling = format!(
        "PUT /v1/state/report/q HTTP/1.1\r\nHost: localhost\r\n{BEARER}Content-Length: {}\r\n\r\n{inner}",
        inner.len()
    );
    let twice = "GET /v1/state HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n";
    let extension = format!("22;{}\r\n{report}\r\n0\r\n\r\n", "x".repeat(5000));
    for body in [
        format!("22\r\n{report}\r\n0\r\n\n"),
        format!("22\r\n{report}\r\n0\r\nFoo: x\n\n"),
        format!("{}22\r\n{report}\r\n0\r\n\r\n", "0".repeat(18)),
        extension,
    ] {
        for behind in [inner, &smuggling, twice] {
            for door in [Door::Socket, Door::Tcp] {
                let bytes = format!("{put}{body}{behind}{inner}");
                let answer = scene.exchange(door, bytes.as_bytes()).await;
                assert_eq!(statuses(&answer).len(), 1, "{door:?} {body:.60} {answer}");
            }
        }
    }
}

#[tokio::test]
async fn a_refused_head_waits_for_its_turn_and_ends_its_connection() {
    let scene = Scene::telling().await;
    let put = "PUT /v1/state/report/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
    let chunked = "PUT /v1/state/report/b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{ }\r\n0\r\nX: y\r\n\r\n";
    let missing = "GET /none HTTP/1.1\r\nHost: x\r\n\r\n";
    let broken = "GET /v1/state HTTP/1.1\r\nbroken\r\n\r\n";
    let all = [STATE, put, missing, chunked, broken, STATE].concat();
    let answers = scene.exchange(Door::Socket, all.as_bytes()).await;
    assert_eq!(statuses(&answers), [200, 200, 404, 200, 400], "and the last is never answered");
    let [a, b] =
        ["report/a\",\"body\":\"2\"", "report/b\",\"body\":\"3\""].map(|one| answers.find(one));
    assert!(a.unwrap() < b.unwrap(), "{answers}");
}

#[tokio::test]
async fn an_answer_to_a_refused_head_fits_its_method_and_version() {
    let scene = Scene::telling().await;
    let text = scene.exchange(Door::Socket, b"HEAD /v1/state HTTP/1.0\r\nbroken\r\n\r\n").await;
    assert!(text.starts_with("HTTP/1.0 400 Bad Request\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\n"), "a HEAD has no body: {text}");
}

#[tokio::test]
async fn a_refused_sender_that_goes_on_sending_reads_its_answer() {
    let scene = Scene::telling().await;
    let rows = [
        ("Content-Length: 8388608\r\nContent-Length: 8388608\r\n", BEARER, 400),
        ("Content-Length: 8388608\r\n", "", 401),
        ("Content-Length: 8388608\r\n", BEARER, 200),
    ];
    for (lengths, bearer, status) in rows {
        let mut stream = scene.tcp().await;
        let head =
            format!("PUT /v1/state/report/a HTTP/1.1\r\nHost: localhost\r\n{bearer}{lengths}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b' '; 8 << 20]).await.unwrap();
        assert_eq!(statuses(&rest(stream).await), [status], "{head}");
    }
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_is_a_request_all_the_same() {
    let scene = Scene::telling().await;
    let mut stream = scene.unix().await;
    let request = "PUT /v1/state/report/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x\r\n}\r\n0\r\n\r\n";
    for byte in request.bytes() {
        stream.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    let answer = rest(stream).await;
    assert!(answer.ends_with("\"body\":\"2\"}\n"), "{answer}");
}

/// What comes back until the other side has said all; this side ends so that it need not wait for a limit.
async fn answered(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> Vec<u8> {
    let mut answer = Vec::new();
    let exchange = async {
        // The other side may answer and close before it has taken everything.
        let _sent = stream.write_all(bytes).await;
        let _read = timeout(Duration::from_millis(30), stream.read_to_end(&mut answer)).await;
        let _ended = stream.shutdown().await;
        stream.read_to_end(&mut answer).await
    };
    let _end = timeout(PATIENCE, exchange).await.expect("an end in time");
    answer
}

fn broken() -> impl Strategy<Value = Vec<u8>> {
    let seeds = [
        "GET /v1/state HTTP/1.1\r\nHost: x\r\n\r\n",
        "HEAD /v1/status?a=b HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
        "PUT /v1/state/report/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
        "PUT /v1/state/report/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "PUT http://x/v1/state/report/a%62 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
        "CONNECT x:80 HTTP/1.1\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "GET /v1/state HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}GET /v1/state HTTP/1.1\r\n\r\n",
    ];
    let change = (any::<Index>(), 0_usize..3, any::<u8>());
    (prop::sample::select(seeds.to_vec()), prop::collection::vec(change, 0..4)).prop_map(
        |(seed, changes)| {
            let mut bytes = seed.as_bytes().to_vec();
            for (at, length, byte) in changes {
                let at = at.index(bytes.len() + 1);
                let end = (at + length).min(bytes.len());
                bytes.splice(at..end, [byte]);
            }
            bytes
        },
    )
}

#[test]
fn whatever_comes_is_answered_by_the_agent_and_never_by_the_library_below_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scene = runtime.block_on(Scene::telling());
    let mut runner = TestRunner::new(ProptestConfig { cases: 300, ..ProptestConfig::default() });
    let doors = prop::sample::select(vec![Door::Socket, Door::Tcp, Door::Health]);
    let outcome = runner.run(&(broken(), doors), |(bytes, door)| {
        let answer = runtime.block_on(async {
            match door {
                Door::Socket => answered(scene.unix().await, &bytes).await,
                Door::Tcp => answered(scene.tcp().await, &bytes).await,
                Door::Health => answered(scene.probe().await, &bytes).await,
            }
        });
        let text = String::from_utf8_lossy(&answer).replace("HTTP/1.1 100 Continue\r\n\r\n", "");
        for answer in format!("\n{text}").split("\nHTTP/1.").skip(1) {
            let is_ours = answer.contains("content-type: ");
            prop_assert!(is_ours, "{door:?}: {:?} got {text}", String::from_utf8_lossy(&bytes));
        }
        Ok(())
    });
    outcome.unwrap();
}
