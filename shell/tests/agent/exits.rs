//! Starts that fail: a clear message each, its exit code, and nothing lost.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::node::{Node, counter, fixture, text, until};

/// A port that nobody listens on.
const NOBODY: &str = "http://127.0.0.1:9";

fn refused(node: &Node, arguments: &[&str], code: i32, words: &[&str]) {
    let output = node.run(arguments);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{told}");
    for word in words {
        assert!(told.contains(word), "{word:?} is missing in {told:?}");
    }
}

#[test]
fn a_control_plane_that_is_down_is_retried_for_the_window_and_then_told() {
    let node = Node::new(NOBODY, "");
    let config = fs::read_to_string(node.path("config.toml")).unwrap();
    let config =
        config.replace("[registration]\n", "[registration]\nmax_retry_duration = \"2s\"\n");
    fs::write(node.path("config.toml"), config).unwrap();
    refused(
        &node,
        &["register"],
        1,
        &[
            "registration gave up after",
            "beyond registration.max_retry_duration",
            "cannot be reached: http://127.0.0.1:9/ (control_plane.url): ",
        ],
    );
    assert!(node.path("token").exists(), "the token is kept");
    assert!(!node.data("identity.json").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_refusal_of_the_control_plane_is_exit_4_with_its_code() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "");
    fs::write(node.path("token"), "psb_dev_test_node_aaaaaaaaaaaaaconsumed").unwrap();
    refused(
        &node,
        &["register"],
        4,
        &["403", "token_consumed", "used up", "ask for a new one", "registration.token_file"],
    );
    fs::write(node.data("private_key"), "what a registration that was cut off leaves").unwrap();
    refused(&node, &["register"], 4, &["private_key is there without identity.json", "used up"]);
    assert!(node.path("token").exists());
    assert_eq!(counter(&plane, "registration_count"), 2, "each start tries once");
}

/// A control plane that accepts every registration with more than is read of an answer; how often it was asked.
fn talkative() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            if stream
                .read(&mut head)
                .is_ok_and(|length| head[..length].starts_with(b"POST /v1/register"))
            {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            // A client that has read enough may be gone. One that has not would be cut off by a close.
            let _ = stream.write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 20971520\r\n\r\n{");
            open.push(stream);
        }
    });
    (url, count)
}

#[test]
fn a_201_that_is_too_large_ends_the_registration_and_is_never_retried() {
    let (url, asked) = talkative();
    let node = Node::new(&url, "");
    refused(&node, &["register"], 1, &["too large to be read", "used up", "ask for a new one"]);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(!node.data("identity.json").exists());
}

#[test]
fn what_a_registration_lacks_is_named() {
    let node = Node::new(NOBODY, "");
    fs::remove_file(node.path("token")).unwrap();
    refused(
        &node,
        &["register"],
        1,
        &[
            "no bootstrap token",
            "registration.token_value",
            "AGENT_BOOTSTRAP_TOKEN",
            "registration.use_metadata is false",
        ],
    );
    fs::write(node.path("token"), "with\ttab inside").unwrap();
    refused(&node, &["register"], 1, &["printable ASCII", "the file of registration.token_file"]);
    fs::write(node.path("token"), "token").unwrap();
    let config = fs::read_to_string(node.path("config.toml")).unwrap();
    fs::write(node.path("config.toml"), config.replace("resource_handle = \"node-1\"\n", ""))
        .unwrap();
    refused(&node, &["register"], 1, &["registration.resource_handle"]);
}

#[test]
fn a_token_file_that_others_can_read_is_warned_of_with_the_mend() {
    let node = Node::new(NOBODY, "");
    node.amend("[registration]\n", "[registration]\nmax_retry_duration = \"1ms\"\n");
    let warned = || text(&node.run(&["register"]).stderr).contains(&mend(&node));
    for (mode, open) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
        fs::set_permissions(node.path("token"), fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(warned(), open, "{mode:o}");
    }
}

fn mend(node: &Node) -> String {
    format!("can be read or changed by others: chmod 600 {}", node.path("token").display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_second_agent_on_the_same_directory_is_told_who_has_it() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let _first = node.start();
    until("the first is registered", || node.data("identity.json").exists()).await;
    refused(&node, &["run"], 1, &["another agent", "node.data_dir"]);
}

#[test]
fn a_busy_port_is_named_with_its_key() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let node = Node::new(NOBODY, &format!("[health]\nlisten = {address:?}\n"));
    refused(&node, &["run"], 1, &[&address, "health.listen"]);
}

