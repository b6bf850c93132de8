//! The peers of the socket: what the kernel knows of them when they connect, and which of them may read secrets, or order.

use std::{
    fs::{self, File, Permissions},
    os::{
        fd::OwnedFd,
        unix::{fs::PermissionsExt as _, net::UnixStream},
    },
    path::Path,
    process::{Command, Stdio},
};

use meshward_core::{
    agent::{Peer, local::gate},
    wire::http::Response,
};
use meshward_shell::local::{self, Addresses, Asked, Inlet, Listeners};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// A group that every system has, in the place of the one of secrets and of the one of the socket.
const GROUP: &str = "daemon";

const SECRETS: &str = "/v1/state/secrets";
/// Where the gate before the orders is asked here.
const ORDERS: &str = "/v1/actions";

/// Answers whether the gate before the path lets a request through, and who asked.
fn judge(asked: &Asked) -> Response {
    let passes = match asked.request.path.as_str() {
        ORDERS => gate::may_order(&asked.caller),
        _ => gate::admits(true, &asked.caller),
    };
    let status = if passes { 200 } else { 403 };
    let body = match &asked.caller.peer {
        Some(Peer { uid, groups, .. }) => format!("{uid} {groups:?}"),
        None => "nobody".to_owned(),
    };
    Response { body: body.into(), ..Response::empty(status) }
}

/// A socket that every user of the system can open.
async fn open(group: &str) -> (TempDir, Addresses, Listeners) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("run/api.sock");
    let place = Addresses {
        socket,
        group: group.to_owned(),
        secret_group: Some(group.to_owned()),
        tcp: None,
        health: None,
    };
    let (sender, mut inbox) = mpsc::channel::<Asked>(4);
    tokio::spawn(async move {
        while let Some(asked) = inbox.recv().await {
            let response = judge(&asked);
            // The peer may be gone.
            drop(asked.reply.send(response.into()));
        }
    });
    let listeners =
        local::listen(&place, &Inlet { asked: sender, facts: mpsc::channel(1).0 }).await.unwrap();
    for (path, mode) in [(folder.path(), 0o755), (&place.socket, 0o666)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    (folder, place, listeners)
}

/// Asks with `curl` as another user; tells the status and the body.
fn ask(socket: &Path, identity: &[&str]) -> (u16, String) {
    ask_for(SECRETS, socket, identity)
}

fn ask_for(path: &str, socket: &Path, identity: &[&str]) -> (u16, String) {
    let output = Command::new("setpriv")
        .args(identity)
        .args([
            "curl",
            "--silent",
            "--show-error",
            "--write-out",
            "\n%{http_code}",
            "--unix-socket",
        ])
        .arg(socket)
        .arg(format!("http://node{path}"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let (body, status) = text.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), body.to_owned())
}

/// Only the superuser can become another user; without one there is nothing to be seen here.
fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_secret_is_read_by_root_and_by_members_of_the_group_alone() {
    if !is_superuser() {
        return;
    }
    let (_folder, place, _listeners) = open(GROUP).await;
    let many: Vec<String> = (2000..2080).map(|id| id.to_string()).collect();
    let among_many = format!("{},1", many.join(","));
    let nobody = ["--reuid", "1234", "--regid", "1234", "--clear-groups"];
    let primary = ["--reuid", "1234", "--regid", "1", "--clear-groups"];
    let supplementary = ["--reuid", "1234", "--regid", "1234", "--groups", "5,1,7"];
    let one_of_many = ["--reuid", "1234", "--regid", "1234", "--groups", &among_many];
    let unmapped = ["--reuid", "65534", "--regid", "1", "--groups", "1,0"];
    let root_group = ["--reuid", "1234", "--regid", "0", "--groups", "0"];
    let root = ["--clear-groups"];
    for (identity, expected) in [
        (nobody.as_slice(), (403, "1234 [1234]")),
        (&primary, (200, "1234 [1]")),
        (&supplementary, (200, "1234 [1234, 1, 5, 7]")),
        (&unmapped, (403, "65534 [1, 0, 1]")),
        (&root_group, (403, "1234 [0, 0]")),
        (&root, (200, "0 [0]")),
    ] {
        let (status, body) = ask(&place.socket, identity);
        assert_eq!((status, body.as_str()), expected, "{identity:?}");
    }
    let (status, body) = ask(&place.socket, &one_of_many);
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("2079"), "{body}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_order_is_taken_from_root_and_from_members_of_the_group_alone() {
    if !is_superuser() {
        return;
    }
    let (_folder, place, _listeners) = open(GROUP).await;
    for (identity, expected) in [
        (["--reuid", "1234", "--regid", "1234", "--clear-groups"].as_slice(), 403),
        (&["--reuid", "1234", "--regid", "0", "--groups", "0"], 403),
        (&["--reuid", "1234", "--regid", "1", "--clear-groups"], 200),
        (&["--reuid", "1234", "--regid", "1234", "--groups", "5,1,7"], 200),
        (&["--reuid", "65534", "--regid", "1", "--groups", "1"], 403),
        (&["--clear-groups"], 200),
    ] {
        assert_eq!(ask_for(ORDERS, &place.socket, identity).0, expected, "{identity:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_group_that_does_not_exist_has_no_members() {
    if !is_superuser() {
        return;
    }
    let (_folder, place, _listeners) = open("no-such-group").await;
    let member = ["--reuid", "1234", "--regid", "1234", "--groups", "0,1,2,3"];
    assert_eq!(ask(&place.socket, &member).0, 403);
    assert_eq!(ask(&place.socket, &["--clear-groups"]).0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_peer_is_who_connected_and_not_who_writes() {
    if !is_superuser() {
        return;
    }
    let (folder, place, _listeners) = open(GROUP).await;
    let request = folder.path().join("request");
    fs::write(&request, "GET /v1/state/secrets HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        .unwrap();
    let connected = UnixStream::connect(&place.socket).unwrap();
    let handed = OwnedFd::from(connected.try_clone().unwrap());
    let written = Command::new("setpriv")
        .args(["--reuid", "1234", "--regid", "1234", "--clear-groups", "cat"])
        .stdin(File::open(&request).unwrap())
        .stdout(Stdio::from(handed))
        .status()
        .unwrap();
    assert!(written.success());
    let answer = std::io::read_to_string(connected).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
