//! The programs at rest.

use std::{
    collections::BTreeMap,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use meshward_benches::process::Process;

use crate::{
    Lengths,
    programs::{Forwarder, Work},
    running::{Plane, Running},
    tell,
};

/// How long a program is left alone before it counts as at rest.
const SETTLING: Duration = Duration::from_secs(45);

/// All rest side by side, each with one file that nobody writes to.
pub(crate) fn at_rest(forwarders: &[Forwarder], plane: &Plane, lengths: &Lengths) {
    let all = forwarders.iter().flat_map(|forwarder| match forwarder {
        Forwarder::Agent(_) => {
            vec![
                ("agent", forwarder, Work::Default),
                ("agent, the file alone", forwarder, Work::File),
            ]
        }
        Forwarder::Peer(_) => vec![(forwarder.name(), forwarder, Work::File)],
    });
    let start =
        |(name, forwarder, work)| (name, Running::start(forwarder, plane, (lengths.batch, work)));
    let all: Vec<(&str, Running)> = all.map(start).collect();
    thread::sleep(SETTLING);
    let before: Vec<Before> = all.iter().map(|(_, one)| Before::of(one, lengths.idle)).collect();
    thread::sleep(lengths.idle);
    for ((name, one), before) in all.iter().zip(before) {
        tell(format_args!("at rest, {name}: {}", before.told(one.process, lengths.idle)));
    }
}

/// What a process had used when the rest began.
struct Before {
    cpu: Duration,
    sleeps: BTreeMap<String, u64>,
    watch: Option<Child>,
}

impl Before {
    fn of(running: &Running, time: Duration) -> Self {
        let process = running.process;
        Self { cpu: process.cpu(), sleeps: process.sleeps(), watch: switches(process, time) }
    }

    fn told(self, process: Process, time: Duration) -> String {
        let (resident, own) = process.memory();
        let cpu = process.cpu() - self.cpu;
        let since =
            |(thread, count): (&String, &u64)| count - self.sleeps.get(thread).unwrap_or(&0);
        let sleeps: u64 = process.sleeps().iter().map(since).sum();
        let all = match self.watch.and_then(watched) {
            Some((count, millis)) => {
                let (a_second, minutes) = (count / time.as_secs_f64(), time.as_secs_f64() / 60.0);
                format!("{a_second:.2} switches/s and {:.1} ms of CPU a minute", millis / minutes)
            }
            None => "unknown, for want of perf,".to_owned(),
        };
        format!(
            "{:.1} MiB resident, {:.1} MiB its own share, {:.1} ms of CPU a minute, {:.2} sleeps/s of threads that stay, \
             {all} with its programs and threads that end, {} threads, {} open files",
            resident as f64 / 1024.0,
            own as f64 / 1024.0,
            cpu.as_secs_f64() * 60_000.0 / time.as_secs_f64(),
            sleeps as f64 / time.as_secs_f64(),
            process.threads(),
            process.open_files(),
        )
    }
}

/// Counts the switches and the time of a process, those of short threads and of its programs too; `None` where `perf`
/// is not installed.
fn switches(process: Process, time: Duration) -> Option<Child> {
    let (pid, time) = (process.0.to_string(), time.as_secs().to_string());
    let arguments =
        ["stat", "-x,", "-e", "context-switches,task-clock", "-p", &pid, "--", "sleep", &time];
    let mut perf = Command::new("perf");
    perf.args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()
}

/// How often it was switched, and its time in milliseconds.
fn watched(watch: Child) -> Option<(f64, f64)> {
    let told = watch.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    let number = |name| -> Option<f64> {
        text.lines().find(|line| line.contains(name))?.split(',').next()?.parse().ok()
    };
    Some((number("context-switches")?, number("task-clock")?))
}
