//! The local API by TCP, and the starts that its settings forbid.

use std::{
    fs::{self, Permissions},
    io::{BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
};

use serde_json::json;

use crate::{
    local::exchange,
    node::{Node, PATIENCE, fixture, post, text, until},
    watch::line_with,
};

pub(crate) const TOKEN: &str = "canary-of-the-local-token";

pub(crate) fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A node with the listener there, and its token in a file of this mode.
pub(crate) fn node(url: &str, listen: SocketAddr, token: &str, mode: u32) -> Node {
    let node = Node::new(url, "[health]\nenabled = false\n");
    let file = node.path("local-token");
    let config = format!(
        "{}[local_api]\nhttp_enabled = true\nhttp_listen = \"{listen}\"\nhttp_token_file = {file:?}\n",
        fs::read_to_string(node.path("config.toml")).unwrap()
    );
    fs::write(node.path("config.toml"), config).unwrap();
    fs::write(&file, token).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    node
}

fn ask(address: SocketAddr, path: &str, fields: &str) -> Option<String> {
    let stream = TcpStream::connect(address).ok()?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{fields}\r\n");
    Some(exchange(stream, &request))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn whoever_holds_the_token_asks_by_tcp_and_nobody_else() {
    let plane = fixture().await;
    let address = free();
    let node = node(&plane.url(), address, &format!("{TOKEN}\n"), 0o600);
    let agent = node.start();
    until("the listener is open", || ask(address, "/v1/state", "").is_some()).await;
    until("the node is ready", || node.run(&["status"]).status.success()).await;
    let bearer = format!("authorization: bEaReR {TOKEN}\r\n");
    let foreign = format!("{bearer}origin: http://evil.example\r\n");
    let wrong = "Authorization: Bearer canary-of-the-local-tokem\r\n";
    for (path, fields, status, body) in [
        ("/v1/state", bearer.as_str(), "200", "\"metadata\""),
        ("/v1/state/secrets/db", &bearer, "200", "\"value\""),
        ("/none", &bearer, "404", "not found"),
        ("/none", "", "401", "{\"error\":\"unauthorized\"}"),
        ("/v1/state", wrong, "401", "{\"error\":\"unauthorized\"}"),
        ("/v1/state", &foreign, "403", "{\"error\":\"forbidden\"}"),
        ("http://evil.example/v1/state", &bearer, "403", "{\"error\":\"forbidden\"}"),
        ("http://localhost/v1/state", &bearer, "200", "\"metadata\""),
    ] {
        let answer = ask(address, path, fields).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        assert!(answer.contains(body), "{path}: {answer}");
        assert_eq!(answer.contains("www-authenticate: Bearer"), status == "401", "{answer}");
        assert!(!answer.to_ascii_lowercase().contains("access-control"), "{answer}");
    }
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    assert!(!node.log().contains(TOKEN), "the token is in the log");
}

/// Opens an event stream and reads until it has greeted.
fn watch(address: SocketAddr) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let request = format!("GET /v1/watch HTTP/1.1\r\nHost: {address}\r\n{bearer}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    line_with(&mut stream, "event: hello");
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn watchers_by_tcp_leave_places_for_others_and_are_not_cut_off_for_them() {
    let plane = fixture().await;
    let address = free();
    let node = node(&plane.url(), address, TOKEN, 0o600);
    let _agent = node.start();
    until("the listener is open", || TcpStream::connect(address).is_ok()).await;
    until("the node is ready", || node.run(&["status"]).status.success()).await;
    let mut watchers: Vec<_> = (0..32).map(|_| watch(address)).collect();
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let refused = ask(address, "/v1/watch", &bearer).unwrap();
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("{\"error\":\"too many watchers\"}"), "{refused}");
    let idle: Vec<_> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert!(ask(address, "/v1/state", &bearer).unwrap().starts_with("HTTP/1.1 200 "));
    let state = json!({"state": {"metadata": [{"key": "zone", "value": "x"}]}});
    post(&plane, "/test/configure-state", &state);
    for watcher in &mut watchers {
        line_with(watcher, "\"zone\"");
    }
    drop(idle);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_token_file_that_holds_none_or_is_not_there_stops_the_start_with_its_mend() {
    let node = node("http://127.0.0.1:9", free(), " \n", 0o600);
    let refused = || {
        let ended = node.run(&["run"]);
        assert_eq!(ended.status.code(), Some(1));
        text(&ended.stderr)
    };
    let told = refused();
    let mend = "is empty: write a token of 16 bytes or more into it";
    assert!(told.contains("local_api.http_token_file") && told.contains(mend), "{told}");
    fs::remove_file(node.path("local-token")).unwrap();
    let told = refused();
    assert!(
        told.contains("cannot be read (No such file") && told.contains("write a token"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_token_that_others_can_read_or_guess_is_warned_of_and_works() {
    let plane = fixture().await;
    let address = free();
    let node = node(&plane.url(), address, "short", 0o644);
    let agent = node.start();
    until("the listener is open", || TcpStream::connect(address).is_ok()).await;
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    for mend in ["set its mode to 0600", "write 16 bytes or more into it"] {
        assert!(node.log().contains(mend), "{}", node.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_busy_port_is_told_with_its_address_and_key() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let node = node("http://127.0.0.1:9", address, TOKEN, 0o600);
    let ended = node.run(&["run"]);
    assert_eq!(ended.status.code(), Some(1));
    let told = text(&ended.stderr);
    assert!(
        told.contains(&format!("cannot listen on {address} (local_api.http_listen)")),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_listener_beyond_loopback_and_a_folder_of_others_are_warned_of_and_stop_nothing() {
    let plane = fixture().await;
    let near = free();
    let far = SocketAddr::from(([0, 0, 0, 0], near.port()));
    let warnings = [
        "local_api.http_listen 0.0.0.0:",
        "the token goes in clear",
        "run, the folder of local_api.socket_path, can be changed by everybody, who can replace the local socket",
        "chmod o-w",
    ];
    for (listen, mode, warned) in [(near, 0o755, false), (far, 0o777, true)] {
        let node = node(&plane.url(), listen, TOKEN, 0o600);
        fs::create_dir(node.path("run")).unwrap();
        fs::set_permissions(node.path("run"), Permissions::from_mode(mode)).unwrap();
        let agent = node.start();
        until("the node is ready", || node.run(&["status"]).status.success()).await;
        let log = node.log();
        for warning in warnings {
            assert_eq!(log.contains(warning), warned, "{warning}: {log}");
        }
        agent.kill();
    }
}
