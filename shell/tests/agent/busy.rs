//! Commands against an agent that has no place for them, stands still, or is none.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::node::{Agent, Node, Plane, fixture, text, until};

/// The connections that an agent serves at once.
const PLACES: usize = 1024;

/// The time that a command may take beyond its own limit, on a machine that does other things too.
const LITTLE: Duration = Duration::from_secs(4);

async fn ready() -> (Plane, Node, Agent) {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let agent = node.start();
    until("the node is ready", || node.run(&["status"]).status.success()).await;
    (plane, node, agent)
}

/// Connects without waiting for a place in a full queue.
fn queued(path: &Path) -> rustix::io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_agent_whose_queue_is_full_is_told_as_busy_and_not_as_absent() {
    let (_plane, node, agent) = ready().await;
    agent.signal("-STOP");
    let mut held = Vec::new();
    let full = loop {
        match queued(&node.path("run/api.sock")) {
            Ok(stream) => held.push(stream),
            Err(full) => break full,
        }
    };
    assert_eq!(io::Error::from(full).kind(), io::ErrorKind::WouldBlock);
    for arguments in [&["status"][..], &["report", "put", "a", "--payload", "1"]] {
        let output = node.run(arguments);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("is busy") && told.contains("try again later"), "{told}");
        assert!(!told.contains("start it"), "{told}");
    }
    agent.signal("-CONT");
    drop(held);
    until("there is a place again", || node.run(&["status"]).status.success()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn bodies_that_do_not_come_keep_nobody_from_the_agent() {
    let (_plane, node, _agent) = ready().await;
    let held: Vec<_> = (0..2 * PLACES)
        .map(|_| {
            let mut stream = UnixStream::connect(node.path("run/api.sock")).unwrap();
            let begun = "PUT /v1/state/report/a HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{";
            // It may have made room for another already.
            let _ = stream.write_all(begun.as_bytes());
            stream
        })
        .collect();
    for _ in 0..10 {
        let output = node.run(&["status"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    drop(held);
}

#[test]
fn a_command_that_is_turned_away_asks_again() {
    let node = Node::new("http://127.0.0.1:9", "");
    let turned_away = AtomicUsize::new(0);
    instead(&node, move |stream| {
        if turned_away.fetch_add(1, Ordering::Relaxed) > 1 {
            answer(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]");
        }
    });
    let output = node.run(&["peers"]);
    assert_eq!(text(&output.stdout), "No peers.\n", "{}", text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_crowd_of_clients_does_not_keep_the_agent_from_its_disk_under_the_usual_limit_of_files() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let run = node.command(&["run"]);
    let limited = |limit: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")]);
        for (removed, _) in run.get_envs() {
            command.env_remove(removed);
        }
        command.arg(run.get_program()).args(run.get_args()).stdin(Stdio::null());
        let log = File::options().create(true).append(true).open(node.path("log")).unwrap();
        Agent::of(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    };
    let agent = limited("ulimit -Sn 64");
    until("the node is ready", || node.run(&["status"]).status.success()).await;
    let socket = node.path("run/api.sock");
    let held: Vec<_> = (0..256).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let output = node.run(&["report", "put", "a", "--payload", "1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!node.log().contains("files can be open"), "{}", node.log());
    drop(held);
    agent.kill();
    let _agent = limited("ulimit -n 256");
    until("the node is ready", || node.run(&["status"]).status.success()).await;
    let warning = "at most 256 files can be open, fewer than the connections at once";
    assert!(node.log().contains(warning), "{}", node.log());
}

/// Does this with each connection to the node's socket.
fn instead(node: &Node, act: impl Fn(UnixStream) + Send + 'static) {
    std::fs::create_dir_all(node.path("run")).unwrap();
    let listener = UnixListener::bind(node.path("run/api.sock")).unwrap();
    thread::spawn(move || listener.incoming().for_each(|stream| act(stream.unwrap())));
}

/// Answers once something is asked, and closes.
fn answer(mut stream: UnixStream, bytes: &[u8]) {
    stream.read_exact(&mut [0; 4]).unwrap();
    stream.write_all(bytes).unwrap();
}

fn complaint(node: &Node, arguments: &[&str]) -> (Option<i32>, String) {
    let output = node.run(arguments);
    (output.status.code(), text(&output.stderr))
}

#[test]
fn an_agent_that_turns_everybody_away_is_busy_and_a_change_is_not_tried_twice() {
    let node = Node::new("http://127.0.0.1:9", "");
    let (met, meetings) = std::sync::mpsc::channel();
    instead(&node, move |stream| {
        drop(stream);
        met.send(()).unwrap();
    });
    let (code, told) = complaint(&node, &["report", "delete", "a"]);
    assert_eq!((code, meetings.try_iter().count()), (Some(1), 1), "{told}");
    assert!(told.contains("may have done what was asked"), "{told}");
    let (code, told) = complaint(&node, &["peers"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("is busy or stops") && !told.contains("may have done"), "{told}");
    assert!(meetings.try_iter().count() > 1, "a read is tried again for a while");
}

#[test]
fn what_is_no_agent_and_an_answer_that_breaks_off_are_told_as_what_they_are() {
    let node = Node::new("http://127.0.0.1:9", "");
    instead(&node, |stream| answer(stream, b"220 mail.example ESMTP\r\n\r\n"));
    let (code, told) = complaint(&node, &["peers"]);
    assert_eq!(code, Some(5), "{told}");
    assert!(told.contains("is no agent") && told.contains("--socket"), "{told}");
    std::fs::remove_file(node.path("run/api.sock")).unwrap();
    instead(&node, |stream| answer(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n["));
    let (code, told) = complaint(&node, &["peers"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("broke off"), "{told}");
}

/// Runs a command that finds no answer within its limit; all of it ends soon after that.
fn silent(node: &Node, limit: Duration, arguments: &[&str]) {
    let begun = Instant::now();
    let (code, told) = complaint(node, arguments);
    let took = begun.elapsed();
    assert_eq!(code, Some(5), "{told}");
    assert!(told.contains("does not answer within") && told.contains("look at its log"), "{told}");
    assert!((limit..limit + LITTLE).contains(&took), "{arguments:?}: {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_wait_for_an_agent_that_stands_still_ends_with_the_wait() {
    let (_plane, node, agent) = ready().await;
    agent.signal("-STOP");
    silent(&node, Duration::from_secs(2), &["status", "--wait", "2s"]);
    silent(&node, Duration::ZERO, &["status", "--wait", "0s"]);
    agent.signal("-CONT");
    assert_eq!(node.run(&["status", "--wait", "20s"]).status.code(), Some(0));
}

/// Sends this once something is asked, and then a byte now and then for as long as somebody listens.
fn dripping(mut stream: UnixStream, begin: &'static [u8]) {
    thread::spawn(move || {
        let mut sent = stream.read_exact(&mut [0; 4]).and_then(|()| stream.write_all(begin));
        while sent.is_ok() {
            thread::park_timeout(Duration::from_millis(50));
            sent = stream.write_all(b"x");
        }
    });
}

#[test]
fn every_command_ends_in_time_however_slowly_head_or_body_come() {
    let head = &b"HTTP/1.1 200 OK\r\nx: "[..];
    let body = &b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n"[..];
    let nodes = [head, body].map(|begin| {
        let node = Node::new("http://127.0.0.1:9", "");
        instead(&node, move |stream| dripping(stream, begin));
        node
    });
    thread::scope(|at_once| {
        for node in &nodes {
            let second = Duration::from_secs(1);
            at_once.spawn(move || silent(node, second, &["status", "--wait", "1s"]));
            at_once.spawn(move || silent(node, second * 10, &["report", "delete", "a"]));
        }
    });
}
