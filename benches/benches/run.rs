//! A run of a program through its supervisors, beside the same program begun bare, in turns; and the memory of the agent
//! during a flood.

use std::{
    fs,
    io::{self, Write as _},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use criterion::{Criterion, criterion_group};
use meshward_benches::{tell, took};
use meshward_core::agent::{Cause, Ending};
use meshward_shell::actions::{
    supervise::{ControlGroup, Executable, Job, supervise},
    supervisor::{self, Limits, sealed},
};
use tokio::{runtime::Runtime, sync::oneshot};

/// How often each side of a pair runs its program.
const PAIR_LEN: u32 = 20;

/// What is kept of a stream.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// What a flood prints.
const FLOOD: u64 = 1 << 30;

fn job(executable: Executable, arguments: &[&str], group: ControlGroup) -> Job {
    Job {
        executable,
        arguments: arguments.iter().map(Into::into).collect(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: "/".into(),
        deadline: Duration::from_secs(60),
        max_output_bytes: MAX_OUTPUT_BYTES,
        limits: Limits::default(),
        group,
    }
}

/// Insists on success, so that no bench measures a failure.
fn run(runtime: &Runtime, job: Job) -> Ending {
    let (_go_on, cancelled) = oneshot::channel();
    let ending = runtime.block_on(supervise(job, cancelled));
    assert_eq!(ending.cause, Cause::Exited(0));
    ending
}

fn bare() {
    let mut command = Command::new("/bin/true");
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    assert!(command.output().expect("it runs").status.success());
}

fn runs(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let path = || Executable::Path("/bin/true".into());
    let script = || Executable::Descriptor(sealed(b"#!/bin/true\n").expect("a program"));
    let supervised = |group| run(&runtime, job(path(), &["true"], group));
    let mut group = c.benchmark_group("/bin/true");
    group.bench_function("bare", |b| b.iter(bare));
    group.bench_function("supervised", |b| b.iter(|| supervised(ControlGroup::Never)));
    group.bench_function("in a control group", |b| b.iter(|| supervised(ControlGroup::IfPossible)));
    group.bench_function("sealed script", |b| {
        b.iter(|| run(&runtime, job(script(), &["true"], ControlGroup::Never)))
    });
    group.finish();
    tell("/bin/true supervised, time beside bare", || {
        let own = took(PAIR_LEN, || supervised(ControlGroup::Never));
        (own, took(PAIR_LEN, bare))
    });
}

fn flood(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let count = FLOOD.to_string();
    let pour = || {
        let head = Executable::Path("/usr/bin/head".into());
        let arguments = ["head", "-c", &count, "/dev/zero"];
        run(&runtime, job(head, &arguments, ControlGroup::Never))
    };
    let before = most_resident();
    assert!(pour().stdout.cut);
    let grown = most_resident() - before;
    let told = format!("1 GiB printed: at most {grown} KiB more resident\n");
    io::stdout().write_all(told.as_bytes()).expect("somebody reads");
    let mut group = c.benchmark_group("1 GiB printed");
    group.sample_size(10);
    group.bench_function("read to its end", |b| b.iter(pour));
    group.finish();
}

/// The most memory that this process has had, in KiB.
fn most_resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("own status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

criterion_group!(benches, flood, runs);

fn main() -> ExitCode {
    if let Some(supervised) = supervisor::supervise_if_asked() {
        return supervised;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
    ExitCode::SUCCESS
}
