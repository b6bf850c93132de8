//! The event stream of a running agent.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use serde_json::json;

use crate::node::{Node, PATIENCE, counter, fixture, post, until};

/// Opens a stream and reads its head.
fn open(node: &Node) -> BufReader<UnixStream> {
    let mut stream = UnixStream::connect(node.path("run/api.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut stream = BufReader::new(stream);
    assert_eq!(line_with(&mut stream, "HTTP/1.1"), "HTTP/1.1 200 OK");
    assert_eq!(line_with(&mut stream, "content-type"), "content-type: text/event-stream");
    assert_eq!(line_with(&mut stream, "event: "), "event: hello");
    stream
}

/// The next line that holds this.
pub(crate) fn line_with(stream: &mut impl BufRead, part: &str) -> String {
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended before {part}");
        if line.contains(part) {
            return line.trim_end().to_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn watchers_hear_of_a_pull_and_their_streams_end_with_the_agent() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let agent = node.start();
    until("the state is pulled", || {
        counter(&plane, "state_count") > 0 && node.run(&["status"]).status.success()
    })
    .await;
    let mut streams = [open(&node), open(&node)];
    post(
        &plane,
        "/test/configure-state",
        &json!({"state": {"metadata": [{"key": "zone", "value": "canary"}]}}),
    );
    for stream in &mut streams {
        let change = line_with(stream, "\"zone\"");
        assert_eq!(
            change,
            r#"data: {"kind":"metadata","key":"zone","version":null,"deleted":false}"#
        );
    }
    agent.signal("-TERM");
    for mut stream in streams {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut stream, &mut rest).unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "it ends as a whole: {rest}");
    }
    assert_eq!(agent.ended(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_watcher_that_goes_makes_room_for_another() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let _agent = node.start();
    until("the socket is open", || node.path("run/api.sock").exists()).await;
    let mut streams: Vec<_> = (0..64).map(|_| open(&node)).collect();
    let refused = || crate::local::ask(&node, "/v1/watch");
    assert!(refused().contains("{\"error\":\"too many watchers\"}"));
    streams.pop();
    until("there is room again", || {
        let mut stream = UnixStream::connect(node.path("run/api.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream.write_all(b"GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.starts_with("HTTP/1.1 200")
    })
    .await;
}
