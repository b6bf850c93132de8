//! What this process takes of its host, read off `/proc/self` when it is asked for.

use std::{fs, time::Duration};

use meshward_core::{
    agent::figures::Process,
    wire::process::{Stat, parse},
};
use rustix::{
    param::{clock_ticks_per_second, page_size},
    process::{Resource, getrlimit},
};

use crate::clock;

/// Reads it; what the kernel does not tell is absent.
pub(crate) fn process() -> Process {
    let stat = stat();
    Process {
        resident_memory: stat.map(|stat| stat.resident.saturating_mul(page_size() as u64)),
        cpu: stat.map(|stat| stat.cpu),
        open_files: open_files(),
        open_files_max: getrlimit(Resource::Nofile).current,
        threads: stat.map(|stat| stat.threads),
        started: stat.map(|stat| started(&stat)),
    }
}

fn stat() -> Option<Stat> {
    parse(&fs::read_to_string("/proc/self/stat").ok()?, clock_ticks_per_second())
}

/// Without the one by which they are counted.
fn open_files() -> Option<u64> {
    let listed = fs::read_dir("/proc/self/fd").ok()?.count();
    Some(listed.saturating_sub(1) as u64)
}

/// By the wall clock as it stands now; in whole seconds, so that it is the same each time.
fn started(stat: &Stat) -> Duration {
    let now = clock::now();
    let booted = now.wall.since_origin().saturating_sub(now.mono.since_origin());
    let started = booted.saturating_add(stat.started);
    Duration::from_secs(started.saturating_add(Duration::from_millis(500)).as_secs())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_process_is_told_as_it_is() {
        let told = process();
        let held = fs::File::open("/dev/null").unwrap();
        let more = process();
        assert!(told.resident_memory.unwrap() > 1 << 20);
        assert!(more.open_files.unwrap() >= 4 && more.open_files < more.open_files_max);
        assert!(told.threads.unwrap() >= 1);
        assert!(more.cpu >= told.cpu);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let age = now.saturating_sub(told.started.unwrap());
        assert!(age < Duration::from_secs(24 * 3600), "{age:?}");
        drop(held);
    }
}
