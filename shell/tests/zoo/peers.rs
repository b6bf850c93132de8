//! The actions that ask another node by a tool, with scripts in its place.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use meshward_core::agent::{
    Captured, Cause, Ending,
    builtins::{
        PING, TRACEROUTE,
        peer::{Tool, tool},
    },
};
use meshward_shell::actions::{peers::ask, supervisor};
use tempfile::TempDir;
use tokio::sync::oneshot;

const LONG: Duration = Duration::from_secs(60);
const MAX: usize = 1 << 20;

/// A folder with this script as its only tool. A shell writes it, as a file that this process has open for writing
/// while another test begins a program could not be run.
fn stand_in(name: &str, script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    let write = "printf '%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let script = format!("#!/bin/sh\n{script}");
    let written = Command::new("sh").args(["-c", write, "sh", &script]).arg(&file).status();
    assert!(written.unwrap().success());
    folder
}

fn order(action: &str, pairs: &[(&str, &str)]) -> Tool {
    let given = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    tool(action, &given).unwrap().unwrap()
}

async fn asked(action: &str, folder: &Path, deadline: Duration, max: usize) -> Ending {
    let (_go_on, cancelled) = oneshot::channel();
    supervisor::use_image(Path::new(env!("CARGO_BIN_EXE_meshward")));
    let tool = order(action, &[("peer_id", "10.0.0.9"), ("count", "2"), ("max_hops", "3")]);
    ask(&tool, folder.to_str().unwrap(), (deadline, max), cancelled).await
}

fn text(stream: &Captured) -> &str {
    std::str::from_utf8(&stream.bytes).unwrap()
}

#[tokio::test]
async fn a_tool_is_given_its_options_and_the_address_and_nothing_of_the_environment() {
    let script = "printf '<%s>' \"$@\"; cat; env | grep -v -e ^PWD= -e ^_= | sed 's/=.*//' | sort; pwd; echo said >&2";
    for (action, name, given) in [
        (PING, "ping", "<-n><-c><2><-W><3><--><10.0.0.9>"),
        (TRACEROUTE, "traceroute", "<-n><-m><3><-w><3><--><10.0.0.9>"),
    ] {
        let folder = stand_in(name, script);
        let ending = asked(action, folder.path(), LONG, MAX).await;
        assert_eq!(ending.cause, Cause::Exited(0));
        assert_eq!(text(&ending.stdout), format!("{given}LC_ALL\nPATH\n/\n"));
        assert_eq!(text(&ending.stderr), "said\n");
    }
}

#[tokio::test]
async fn a_tool_that_fails_or_dies_ends_the_run_with_one_and_what_it_said_on_stderr() {
    for (script, said) in [
        ("echo out; echo err >&2; exit 2", "out\nerr\n"),
        ("echo out; exit 1", "out\n"),
        ("echo out; kill -KILL $$", "out\nping was ended by signal 9\n"),
    ] {
        let folder = stand_in("ping", script);
        let ending = asked(PING, folder.path(), LONG, MAX).await;
        assert_eq!(ending.cause, Cause::Exited(1), "{script}");
        assert_eq!((text(&ending.stdout), text(&ending.stderr)), ("", said), "{script}");
    }
}

#[tokio::test]
async fn a_tool_that_is_missing_or_no_program_is_told_in_words() {
    let empty = tempfile::tempdir().unwrap();
    for (action, words) in
        [(PING, "ping not available\n"), (TRACEROUTE, "traceroute not available\n")]
    {
        let ending = asked(action, empty.path(), LONG, MAX).await;
        assert_eq!((ending.cause, text(&ending.stderr)), (Cause::Exited(1), words));
    }
    std::fs::create_dir(empty.path().join("ping")).unwrap();
    let ending = asked(PING, empty.path(), LONG, MAX).await;
    assert_eq!(text(&ending.stderr), "ping not available\n", "a folder is no tool");
    let folder = stand_in("ping", "");
    std::fs::write(folder.path().join("ping"), "#!/nonexistent/interpreter\n").unwrap();
    let ending = asked(PING, folder.path(), LONG, MAX).await;
    assert_eq!(ending.cause, Cause::Exited(1));
    assert!(text(&ending.stderr).starts_with("ping cannot be run: "), "{ending:?}");
}

#[tokio::test]
async fn a_tool_that_floods_is_read_to_its_end_and_kept_to_the_limit() {
    let folder = stand_in("ping", "yes | head -c 3000000; yes no | head -c 2000000 >&2");
    let ending = asked(PING, folder.path(), LONG, 4096).await;
    assert_eq!(ending.cause, Cause::Exited(0));
    for (stream, begin) in [(&ending.stdout, "y\ny\n"), (&ending.stderr, "no\nno\n")] {
        assert_eq!((stream.bytes.len(), stream.cut), (4096, true));
        assert!(text(stream).starts_with(begin));
    }
    let exact = stand_in("ping", "printf 1234");
    let ending = asked(PING, exact.path(), LONG, 4).await;
    assert_eq!(ending.stdout, Captured { bytes: b"1234".to_vec(), cut: false });
}

/// Waits in a child of its own, which writes its id first.
const HANGING: &str = "echo begun; tail -f /dev/null & echo $!; wait";

fn lives(id: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat"));
    // What was killed and is not yet waited for is a zombie.
    state.is_ok_and(|line| !line.rsplit(')').next().unwrap().starts_with(" Z"))
}

async fn dead(id: &str) {
    let begun = Instant::now();
    while lives(id) {
        assert!(begun.elapsed() < Duration::from_secs(30), "a child lives on");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_tool_that_hangs_is_ended_with_its_children_at_its_deadline() {
    let folder = stand_in("traceroute", HANGING);
    let ending = asked(TRACEROUTE, folder.path(), Duration::from_secs(2), MAX).await;
    assert_eq!(ending.cause, Cause::TimedOut);
    let mut lines = text(&ending.stdout).lines();
    assert_eq!(lines.next(), Some("begun"), "what it said before is kept");
    dead(lines.next().unwrap()).await;
}

#[tokio::test]
async fn a_tool_is_ended_with_its_children_when_its_run_is_cancelled() {
    for drops in [true, false] {
        let folder = stand_in("ping", "tail -f /dev/null & echo $! > \"$0.child\"; wait");
        let (stop, cancelled) = oneshot::channel();
        let path = folder.path().to_str().unwrap().to_owned();
        let tool = order(PING, &[("peer_id", "10.0.0.9")]);
        supervisor::use_image(Path::new(env!("CARGO_BIN_EXE_meshward")));
        let run = tokio::spawn(async move { ask(&tool, &path, (LONG, MAX), cancelled).await });
        let note = folder.path().join("ping.child");
        let begun = Instant::now();
        let child = loop {
            let child = std::fs::read_to_string(&note).unwrap_or_default();
            if child.ends_with('\n') {
                break child;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "the tool does not begin");
            tokio::task::yield_now().await;
        };
        match drops {
            true => drop(stop),
            false => stop.send(()).unwrap(),
        }
        assert_eq!(run.await.unwrap().cause, Cause::Cancelled);
        dead(child.trim()).await;
    }
}

#[tokio::test]
async fn what_a_tool_leaves_behind_is_ended_with_its_run() {
    let folder = stand_in("ping", "tail -f /dev/null & echo $!");
    let ending = asked(PING, folder.path(), Duration::from_secs(2), MAX).await;
    dead(text(&ending.stdout).trim()).await;
}
