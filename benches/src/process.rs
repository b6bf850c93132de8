//! What the kernel tells of a process beside this one: its time, its memory, how often it slept.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use meshward_core::wire::process::{Stat, parse};
use rustix::param::clock_ticks_per_second;

/// A process by its number. Memory and files of a program that hides them are shown to root alone.
#[derive(Clone, Copy, Debug)]
pub struct Process(pub u32);

impl Process {
    fn place(self, name: &str) -> PathBuf {
        format!("/proc/{}/{name}", self.0).into()
    }

    fn text(self, name: &str) -> String {
        fs::read_to_string(self.place(name)).unwrap_or_default()
    }

    fn stat(self) -> Option<Stat> {
        parse(&self.text("stat"), clock_ticks_per_second())
    }

    /// User and system time of all its threads, those that have ended too, without its children.
    pub fn cpu(self) -> Duration {
        self.stat().map_or(Duration::ZERO, |stat| stat.cpu)
    }

    /// The most memory that it has had, in KiB.
    pub fn peak(self) -> u64 {
        field(&self.text("status"), "VmHWM:")
    }

    /// Its memory now, all of it and its own share of what is shared, in KiB.
    pub fn memory(self) -> (u64, u64) {
        let rollup = self.text("smaps_rollup");
        (field(&rollup, "Rss:"), field(&rollup, "Pss:"))
    }

    pub fn threads(self) -> u64 {
        self.stat().map_or(0, |stat| stat.threads)
    }

    pub fn open_files(self) -> usize {
        fs::read_dir(self.place("fd")).map_or(0, Iterator::count)
    }

    /// How often each of its threads has gone to sleep by itself.
    pub fn sleeps(self) -> BTreeMap<String, u64> {
        let threads = fs::read_dir(self.place("task")).into_iter().flatten().flatten();
        let names = threads.map(|thread| thread.file_name().to_string_lossy().into_owned());
        let counted = names.map(|name| {
            let count =
                field(&self.text(&format!("task/{name}/status")), "voluntary_ctxt_switches:");
            (name, count)
        });
        counted.collect()
    }
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).unwrap_or_default()
}
