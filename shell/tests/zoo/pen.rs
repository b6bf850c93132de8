//! Where a program is let loose, and what must hold afterwards.

use std::{
    ffi::OsString,
    fs,
    os::{fd::OwnedFd, unix::fs::FileTypeExt as _},
    path::Path,
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use meshward_core::agent::Ending;
use meshward_shell::actions::{
    supervise::{ControlGroup, Executable, Job, supervise},
    supervisor::{self, Limits, sealed},
};
use rustix::fs::{CWD, Mode, mkfifoat};
use tokio::{
    sync::oneshot,
    time::{Instant, interval, timeout},
};

/// How long a slow machine may take for what takes no time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What is promised beyond a limit.
pub(crate) const PROMISE: Duration = Duration::from_secs(1);

/// What a busy machine may add to it.
pub(crate) const SLACK: Duration = Duration::from_secs(4);

/// The deadline of a program that has to be ended.
pub(crate) const SHORT: Duration = Duration::from_millis(700);

pub(crate) const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// A name that no other process has in its environment or command line.
pub(crate) fn mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("zoo-animal-{}-{count}-", std::process::id())
}

/// A program of these bytes that may take a while.
pub(crate) fn program(bytes: impl AsRef<[u8]>) -> Job {
    supervisor::use_image(Path::new(env!("CARGO_BIN_EXE_meshward")));
    of(sealed(bytes.as_ref()).expect("a program in memory"))
}

fn of(program: OwnedFd) -> Job {
    let mark = mark();
    let path = std::env::var_os("PATH").expect("a way to tools");
    Job {
        executable: Executable::Descriptor(program),
        arguments: vec![OsString::from(&mark)],
        environment: vec![("PATH".into(), path), ("MARK".into(), mark.into())],
        directory: "/".into(),
        deadline: PATIENCE,
        max_output_bytes: MAX_OUTPUT_BYTES,
        limits: Limits::default(),
        group: ControlGroup::Never,
    }
}

/// A script for the shell, which hangs by the command `$hang` or where it opens `$silent`.
pub(crate) fn script(text: &str) -> Job {
    program(format!("#!/bin/sh\nsilent='{}'\nhang=\"cat $silent\"\n{text}\n", silent()))
}

/// A pipe without a writer, for which its readers wait for ever, whoever else has gone.
pub(crate) fn silent() -> &'static str {
    static SILENT: OnceLock<String> = OnceLock::new();
    SILENT.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("zoo-silent");
        // Another process of these tests may have made it.
        let _ = mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR);
        assert!(fs::metadata(&path).is_ok_and(|file| file.file_type().is_fifo()), "{path:?}");
        path.display().to_string()
    })
}

/// A script for Python, with what these need.
pub(crate) fn python(text: &str) -> Job {
    program(format!("#!{}\nimport os, signal, time\n{text}\n", interpreter()))
}

/// Where Python is, which may stand behind a script on the way to it.
fn interpreter() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let ask = ["-c", "import sys; print(sys.executable)"];
        let told = Command::new("python3").args(ask).output().expect("Python is there");
        text(&told.stdout).trim().to_owned()
    })
}

pub(crate) fn within(deadline: Duration, job: Job) -> Job {
    Job { deadline, ..job }
}

fn mark_of(job: &Job) -> String {
    job.arguments[0].to_str().expect("marks are text").to_owned()
}

/// Lets a program run to its end, with which nothing of it is left.
pub(crate) async fn run(job: Job) -> Ending {
    // Nobody cancels it.
    let (_keep, cancelled) = oneshot::channel();
    run_until(job, cancelled).await
}

/// The same, where it may be cancelled.
pub(crate) async fn run_until(job: Job, cancelled: oneshot::Receiver<()>) -> Ending {
    let (mark, limit) = (mark_of(&job), job.deadline);
    let begun = Instant::now();
    let ending = timeout(PATIENCE * 3, supervise(job, cancelled)).await.expect("a run ends");
    let took = begun.elapsed();
    assert!(took < limit + PROMISE + SLACK, "{took:?} instead of {limit:?}: {ending:?}");
    nothing_left(&mark).await;
    ending
}

/// Waits until no process is left that bears the mark, supervisors included.
pub(crate) async fn nothing_left(mark: &str) {
    until(|| bearers(mark).is_empty(), || format!("{:?} are left", bearers(mark))).await;
}

/// Waits for something that comes by itself.
pub(crate) async fn until(done: impl Fn() -> bool, otherwise: impl Fn() -> String) {
    let begun = Instant::now();
    let mut beat = interval(Duration::from_millis(5));
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{}", otherwise());
        beat.tick().await;
    }
}

/// All processes that have the mark in their environment or command line, with the latter.
pub(crate) fn bearers(mark: &str) -> Vec<(u32, String)> {
    let processes = fs::read_dir("/proc").expect("processes are listed").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let bears = |pid: u32, file: &str| {
        let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let found = text.windows(mark.len()).any(|part| part == mark.as_bytes());
        found.then(|| String::from_utf8_lossy(&text).replace('\0', " "))
    };
    let own = std::process::id();
    let others = numbers.filter(|pid: &u32| *pid != own);
    others
        .filter_map(|pid| {
            let command = bears(pid, "cmdline");
            let found = command.or_else(|| bears(pid, "environ").map(|_| String::new()));
            found.map(|found| (pid, found))
        })
        .collect()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text was printed")
}
