//! `doctor` on the listener by TCP with its token, on those whom the system trusts, and on files that are open to others.

use std::{collections::BTreeMap, fs, net::TcpListener, os::unix::fs::PermissionsExt as _};

use meshward_fixture::{Fixture, Options};
use serde_json::Value;

use crate::{
    doctor::{REST, check, examined},
    node::{Node, fixture, read, text, until},
    tcp::{TOKEN, free, node},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_tcp_listener_is_told_by_its_port_and_its_token_and_nobody_is_given_the_token() {
    let plane = fixture().await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let heard = taken.try_clone().unwrap();
    let other = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = heard.accept().unwrap();
        let (mut asked, mut some) = (Vec::new(), [0; 4096]);
        while !asked.ends_with(b"\r\n\r\n") {
            let read = stream.read(&mut some).unwrap();
            assert!(read > 0, "the request ends early");
            asked.extend_from_slice(&some[..read]);
        }
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno").unwrap();
        text(&asked)
    });
    let of_another = node(&plane.url(), taken.local_addr().unwrap(), TOKEN, 0o600);
    let (state, words) = check(&of_another, "tcp listener");
    assert!(state == "bad" && words.contains("set local_api.http_listen"), "{words}");
    let asked = other.join().unwrap();
    assert!(asked.starts_with("GET /v1/status ") && !asked.contains(TOKEN), "{asked}");

    let node = node(&plane.url(), free(), TOKEN, 0o600);
    let (rows, _) = examined(&node);
    assert!(rows["tcp listener"].1.contains("is free"), "{rows:?}");
    assert_eq!(rows["tcp token"].0, "good", "{rows:?}");
    let agent = node.start();
    until("the node is ready", || node.run(&["status"]).status.success()).await;
    let (state, words) = check(&node, "tcp listener");
    assert!(state == "good" && words.contains(" answers"), "{words}");
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    let file = node.path("local-token");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let (state, words) = check(&node, "tcp token");
    assert!(state == "warn" && words.contains("/ set its mode to 0600"), "{words}");
    fs::write(&file, "two words").unwrap();
    let (state, words) = check(&node, "tcp token");
    assert!(state == "bad" && words.contains("holds no token, so that"), "{words}");
    assert!(!words.contains("two words"), "{words}");
    fs::remove_file(&file).unwrap();
    let (state, words) = check(&node, "tcp token");
    assert!(state == "bad" && words.contains("No such file"), "{words}");
}

/// The rows of a node whose system trusts whoever this file names.
fn trusting(node: &Node, file: &str) -> BTreeMap<String, Value> {
    let mut command = node.command(&["--output", "json", "doctor"]);
    let output = command.env_remove("SSL_CERT_DIR").env("SSL_CERT_FILE", file).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = told["findings"].as_array().unwrap().iter();
    rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row.clone())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn whom_the_system_trusts_is_told_where_somebody_is_asked_by_tls() {
    let tls_addr = Some("127.0.0.1:0".parse().unwrap());
    let plane = Fixture::start(Options { tls_addr, ..Options::default() }).await.unwrap();
    let url = format!("https://{}", plane.tls_addr().unwrap());
    let rest = format!("[health]\nenabled = false\n{REST}");
    let node = Node::new(&url, &rest);
    let said = |file: &str, name: &str| {
        let row = trusting(&node, file).remove(name).unwrap();
        let part = |name: &str| row[name].as_str().unwrap().to_owned();
        (part("state"), part("words"), part("mend"))
    };
    let (state, words, mend) = said("/nowhere/ca.pem", "ca certificates");
    assert!(state == "bad" && words.contains("SSL_CERT_FILE=/nowhere/ca.pem"), "{words}");
    assert!(words.contains("No such file") && mend.contains("correct SSL_CERT_FILE"), "{words}");
    let (state, _, mend) = said("/nowhere/ca.pem", "tls");
    assert!(state == "bad" && mend.contains("SSL_CERT_FILE"), "{mend}");
    let nobody = node.path("token").display().to_string();
    let (state, words, _) = said(&nobody, "ca certificates");
    assert!(state == "bad" && words.contains("so that nobody is trusted"), "{words}");
    let pipe = node.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for endless in [pipe.display().to_string(), "/dev/zero".to_owned()] {
        let (state, words, _) = said(&endless, "ca certificates");
        assert!(state == "bad" && words.contains("it is not a regular file"), "{words}");
    }
    let own = node.path("ca.pem");
    fs::write(&own, plane.request(read("/test/tls-cert")).body).unwrap();
    let own = own.display().to_string();
    assert_eq!(said(&own, "ca certificates").0, "good");
    assert_eq!(said(&own, "tls").0, "good");
    let plain = Node::new(&plane.url(), &rest);
    assert!(!trusting(&plain, "/nowhere/ca.pem").contains_key("ca certificates"));
    let beside = Node::new(&url, &rest);
    beside.amend("[control_plane]", &format!("[control_plane]\nca_file = {own:?}"));
    let row = trusting(&beside, &nobody).remove("ca certificates").unwrap();
    assert!(row["words"].as_str().unwrap().contains("ca_file is trusted alone"), "{row}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_identity_file_that_is_open_to_others_is_told_at_the_start_and_by_the_doctor() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), &format!("[health]\nenabled = false\n{REST}"));
    assert!(node.run(&["register"]).status.success());
    let key = node.data("private_key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let mend = format!("chmod 600 {}", key.display());
    let agent = node.start();
    until("it is told", || node.log().contains(&mend)).await;
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
    let lines = text(&node.run(&["doctor"]).stdout);
    let of_it: Vec<_> = lines.lines().filter(|line| line.contains(" identity: ")).collect();
    assert!(of_it.len() == 1 && of_it[0].starts_with("bad "), "{lines}");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let (state, words) = check(&node, "identity");
    assert!(state == "good" && words.starts_with("node "), "{words}");
}
