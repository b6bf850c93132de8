//! What hangs on a node delays no heartbeat: a file system that does not answer, and a `journalctl` that says nothing.
//!
//! Each agent has a namespace of mounts to itself, which takes root.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    fuse::Fuse,
    local::ask,
    node::{Agent, Node, Plane, counter, fixture, text, until, until_within},
};

/// The rounds of metrics are five seconds apart, and three of them are to be seen.
const ROUNDS: Duration = Duration::from_secs(60);

/// How many heartbeats are to be seen while something hangs, one a second.
const BEATS: u64 = 12;

const HANGS: &str =
    "it does not answer, as from a disk or a program that hangs; the others go on without it";

/// What programs need of a root.
const FOLDERS: [&str; 11] =
    ["bin", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr", "var"];

/// The value of a figure of the agent.
fn figure(node: &Node, name: &str) -> Option<u64> {
    let metrics = ask(node, "/metrics");
    let line = metrics.lines().find(|line| line.starts_with(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Starts the agent in a namespace of mounts, behind a line of the shell that says how it is made.
fn apart(node: &Node, line: &str, stdin: Stdio) -> Agent {
    let run = node.command(&["--log-level", "debug", "run"]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-ec", line]);
    command.arg(run.get_program()).args(run.get_args());
    for (removed, _) in run.get_envs() {
        command.env_remove(removed);
    }
    let log = File::create(node.path("log")).unwrap();
    Agent::of(command.stdin(stdin).stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

/// Heartbeats go on, and none of them is missed.
async fn beats(plane: &Plane, node: &Node) {
    let before = counter(plane, "heartbeat_count");
    until_within(ROUNDS, "heartbeats go on", || {
        counter(plane, "heartbeat_count") >= before + BEATS
    })
    .await;
    let log = node.log();
    assert!(!log.contains("the heartbeat failed"), "{log}");
}

/// The names of the threads of a process.
fn threads(agent: &Agent) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", agent.id())).unwrap();
    let name =
        |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    tasks.map(|task| name(task.unwrap()).trim().to_owned()).collect()
}

/// An agent whose root is a file system that hangs; that is let go before the agent is ended, which it could not be else.
struct Stuck {
    fuse: Fuse,
    agent: Agent,
}

impl Stuck {
    /// The folders of the true root that the agent needs are mounted over those of the other one.
    fn begin(node: &Node) -> Self {
        let run = node.command(&[]);
        let paths = [run.get_program().into(), node.path("")];
        let own = paths.iter().filter_map(|path: &PathBuf| path.iter().nth(1)?.to_str());
        let mut names: Vec<String> = FOLDERS.into_iter().chain(own).map(str::to_owned).collect();
        names.retain(|name| Path::new("/").join(name).is_dir());
        names.sort_unstable();
        names.dedup();
        let root = node.path("root");
        fs::create_dir(&root).unwrap();
        let fuse = Fuse::serving(names.clone()).expect("/dev/fuse can be opened");
        let mut line = format!(
            "mount -i -t fuse -o fd=0,rootmode=40000,user_id=0,group_id=0,allow_other stuck {0}\nexec </dev/null\n",
            root.display()
        );
        for name in names {
            line.push_str(&format!("mount --rbind /{name} {0}/{name}\n", root.display()));
        }
        line.push_str(&format!("exec chroot {} \"$0\" \"$@\"", root.display()));
        let agent = apart(node, &line, fuse.device().into());
        Self { fuse, agent }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_system_that_does_not_answer_costs_one_thread_and_no_heartbeat() {
    let plane = fixture().await;
    let metrics = "[health]\nenabled = false\n[metrics]\ncollect_interval = \"5s\"\nreport_interval = \"10s\"\n";
    let node = Node::new(&plane.url(), metrics);
    let stuck = Stuck::begin(&node);
    until("the file system is asked", || stuck.fuse.waiting() > 0).await;
    until("that it hangs is told", || node.log().contains(HANGS)).await;
    assert_eq!(figure(&node, "meshward_source_troubles{source=\"system\"}"), Some(1));
    let collected = "meshward_ingest_records_collected_total{pipeline=\"metrics\"}";
    let before = figure(&node, collected).unwrap();
    beats(&plane, &node).await;
    until_within(ROUNDS, "the other sources are asked again and again", || {
        figure(&node, collected).is_some_and(|records| records >= before + 3)
    })
    .await;
    assert_eq!(stuck.fuse.waiting(), 1, "it is not asked again while it hangs");
    let hang =
        threads(&stuck.agent).iter().filter(|name| name.starts_with("collect-System")).count();
    assert_eq!(hang, 1, "{:?}", threads(&stuck.agent));
    until_within(ROUNDS, "the rest is sent", || counter(&plane, "metrics_count") > 0).await;
    stuck.fuse.let_go();
    until_within(ROUNDS, "it is asked again once it has answered", || {
        figure(&node, "meshward_source_troubles{source=\"system\"}") == Some(0)
    })
    .await;
    stuck.agent.signal("-TERM");
    let Stuck { fuse, agent } = stuck;
    assert_eq!(agent.ended(), Some(0));
    drop(fuse);
}

/// A node beside a `journalctl` of its own: a script, found in the first folder in which the agent looks for programs.
fn beside_journalctl(url: &str, script: &str) -> (Node, Agent) {
    let node = Node::new(
        url,
        "[health]\nenabled = false\n[logs]\ncollect_interval = \"5s\"\nreport_interval = \"5s\"\n",
    );
    let folder = node.path("bin");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("journalctl");
    fs::write(&program, format!("#!/bin/sh\necho $$ >>{:?}\n{script}\n", node.path("pids")))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let line = format!("export PATH={}:\"$PATH\"\nexec \"$0\" \"$@\"", folder.display());
    let agent = apart(&node, &line, Stdio::null());
    (node, agent)
}

/// The runs of the script that have not ended.
fn left(node: &Node) -> Vec<String> {
    let pids = fs::read_to_string(node.path("pids")).unwrap_or_default();
    let lives = |pid: &&str| {
        let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        text(&stat).contains("(journalctl)") && !text(&stat).contains(") Z ")
    };
    pids.lines().filter(lives).map(str::to_owned).collect()
}

async fn outlives(script: &str) {
    let plane = fixture().await;
    let (node, agent) = beside_journalctl(&plane.url(), script);
    until("the journal is asked", || !left(&node).is_empty()).await;
    until("that it hangs is told", || node.log().contains(HANGS)).await;
    beats(&plane, &node).await;
    until_within(ROUNDS, "the run is ended and told", || {
        node.log().contains("journalctl did not end within 10 seconds")
    })
    .await;
    until_within(ROUNDS, "it is asked again", || !left(&node).is_empty()).await;
    assert_eq!(left(&node).len(), 1, "one at a time");
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0), "a stop does not wait for it");
    until("none is left behind", || left(&node).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_journalctl_that_stands_still_delays_neither_heartbeat_nor_stop() {
    outlives("kill -STOP $$").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_journalctl_that_says_nothing_and_ignores_signals_delays_neither_heartbeat_nor_stop() {
    outlives("trap '' TERM INT HUP PIPE\nwhile :; do sleep 1; done").await;
}
