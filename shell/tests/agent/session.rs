//! Sessions of an agent against the fixture: opened from the desired state, told of by rows, and closed in each way.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::node::{Agent, Node, PATIENCE, Plane, counter, fixture, get, later, post, text, until};

const EXTRA: &str = "[health]\nenabled = false\n[sessions]\nlisten_address = \"127.0.0.1\"\n";

struct Scene {
    plane: Plane,
    node: Node,
    /// Of a program that answers with what it is sent.
    echo: u16,
}

impl Scene {
    async fn new() -> Self {
        let plane = fixture().await;
        let node = Node::new(&plane.url(), EXTRA);
        Self { plane, node, echo: echo() }
    }

    fn entry(&self, id: &str) -> Value {
        json!({
            "session_id": id, "jti": id, "kind": "tcp",
            "target": {"tcp": {"host": "127.0.0.1", "port": self.echo}},
            "expires_at": later(Duration::from_secs(600)),
        })
    }

    fn list(&self, sessions: &[Value]) {
        post(&self.plane, "/test/configure-state", &json!({ "sessions": sessions }));
    }

    /// Spoils the next answers to rows.
    fn spoil(&self, times: u32, status: u16, code: &str) {
        let path = "/v1/nodes/*/sessions/*";
        let rule =
            json!({"method": "POST", "path": path, "times": times, "status": status, "code": code});
        post(&self.plane, "/test/faults", &rule);
    }

    /// The rows of a phase, in order: what each said, and its status.
    fn rows(&self, phase: &str) -> Vec<(Value, u64)> {
        let journal = get(&self.plane, "/test/requests");
        let of_sessions = |entry: &&Value| entry["path"].as_str().unwrap().contains("/sessions/");
        let mut rows = Vec::new();
        for entry in journal["requests"].as_array().unwrap().iter().filter(of_sessions) {
            let row: Value = serde_json::from_str(entry["body"].as_str().unwrap()).unwrap();
            if row["tcp"]["phase"] == phase {
                rows.push((row["tcp"].clone(), entry["status"].as_u64().unwrap()));
            }
        }
        rows
    }

    async fn begun(&self, count: usize) -> Vec<Value> {
        let what = format!("{count} begins are told");
        until(&what, || self.rows("session_started").len() >= count).await;
        self.rows("session_started").into_iter().map(|(row, _)| row).collect()
    }

    async fn ended(&self, count: usize) -> Vec<(Value, u64)> {
        until(&format!("{count} ends are told"), || self.rows("session_ended").len() >= count)
            .await;
        self.rows("session_ended")
    }

    /// Waits until the desired state was asked for twice more, so that one pull was begun since.
    async fn pulled(&self) {
        let before = counter(&self.plane, "state_count");
        until("the state is pulled", || counter(&self.plane, "state_count") >= before + 2).await;
    }

    async fn told(&self, words: &str) {
        until(&format!("the log tells: {words}"), || self.node.log().contains(words)).await;
    }

    async fn started(&self) -> (Agent, String) {
        let agent = self.node.start();
        let endpoint = endpoint(&self.begun(1).await[0]);
        (agent, endpoint)
    }
}

fn endpoint(row: &Value) -> String {
    row["listener_endpoint"].as_str().unwrap().to_owned()
}

fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
        }
    });
    port
}

/// Sends so many bytes and hears them all back.
fn speak(endpoint: &str, length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(endpoint).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let said: Vec<u8> = (0..length).map(|at| at as u8).collect();
    stream.write_all(&said).unwrap();
    let mut heard = vec![0; length];
    stream.read_exact(&mut heard).unwrap();
    assert!(heard == said);
    stream
}

