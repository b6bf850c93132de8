//! Programs that turn against the processes that supervise them, and agents that are no more.

use std::{
    ffi::OsString,
    process::{Child, Command, Stdio},
};

use meshward_core::agent::Cause;
use meshward_shell::actions::supervise::{ControlGroup, Job};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;

use crate::pen::{PATIENCE, SHORT, bearers, mark, nothing_left, run, script, text, until, within};

/// What shows the numbers of the watch and the guard.
const ABOVE: &str = "watch=$PPID; read -r line < /proc/$PPID/stat; set -- ${line##*)}; guard=$2";

const ENDED: &str = "the processes that supervise the run were ended by others";

#[tokio::test]
async fn a_program_that_kills_its_watch_is_ended_by_the_guard() {
    for session in ["", "setsid"] {
        let job = script(&format!("{ABOVE}; {session} $hang & kill -9 $watch; $hang"));
        assert_eq!(run(job).await.cause, Cause::Broken(ENDED.into()));
    }
}

#[tokio::test]
async fn a_program_that_kills_its_guard_is_ended_by_the_watch() {
    for session in ["", "setsid"] {
        let job = script(&format!("{ABOVE}; echo begun; {session} $hang & kill -9 $guard; $hang"));
        let ending = run(job).await;
        assert_eq!(ending.cause, Cause::Broken(ENDED.into()));
        assert_eq!(text(&ending.stdout.bytes), "begun\n");
    }
}

#[tokio::test]
async fn a_program_that_kills_both_is_ended_by_the_agent() {
    let job =
        script(&format!("{ABOVE}; $hang & kill -STOP $watch $guard; kill -9 $guard $watch; $hang"));
    assert_eq!(run(job).await.cause, Cause::Broken(ENDED.into()));
}

#[tokio::test]
async fn a_program_that_stops_its_watch_or_its_guard_or_both_is_ended() {
    for whom in ["$watch", "$guard", "$watch $guard"] {
        let job = script(&format!("{ABOVE}; setsid $hang & kill -STOP {whom}; $hang"));
        assert_eq!(run(within(SHORT, job)).await.cause, Cause::TimedOut);
    }
}

#[tokio::test]
async fn a_run_that_its_caller_drops_is_ended() {
    let (begun, job) = begun(script("setsid $hang & echo > \"$BEGUN\"; trap '' TERM; $hang"));
    let mark = job.arguments[0].to_str().unwrap().to_owned();
    let (_keep, cancelled) = oneshot::channel();
    let running = tokio::spawn(meshward_shell::actions::supervise::supervise(job, cancelled));
    until(|| begun.path().join("begun").exists(), || "it does not begin".into()).await;
    running.abort();
    nothing_left(&mark).await;
}

/// The folder in which a program makes the file `$BEGUN`.
fn begun(mut job: Job) -> (tempfile::TempDir, Job) {
    let folder = tempfile::tempdir().expect("a folder");
    job.environment.push(("BEGUN".into(), folder.path().join("begun").into()));
    (folder, job)
}

/// Tells the other process of the test below, which is this program again, where its program is to begin.
const PLAY_THE_AGENT: &str = "MESHWARD_ZOO_PLAYS_THE_AGENT";

