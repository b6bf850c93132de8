//! `doctor`, `status` and the help as who asks sees them: another user, and one that reads on.

use std::{
    fs,
    net::TcpListener,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::PathBuf,
    process::{Command, Output},
};

use crate::{
    doctor::REST,
    node::{Node, fixture, text, until},
};

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

fn mode(path: PathBuf, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs a command as somebody to whom the data directory and the socket are closed: as another user where that can be, else
/// behind modes that close them to their own.
fn as_another(node: &Node, arguments: &[&str]) -> Output {
    let mut command = node.command(arguments);
    if rustix::process::geteuid().is_root() {
        // What leads to the program of this test may be closed to that user.
        let program = node.path("meshward");
        fs::copy(command.get_program(), &program).unwrap();
        mode(node.path(""), 0o755);
        let mut other = Command::new(program);
        other.args(command.get_args()).uid(NOBODY).gid(NOBODY).current_dir("/");
        return other.output().unwrap();
    }
    let (data, socket) = (node.path("data"), node.path("run").join("api.sock"));
    mode(data.clone(), 0);
    mode(socket.clone(), 0);
    let output = command.output().unwrap();
    mode(data, 0o700);
    mode(socket, 0o600);
    output
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn another_user_than_the_agents_is_told_what_cannot_be_told_and_no_other_cause() {
    let plane = fixture().await;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let node = Node::new(&plane.url(), &format!("[health]\nlisten = \"{port}\"\n{REST}"));
    let _agent = node.start();
    until("it is ready", || node.run(&["status"]).status.success()).await;
    let output = as_another(&node, &["doctor"]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for name in ["agent", "socket", "health listener"] {
        let begin = format!("bad   {name}: ");
        let line = told
            .lines()
            .find(|line| line.starts_with(&begin))
            .unwrap_or_else(|| panic!("{name}: {told}"));
        assert!(
            line.contains("cannot be told as this user; ask as the user of the agent"),
            "{line}"
        );
    }
    for cause in
        ["another agent listens", "is left from an agent", "none runs", "is made by the agent"]
    {
        assert!(!told.contains(cause), "{cause} in {told}");
    }
    assert!(told.contains("bad   identity: "), "{told}");
    let output = as_another(&node, &["status"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(
        told.contains("cannot be opened by this user") && told.contains("join the group meshward"),
        "{told}"
    );
    assert!(!told.contains("no agent"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn status_as_text_tells_how_many_records_wait_in_each_queue() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let _agent = node.start();
    until("it is ready", || node.run(&["status"]).status.success()).await;
    let told = text(&node.run(&["status"]).stdout);
    for name in ["metrics:        ", "logs:           ", "audit:          "] {
        assert!(told.contains(&format!("\n{name}0 to deliver\n")), "{name} in {told}");
    }
}

#[test]
fn the_help_of_a_command_keeps_its_own_options_apart_from_those_of_all() {
    let node = Node::new("http://127.0.0.1:9", "");
    let told = text(&node.run(&["status", "--help"]).stdout);
    let (own, global) = told.split_once("Global options:").expect("they have a heading");
    assert!(own.contains("--wait") && !own.contains("--socket"), "{told}");
    for option in ["--config", "--socket", "--output", "--log-level", "--log-format"] {
        assert!(global.contains(option), "{option} in {told}");
    }
    assert!(global.contains("journald's own protocol"), "{told}");
}

#[test]
fn what_this_version_does_not_use_is_no_fault_of_a_node() {
    let node = Node::new("http://127.0.0.1:9", "[health]\nenabled = false\n");
    for name in ["/dev/net/tun", "CAP_NET_ADMIN"] {
        let (state, words) = crate::doctor::check(&node, name);
        assert!(state == "good" && words.contains("this version has no tunnel"), "{words}");
    }
}
