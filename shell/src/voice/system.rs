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

const STANDS_STILL: &str =
    "proc/stat: the times of the processors stand still: the next round tells";

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

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use meshward_core::{
        agent::{Feed, Records},
        wire::record::{PointGroup, Reading},
    };

    use super::{Collector as _, System, TEXT_MAX, Wanted};

    fn data(feed: &Feed) -> Vec<(Reading, f64)> {
        match &feed.records {
            Records::Points(points) => {
                assert!(points.iter().all(|point| point.group == PointGroup::System));
                points.iter().flat_map(|point| point.data.clone()).collect()
            }
            Records::Lines(_) | Records::Events(_) => Vec::new(),
        }
    }

    fn value(feed: &Feed, wanted: Reading) -> Option<f64> {
        data(feed).into_iter().find_map(|(reading, value)| (reading == wanted).then_some(value))
    }

    /// The texts of a node below a folder.
    fn write(root: &Path, stat: &str) {
        fs::create_dir_all(root.join("proc/net")).unwrap();
        let put = |name: &str, text: &str| fs::write(root.join("proc").join(name), text).unwrap();
        put("stat", stat);
        put("meminfo", "MemTotal:  4 kB\nMemFree:  1 kB\nMemAvailable:  3 kB\n");
        put("net/dev", "Inter-|\n face |\n  eth0: 5 0 0 0 0 0 0 0 6 0 0 0 0 0 0 0\n");
        put("loadavg", "0.50 1.25 2.00 1/2 3\n");
    }

    #[test]
    fn this_node_is_told_whole_and_its_numbers_fit_each_other() {
        let feed = System::new().collect(&Wanted::default());
        assert_eq!(feed.troubles, [""; 0]);
        let of = |reading| value(&feed, reading).unwrap();
        assert_eq!(data(&feed).len(), 10);
        assert!((0.0..=100.0).contains(&of(Reading::CpuUsagePercent)));
        let [used, total] = [Reading::MemoryUsedBytes, Reading::MemoryTotalBytes].map(of);
        assert!(0.0 < used && used < total, "{used} of {total}");
        let [used, total] = [Reading::DiskUsedBytes, Reading::DiskTotalBytes].map(of);
        assert!(0.0 < used && used <= total, "{used} of {total}");
        assert!(of(Reading::LoadAvg15) >= 0.0);
    }

    #[test]
    fn a_later_round_is_measured_from_the_one_before() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), "cpu  100 0 0 100 0 0 0 0 0 0\n");
        let mut system = System { root: home.path().to_owned(), earlier: None };
        let first = system.collect(&Wanted::default());
        assert_eq!(value(&first, Reading::CpuUsagePercent), None, "the times stood still");
        assert_eq!(first.troubles.len(), 1);
        assert!(first.troubles[0].starts_with("cpu_* is left out: "), "{:?}", first.troubles);
        write(home.path(), "cpu  130 0 0 110 0 0 0 0 0 0\n");
        let second = system.collect(&Wanted::default());
        assert_eq!(value(&second, Reading::CpuUsagePercent), Some(75.0));
        assert_eq!(value(&second, Reading::MemoryUsedBytes), Some(1024.0));
        assert_eq!(value(&second, Reading::NetworkTxBytes), Some(6.0));
        assert_eq!(value(&second, Reading::LoadAvg5), Some(1.25));
        assert_eq!(second.troubles, [""; 0]);
    }

    #[test]
    fn what_cannot_be_read_is_left_out_and_told_by_its_path() {
        let home = tempfile::tempdir().unwrap();
        write(home.path(), "nothing\n");
        fs::remove_file(home.path().join("proc/meminfo")).unwrap();
        fs::write(home.path().join("proc/loadavg"), vec![b' '; TEXT_MAX + 1]).unwrap();
        let mut system = System { root: home.path().to_owned(), earlier: None };
        let feed = system.collect(&Wanted::default());
        let left: Vec<_> = data(&feed).into_iter().map(|(reading, _)| reading).collect();
        let expected = [
            Reading::DiskUsedBytes,
            Reading::DiskTotalBytes,
            Reading::NetworkRxBytes,
            Reading::NetworkTxBytes,
        ];
        assert_eq!(left, expected);
        let told = |name: &str, place: &str| {
            let path = home.path().join(place).display().to_string();
            feed.troubles
                .iter()
                .any(|told| told.starts_with(&format!("{name} is left out: {path}: ")))
        };
        assert!(told("cpu_*", "proc/stat"), "{:?}", feed.troubles);
        assert!(told("memory_*", "proc/meminfo") && told("load_avg_*", "proc/loadavg"));
        assert_eq!(feed.troubles.len(), 3);
    }

    #[test]
    fn a_node_of_which_nothing_is_known_has_no_point() {
        let mut system = System { root: "/nowhere".into(), earlier: None };
        let feed = system.collect(&Wanted::default());
        assert!(feed.records.is_empty());
        assert_eq!(feed.troubles.len(), 5);
    }
}
