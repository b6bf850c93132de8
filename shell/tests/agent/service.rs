//! A service manager's socket beside the real program: what it is told, and when.

use std::{
    fs::File,
    io::ErrorKind,
    os::unix::net::UnixDatagram,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use meshward_core::plane::site;
use serde_json::json;

use crate::{
    local::ask,
    node::{Agent, Node, PATIENCE, counter, fixture, post, until},
};

/// A socket that keeps all that it is told.
struct Host {
    told: Arc<Mutex<Vec<String>>>,
}

impl Host {
    fn beside(node: &Node) -> Self {
        let socket = UnixDatagram::bind(node.path("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&told);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                match socket.recv(&mut buffer) {
                    Ok(length) => {
                        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                        kept.lock().unwrap_or_else(PoisonError::into_inner).push(text);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        });
        Self { told }
    }

    fn start(node: &Node, variables: &[(&str, &str)]) -> Agent {
        let log = File::options().create(true).append(true).open(node.path("log")).unwrap();
        let mut command = node.command(&["--log-level", "debug", "run"]);
        command.env("NOTIFY_SOCKET", node.path("notify")).envs(variables.iter().copied());
        Agent::of(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    fn lines(&self) -> Vec<String> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
    }

    fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|told| *told == line).count()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn ready_is_told_behind_the_registration_and_stopping_at_a_signal() {
    let plane = fixture().await;
    let rule = json!({"path": "/v1/register", "times": 1, "status": 503});
    post(&plane, "/test/faults", &rule);
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let host = Host::beside(&node);
    let agent = Host::start(&node, &[]);
    until("the start is extended", || host.count("EXTEND_TIMEOUT_USEC=60000000") > 0).await;
    until("it is ready", || host.count("STATUS=ready") > 0).await;
    assert_eq!(counter(&plane, "registration_count"), 1);
    let lines = host.lines();
    let at = |line: &str| lines.iter().position(|told| told == line);
    assert_eq!(at("STATUS=not ready: registration pending"), Some(0));
    assert!(at("EXTEND_TIMEOUT_USEC=60000000") < at("READY=1"));
    assert!(at("READY=1") <= at("STATUS=ready"));
    assert_eq!(host.count("WATCHDOG=1"), 0, "nobody has asked for it");
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    until("the stop is told", || host.count("STOPPING=1") == 1).await;
    assert_eq!(host.lines().last().map(String::as_str), Some("STATUS=draining"));
    assert_eq!(host.count("READY=1"), 1);
    let log = node.log();
    assert!(log.lines().last().is_some_and(|line| line.contains("stopped")), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_watchdog_is_fed_as_long_as_the_loop_turns() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let host = Host::beside(&node);
    let agent = Host::start(&node, &[("WATCHDOG_USEC", "200000")]);
    until("the watchdog is fed", || host.count("WATCHDOG=1") >= 5).await;
    agent.signal("-STOP");
    // What was under way has come when the process is seen to be stopped.
    let stat = format!("/proc/{}/stat", agent.id());
    until("it stands still", || std::fs::read_to_string(&stat).unwrap().contains(") T ")).await;
    let fed = host.count("WATCHDOG=1");
    agent.signal("-CONT");
    until("it is fed again", || host.count("WATCHDOG=1") > fed + 2).await;
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_watchdog_of_another_process_is_left_to_it_and_a_node_without_a_manager_runs_on() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let host = Host::beside(&node);
    let agent = Host::start(&node, &[("WATCHDOG_USEC", "20000"), ("WATCHDOG_PID", "1")]);
    until("it is ready", || host.count("STATUS=ready") > 0).await;
    until("three heartbeats went by", || counter(&plane, "heartbeat_count") >= 3).await;
    assert_eq!(host.count("WATCHDOG=1"), 0);
    drop(agent);
    std::fs::remove_file(node.path("notify")).unwrap();
    let agent = Host::start(&node, &[("WATCHDOG_USEC", "200000")]);
    until("it is ready", || node.run(&["status"]).status.success()).await;
    assert_eq!(node.log().matches("does not take what it is told").count(), 1);
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_figures_are_read_at_the_socket_and_at_the_health_listener() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nlisten = \"127.0.0.1:0\"\n");
    let _agent = node.start();
    until("a heartbeat is counted", || {
        node.path("run/api.sock").exists()
            && ask(&node, "/metrics").contains("meshward_heartbeats_total{outcome=\"ok\"} ")
            && !ask(&node, "/metrics").contains("meshward_heartbeats_total{outcome=\"ok\"} 0\n")
    })
    .await;
    let log = node.log();
    let open = log.lines().find(|line| line.contains("health listener open")).unwrap();
    let address = open.split("address=\"").nth(1).unwrap().split('"').next().unwrap();
    let stream = std::net::TcpStream::connect(address).unwrap();
    let answer = crate::local::exchange(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    for line in ["meshward_identity_present 1", "meshward_readiness{state=\"ready\"} 1"] {
        assert!(body.lines().any(|told| told == line), "{line} in {body}");
    }
    for name in ["resident_memory_bytes", "cpu_seconds_total", "open_fds", "start_time_seconds"] {
        assert!(body.contains(&format!("\nprocess_{name} ")), "{name} in {body}");
    }
    assert!(!body.contains(site::PROJECT_ID), "figures name nobody");
}