#[test]
fn a_directory_that_others_can_enter_is_refused_with_the_mend() {
    let node = Node::new(NOBODY, "");
    fs::create_dir(node.path("data")).unwrap();
    fs::set_permissions(node.path("data"), fs::Permissions::from_mode(0o755)).unwrap();
    refused(&node, &["register"], 1, &["chmod 700"]);
}

#[test]
fn something_in_the_way_of_the_socket_is_not_removed() {
    let node = Node::new(NOBODY, "[health]\nenabled = false\n");
    fs::create_dir(node.path("run")).unwrap();
    fs::write(node.path("run/api.sock"), "mine").unwrap();
    refused(&node, &["run"], 1, &["local_api.socket_path", "no socket"]);
    assert_eq!(fs::read_to_string(node.path("run/api.sock")).unwrap(), "mine");
}

#[test]
fn a_file_in_the_place_of_the_run_directory_is_named_with_its_key_and_left_alone() {
    let node = Node::new(NOBODY, "[health]\nenabled = false\n");
    fs::write(node.path("run"), "mine").unwrap();
    let place = node.path("run").display().to_string();
    refused(&node, &["run"], 1, &[&place, "is no folder", "node.run_dir"]);
    assert_eq!(fs::read_to_string(node.path("run")).unwrap(), "mine");
}

#[test]
fn a_socket_that_can_be_none_is_told_as_what_it_is() {
    let node = Node::new(NOBODY, "");
    let at = |path: &str, word: &str| {
        let output = node.run(&["--socket", path, "status"]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{told}");
        assert!(told.contains(path) && told.contains(word) && !told.contains("start it"), "{told}");
    };
    at(&node.path("").display().to_string(), "that is a folder: name the socket in it");
    at(&node.path("config.toml").display().to_string(), "that is no socket");
    at(&format!("/tmp/{}", "x".repeat(120)), "too long for a socket");
}

#[test]
fn a_client_without_an_agent_is_exit_5_and_bad_usage_exit_2() {
    let node = Node::new(NOBODY, "");
    refused(&node, &["status"], 5, &["no agent on the socket", "--socket"]);
    refused(&node, &["state", "metadata"], 5, &["api.sock"]);
    refused(&node, &["frobnicate"], 2, &["frobnicate"]);
    refused(&node, &["--output", "xml", "status"], 2, &["xml"]);
    let version = node.run(&["version"]);
    assert_eq!(text(&version.stdout), format!("meshward {}\n", env!("CARGO_PKG_VERSION")));
    let version = node.run(&["--output", "json", "version"]);
    let version: serde_json::Value = serde_json::from_slice(&version.stdout).unwrap();
    assert_eq!(version, serde_json::json!({"version": env!("CARGO_PKG_VERSION")}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_log_that_nobody_takes_neither_ends_nor_stalls_the_agent() {
    let plane = fixture().await;
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    for log in [full(), Stdio::piped()] {
        let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
        let agent = node.start_with(log);
        until("the agent is ready", || node.run(&["status"]).status.success()).await;
        let seen = counter(&plane, "state_count");
        until("it goes on", || counter(&plane, "state_count") > seen + 2).await;
        agent.signal("-TERM");
        assert_eq!(agent.ended(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_folder_where_a_file_is_to_be_written_ends_the_start_before_a_token_is_spent() {
    let plane = fixture().await;
    for name in ["identity.json", "node_secret_key", "signing_public_key", "private_key"] {
        let node = Node::new(&plane.url(), "");
        let place = node.path("data").join(format!(".tmp-{name}"));
        fs::create_dir_all(&place).unwrap();
        fs::set_permissions(node.path("data"), fs::Permissions::from_mode(0o700)).unwrap();
        let words = ["cannot remove", &format!(".tmp-{name}"), "directory"];
        refused(&node, &["register"], 1, &words);
    }
    assert_eq!(counter(&plane, "registration_count"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_limit_of_the_size_of_files_is_a_fault_of_the_disk_and_spends_no_token() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "");
    node.amend("[registration]", "[registration]\nmax_retry_duration = \"1s\"");
    let line = "ulimit -f 4; exec \"$0\" --config \"$1\" register";
    let config = node.path("config.toml");
    let output = std::process::Command::new("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_meshward")])
        .arg(config)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(counter(&plane, "registration_count"), 0);
}