#[tokio::test]
async fn an_agent_that_is_killed_leaves_nothing_of_its_runs() {
    let this = "supervisors::an_agent_that_is_killed_leaves_nothing_of_its_runs";
    let program = "setsid $hang & setsid sh -c '(kill -STOP $$) & exit' & (trap '' TERM; $hang) & \
                   trap '' TERM; $hang & echo > \"$BEGUN\"; $hang";
    if let Some(part) = std::env::var_os(PLAY_THE_AGENT) {
        play_the_agent(part, program).await;
        return;
    }
    for group in ["never", "if-possible"] {
        let (mark, folder) = (mark(), tempfile::tempdir().unwrap());
        let part = format!("{mark}:{group}:{}", folder.path().join("begun").display());
        let mut agent = play(this, &part);
        let has_begun = || folder.path().join("begun").exists() && bearers(&mark).len() > 4;
        until(has_begun, || format!("only {:?} began", bearers(&mark))).await;
        let pid = Pid::from_raw(i32::try_from(agent.id()).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        agent.wait().unwrap();
        nothing_left(&mark).await;
    }
}

#[tokio::test]
async fn a_program_does_not_outlive_its_agent_and_both_its_supervisors() {
    let this = "supervisors::a_program_does_not_outlive_its_agent_and_both_its_supervisors";
    let program = format!("{ABOVE}; echo $watch $guard > \"$BEGUN\"; exec $hang");
    if let Some(part) = std::env::var_os(PLAY_THE_AGENT) {
        play_the_agent(part, &program).await;
        return;
    }
    let (mark, folder) = (mark(), tempfile::tempdir().unwrap());
    let begun = folder.path().join("begun");
    let mut agent = play(this, &format!("{mark}:never:{}", begun.display()));
    let above = || std::fs::read_to_string(&begun).unwrap_or_default();
    until(|| above().ends_with('\n'), || format!("only {:?} began", bearers(&mark))).await;
    let above = above();
    let above = above.split_whitespace().map(|pid| pid.parse::<i32>().unwrap());
    let all: Vec<_> = above
        .chain([i32::try_from(agent.id()).unwrap()])
        .map(|pid| Pid::from_raw(pid).unwrap())
        .collect();
    assert_eq!(all.len(), 3);
    // None of them comes to end what the others leave.
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in &all {
            kill_process(*pid, signal).unwrap();
        }
    }
    agent.wait().unwrap();
    nothing_left(&mark).await;
}

/// This program again, in the part of an agent.
fn play(test: &str, part: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(PLAY_THE_AGENT, part)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

async fn play_the_agent(part: OsString, program: &str) {
    let part = part.into_string().expect("the part is text");
    let [mark, group, begun] = part.splitn(3, ':').collect::<Vec<_>>()[..] else {
        panic!("{part}")
    };
    let mut job = within(PATIENCE, script(program));
    job.arguments = vec![mark.into()];
    job.environment.retain(|(name, _)| name != "MARK");
    job.environment.extend([("MARK".into(), mark.into()), ("BEGUN".into(), begun.into())]);
    job.group = match group {
        "never" => ControlGroup::Never,
        _ => ControlGroup::IfPossible,
    };
    let (_keep, cancelled) = oneshot::channel();
    meshward_shell::actions::supervise::supervise(job, cancelled).await;
}

/// The control group of a program as it tells it, and whether it has one of its own.
async fn own_group() -> (String, bool) {
    // Many that are killed hold their group a while longer.
    let many = "for _ in $(seq 60); do setsid $hang > /dev/null 2>&1 & done";
    let job = script(&format!("{many}; sed -n 's/^0:://p' /proc/self/cgroup"));
    let ending = run(Job { group: ControlGroup::IfPossible, ..job }).await;
    assert_eq!(ending.cause, Cause::Exited(0));
    let told = text(&ending.stdout.bytes).trim().to_owned();
    let own = told.contains("/meshward-run-");
    (told, own)
}

#[tokio::test]
async fn a_control_group_ends_what_no_process_is_left_to_end() {
    let (told, own) = own_group().await;
    if !own {
        // The system lends none, and so the program is where this test is.
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let ours = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
        assert_eq!(told, ours);
        return;
    }
    let kill = "kill -STOP $watch $guard; kill -9 $guard $watch";
    let job = script(&format!("{ABOVE}; setsid $hang & {kill}; $hang"));
    let ending = run(Job { group: ControlGroup::IfPossible, ..job }).await;
    assert_eq!(ending.cause, Cause::Broken(ENDED.into()));
}

#[tokio::test]
async fn the_control_group_of_a_run_goes_with_it() {
    let (told, own) = own_group().await;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mounted = mounts.lines().filter(|line| line.contains(" - cgroup2 "));
    for place in mounted.filter_map(|line| line.split(' ').nth(4)) {
        let place = format!("{place}{told}");
        let there = std::path::Path::new(&place).exists();
        // Where a run has none of its own, it is that of this test, which stays.
        assert!(!(own && there), "{place}");
    }
}
