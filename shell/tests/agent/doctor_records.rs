//! `doctor` on where records come from and go to: log files by the rules of the agent, and endpoints that are looked at.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::symlink,
    sync::mpsc,
};

use meshward_fixture::{Fixture, Options};

use crate::{
    doctor::{check, examined},
    node::{Node, counter, fixture, get, until},
};

const QUIET: &str = "[health]\nenabled = false\n[actions]\nenabled = false\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn log_files_are_told_as_the_agent_tells_them() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), &format!("{QUIET}[logs]\njournald = false\n"));
    fs::create_dir(node.path("logs")).unwrap();
    fs::write(node.path("logs/app.log"), "a\n").unwrap();
    symlink(node.path("logs/app.log"), node.path("logs/link.log")).unwrap();
    let before = "journald = false\n".to_owned();
    let follow = |names: &[&str], former: &str| {
        let paths: Vec<_> = names.iter().map(|name| node.path(name)).collect();
        let now = format!("journald = false\nfile_patterns = {paths:?}\n");
        node.amend(former, &now);
        now
    };
    let now = follow(&["logs"], &before);
    let (state, words) = check(&node, "log files");
    assert!(state == "warn" && words.contains("it is a folder: write"), "{words}");
    let now = follow(&["logs/link.log"], &now);
    let (state, words) = check(&node, "log files");
    assert!(
        state == "warn" && words.contains("it is a symbolic link, which is not followed"),
        "{words}"
    );
    let now = follow(&["nowhere/*.log"], &now);
    let (state, words) = check(&node, "log files");
    assert!(state == "warn" && words.contains("nowhere is not there"), "{words}");
    let now = follow(&["logs/later.log"], &now);
    let (state, words) = check(&node, "log files");
    assert!(state == "good" && words.contains("no file is there yet"), "{words}");
    follow(&["logs/a*.log"], &now);
    let (state, words) = check(&node, "log files");
    assert!(state == "good" && words.contains("files that are read: 1"), "{words}");
}

fn with_endpoint(plane: &str, url: &str, more: &str) -> Node {
    let audit = "[audit]\nauditd = false\n[audit.local_endpoint]\nsecret_key = \"local-token\"\n";
    Node::new(plane, &format!("{QUIET}{audit}url = {url:?}\n{more}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_local_endpoint_is_looked_at_with_its_own_settings_and_given_nothing() {
    let tls_addr = Some("127.0.0.1:0".parse().unwrap());
    let plane = Fixture::start(Options { tls_addr, ..Options::default() }).await.unwrap();
    let url = format!("https://{}/local/audit", plane.tls_addr().unwrap());
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let node = with_endpoint(&plane.url(), &format!("https://{closed}/x?key=1"), "");
    let (state, words) = check(&node, "local endpoints");
    assert!(
        state == "bad" && words.contains(&format!("audit: nobody answers at {closed}")),
        "{words}"
    );
    let node = with_endpoint(&plane.url(), &url, "");
    let (state, words) = check(&node, "local endpoints");
    assert!(state == "bad" && words.contains("a CA that this node does not trust"), "{words}");
    let node = with_endpoint(&plane.url(), &url, "tls_insecure_skip_verify = true\n");
    let (state, words) = check(&node, "local endpoints");
    assert!(state == "warn" && words.contains("is trusted with its records"), "{words}");
    assert!(words.contains("how its records fare is not known: no agent"), "{words}");
    assert_eq!(counter(&plane, "secrets_count"), 0, "the secret is not fetched");
    let asked = get(&plane, "/test/requests").to_string();
    assert!(!asked.contains("/local/audit"), "nothing is sent to it: {asked}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn how_the_records_for_a_local_endpoint_fare_is_told_by_the_agent_that_runs() {
    let tls_addr = Some("127.0.0.1:0".parse().unwrap());
    let plane = Fixture::start(Options { tls_addr, ..Options::default() }).await.unwrap();
    let url = format!("https://{}/local/audit", plane.tls_addr().unwrap());
    let node = with_endpoint(&plane.url(), &url, "tls_insecure_skip_verify = true\n");
    node.amend("[audit]\n", "[audit]\ncollect_interval = \"1s\"\nreport_interval = \"1s\"\n");
    let agent = node.start();
    until("it is ready", || node.run(&["status"]).status.success()).await;
    let (_, words) = check(&node, "local endpoints");
    assert!(words.contains("the secret local-token, is asked for with the first"), "{words}");
    until("its start is told there", || counter(&plane, "local_audit_count") > 0).await;
    let taken =
        || check(&node, "local endpoints").1.contains("since the start of the agent, and 0 not");
    until("it is told", taken).await;
    drop(agent);
    let bad = with_endpoint(
        &plane.url(),
        &url.replace("/local/audit", "/nowhere"),
        "tls_insecure_skip_verify = true\n",
    );
    bad.amend("[audit]\n", "[audit]\ncollect_interval = \"1s\"\nreport_interval = \"1s\"\n");
    let _agent = bad.start();
    until("it is told", || {
        let (state, words) = check(&bad, "local endpoints");
        state == "warn" && words.contains("it took none of ")
    })
    .await;
}

#[test]
fn all_that_a_local_endpoint_receives_is_what_opens_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/x", listener.local_addr().unwrap());
    let (give, take) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = vec![0; 4096];
        let read = stream.read(&mut bytes).unwrap();
        bytes.truncate(read);
        // Whoever met no TLS does not read on.
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        give.send(bytes).unwrap();
    });
    let node = with_endpoint("http://127.0.0.1:9", &url, "");
    let (rows, _) = examined(&node);
    assert_eq!(rows["local endpoints"].0, "bad", "{rows:?}");
    let received = take.recv().unwrap();
    assert_eq!(received.first(), Some(&0x16), "a handshake of TLS");
    assert!(!received.windows(4).any(|four| four == b"POST" || four == b"Bear"));
}