fn is_gone(endpoint: &str) -> bool {
    TcpStream::connect(endpoint).is_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_session_is_opened_told_and_closed_when_it_leaves_the_state() {
    let scene = Scene::new().await;
    scene.list(&[scene.entry("a b")]);
    let (_agent, endpoint) = scene.started().await;
    let expected = json!({
        "phase": "session_started", "target_host": "127.0.0.1", "target_port": scene.echo,
        "listener_endpoint": endpoint,
    });
    assert_eq!(scene.rows("session_started"), [(expected, 204)]);
    let _open = speak(&endpoint, 100_000);
    let status = text(&scene.node.run(&["status"]).stdout);
    assert!(status.contains("sessions:       1 open, 0 of an unsupported kind"), "{status}");
    scene.pulled().await;
    assert_eq!(scene.rows("session_started").len(), 1, "told once");
    scene.list(&[]);
    let ended = json!({
        "phase": "session_ended", "target_host": "127.0.0.1", "target_port": scene.echo,
        "bytes_in": 100_000, "bytes_out": 100_000, "terminated_by": "agent_close",
    });
    assert_eq!(scene.ended(1).await, [(ended, 409)]);
    assert!(is_gone(&endpoint));
    scene.told("after 100000 bytes in and 100000 bytes out, came behind its end").await;
}

/// How long until the system asks the other end of a connection whether it is still there, as it tells of the end at
/// `local` or towards `remote`; absent where it does not, or is about something else.
fn asks_in(local: Option<u16>, remote: Option<u16>) -> Option<Duration> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let is = |field: &str, port: Option<u16>| {
        port.is_none_or(|port| field.ends_with(&format!(":{port:04X}")))
    };
    let mut rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row[3] == "01" && is(row[1], local) && is(row[2], remote))?;
    let hundredths = row[5].strip_prefix("02:")?;
    Some(Duration::from_millis(10 * u64::from_str_radix(hundredths, 16).unwrap()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_system_asks_both_sides_of_a_session_that_are_silent_for_a_minute() {
    let scene = Scene::new().await;
    scene.list(&[scene.entry("a")]);
    let (_agent, endpoint) = scene.started().await;
    let operator = speak(&endpoint, 10);
    let listener: SocketAddr = endpoint.parse().unwrap();
    let operator = operator.local_addr().unwrap().port();
    let minute = Duration::from_secs(60);
    for (side, local, remote) in [
        ("the operator", Some(listener.port()), Some(operator)),
        ("the target", None, Some(scene.echo)),
    ] {
        until(&format!("{side} is to be asked"), || {
            asks_in(local, remote).is_some_and(|wait| !wait.is_zero() && wait <= minute)
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_session_ends_with_its_time_and_with_its_idle_window() {
    let scene = Scene::new().await;
    let _agent = scene.node.start();
    until("the state is pulled", || counter(&scene.plane, "state_count") > 0).await;
    let mut short = scene.entry("short");
    short["expires_at"] = json!(later(Duration::from_secs(6)));
    let mut quiet = scene.entry("quiet");
    quiet["idle_timeout_seconds"] = json!(1);
    scene.list(&[short, quiet]);
    let cause = |row: &Value| row["terminated_by"].as_str().unwrap().to_owned();
    let ends = scene.ended(2).await;
    let mut ends: Vec<_> = ends.iter().map(|(row, status)| (cause(row), *status)).collect();
    ends.sort();
    assert_eq!(ends, [("idle_timeout".to_owned(), 204), ("ttl_expired".to_owned(), 409)]);
    scene.pulled().await;
    assert_eq!(scene.rows("session_started").len(), 2, "neither is opened again");
    assert_eq!(scene.rows("session_ended").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_begin_that_is_answered_as_revoked_closes_the_session_for_good() {
    for code in ["session_already_revoked", "session_expired"] {
        let scene = Scene::new().await;
        scene.spoil(1, 409, code);
        scene.list(&[scene.entry("s")]);
        let (_agent, endpoint) = scene.started().await;
        until("its listener is gone", || is_gone(&endpoint)).await;
        scene.told("is ended by the control plane").await;
        scene.pulled().await;
        assert_eq!(scene.rows("session_started").len(), 1, "{code}: it is settled");
        assert_eq!(scene.rows("session_ended").len(), 0, "{code}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_begin_that_was_not_taken_is_told_again_while_the_session_serves() {
    let scene = Scene::new().await;
    scene.spoil(1, 404, "session_not_found");
    scene.spoil(1, 503, "overloaded");
    scene.list(&[scene.entry("s")]);
    let (_agent, endpoint) = scene.started().await;
    let open = speak(&endpoint, 10);
    let rows = scene.begun(3).await;
    assert!(rows.iter().all(|row| *row == rows[0]), "{rows:?}");
    until("the third is taken", || counter(&scene.plane, "session_activity_count") == 1).await;
    drop(open);
    assert_eq!(scene.rows("session_ended").len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_end_that_was_not_taken_is_told_three_times_in_all() {
    let scene = Scene::new().await;
    let mut entry = scene.entry("s");
    entry["idle_timeout_seconds"] = json!(3);
    scene.list(&[entry]);
    let (_agent, _endpoint) = scene.started().await;
    until("the begin is taken", || counter(&scene.plane, "session_activity_count") == 1).await;
    scene.spoil(2, 503, "overloaded");
    let ended = scene.ended(3).await;
    let statuses: Vec<_> = ended.iter().map(|(_, status)| *status).collect();
    assert_eq!(statuses, [503, 503, 204]);
    assert!(ended.iter().all(|(row, _)| *row == ended[0].0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_closes_every_session_with_its_row_and_a_kill_opens_them_anew() {
    let scene = Scene::new().await;
    scene.list(&[scene.entry("a"), scene.entry("b")]);
    let first = scene.node.start();
    let endpoints: Vec<_> = scene.begun(2).await.iter().map(endpoint).collect();
    let _open = speak(&endpoints[0], 5);
    first.kill();
    assert!(endpoints.iter().all(|endpoint| is_gone(endpoint)));
    let second = scene.node.start();
    let endpoints: Vec<_> = scene.begun(4).await[2..].iter().map(endpoint).collect();
    let _open = speak(&endpoints[1], 7);
    assert_eq!(scene.rows("session_ended").len(), 0, "a process that was killed tells nothing");
    second.signal("-TERM");
    assert_eq!(second.ended(), Some(0));
    let mut counts: Vec<_> = scene
        .rows("session_ended")
        .iter()
        .map(|(row, status)| {
            assert_eq!(row["terminated_by"], "agent_close");
            (row["bytes_in"].as_u64().unwrap(), row["bytes_out"].as_u64().unwrap(), *status)
        })
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [(0, 0, 204), (7, 7, 204)]);
    assert!(endpoints.iter().all(|endpoint| is_gone(endpoint)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn kinds_that_are_not_served_are_warned_of_once_and_stand_in_the_status() {
    let scene = Scene::new().await;
    let of_kind = |kind: &str| {
        let mut entry = scene.entry(kind);
        (entry["kind"], entry["target"]) = (json!(kind), json!({kind: {"user": "u"}}));
        entry
    };
    scene.list(&[of_kind("ssh"), of_kind("k8s"), scene.entry("tcp")]);
    let (_agent, endpoint) = scene.started().await;
    speak(&endpoint, 1);
    scene.pulled().await;
    for kind in ["ssh", "k8s"] {
        let words = format!("sessions of kind {kind} are not served by this agent");
        let lines = scene
            .node
            .log()
            .lines()
            .filter(|line| line.contains("WARN") && line.contains(&words))
            .count();
        assert_eq!(lines, 1, "{kind}");
    }
    let status = text(&scene.node.run(&["status"]).stdout);
    assert!(status.contains("sessions:       1 open, 2 of an unsupported kind"), "{status}");
    let status: Value =
        serde_json::from_slice(&scene.node.run(&["--output", "json", "status"]).stdout).unwrap();
    let queues = &status["queues"];
    assert_eq!((&queues["sessions_open"], &queues["sessions_unsupported"]), (&json!(1), &json!(2)));
}

/// The mesh address is nobody's on a host without a tunnel, and the session waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_listen_address_a_session_waits_for_the_mesh_address() {
    let scene = Scene::new().await;
    scene.node.amend("listen_address = \"127.0.0.1\"", "max_sessions = 3");
    scene.list(&[scene.entry("s")]);
    let _agent = scene.node.start();
    scene.told("its listener cannot be opened").await;
    scene.pulled().await;
    let words = "waits for the next pull: its listener cannot be opened";
    let lines = scene
        .node
        .log()
        .lines()
        .filter(|line| line.contains("WARN") && line.contains(words))
        .count();
    assert_eq!(lines, 1, "told once");
    assert_eq!(scene.rows("session_started").len(), 0);
}
