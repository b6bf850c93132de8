//! The kernel's numbers of this node: texts below `/proc`, and the file system of `/`.
//!
//! Each is read by itself, and one that cannot be read is left out and told.
//!
//! Specification: "Agent-side conversion rules for ingest".

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use meshward_core::{
    agent::{Feed, Records, Source},
    wire::sources::proc::{Cpu, Disk, Load, Memory, Network, System as Known, TEXT_MAX},
};

use super::source::{Collector, Wanted, feed};
use crate::clock;

/// How far the two readings of the first round are apart; later the one before is taken.
const FIRST_GAP: Duration = Duration::from_millis(100);

const STRANGE: &str =
    "it does not hold what the kernel writes there: mount the proc file system at /proc";

const STANDS_STILL: &str = "proc/stat: the times of the processors stand still: the next round tells";

/// What this node is busy with.
#[derive(Debug)]
pub(crate) struct System {
    root: PathBuf,
    /// The times of the processors as of the last round.
    earlier: Option<Cpu>,
}

impl System {
    pub(crate) fn new() -> Self {
        Self { root: PathBuf::from("/"), earlier: None }
    }

    fn read<T>(&self, place: &str, read: fn(&[u8]) -> Option<T>) -> Result<T, String> {
        let path = self.root.join(place);
        let told = |reason: &str| format!("{}: {reason}", path.display());
        let bytes = bytes(&path).map_err(|reason| told(&reason))?;
        read(&bytes).ok_or_else(|| told(STRANGE))
    }

    fn cpu_percent(&mut self) -> Result<f64, String> {
        let earlier = match self.earlier {
            Some(earlier) => earlier,
            None => {
                let first = self.read("proc/stat", Cpu::read)?;
                thread::sleep(FIRST_GAP);
                first
            }
        };
        let now = self.read("proc/stat", Cpu::read)?;
        self.earlier = Some(now);
        now.busy_since(earlier).ok_or_else(|| STANDS_STILL.to_owned())
    }

    fn disk(&self) -> Result<Disk, String> {
        rustix::fs::statvfs(&self.root)
            .map(|stat| Disk::of(stat.f_blocks, stat.f_bfree, stat.f_frsize))
            .map_err(|error| format!("{}: statfs: {error}", self.root.display()))
    }
}

impl Collector for System {
    fn source(&self) -> Source {
        Source::System
    }

    fn collect(&mut self, _wanted: &Wanted) -> Feed {
        let mut troubles = Vec::new();
        let known = Known {
            cpu_percent: kept("cpu_*", self.cpu_percent(), &mut troubles),
            memory: kept("memory_*", self.read("proc/meminfo", Memory::read), &mut troubles),
            disk: kept("disk_*", self.disk(), &mut troubles),
            network: kept("network_*", self.read("proc/net/dev", Network::read), &mut troubles),
            load: kept("load_avg_*", self.read("proc/loadavg", Load::read), &mut troubles),
        };
        let points = known.point(clock::now().wall).into_iter().collect();
        Feed { troubles, ..feed(Source::System, Records::Points(points)) }
    }
}

/// What was read; what was not is told, with what is left out for it.
fn kept<T>(names: &str, read: Result<T, String>, troubles: &mut Vec<String>) -> Option<T> {
    read.map_err(|reason| troubles.push(format!("{names} is left out: {reason}"))).ok()
}

/// A whole text, since a part of it would be a wrong sum.
fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let most = u64::try_from(TEXT_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    match read {
        Ok(length) if length > TEXT_MAX => Err(format!("it is longer than {TEXT_MAX} bytes")),
        Ok(_) => Ok(bytes),
        Err(error) => Err(format!("{error}: this process must be able to read it")),
    }
}
