//! A control group for each run, where the system lends the agent its own (`Delegate=yes` of systemd).
//!
//! Nothing leaves a control group by itself, so that its end is the end of all that was begun in it, even where both
//! supervisors of a run were killed by it. It is not needed otherwise, and without one a run goes on as it is.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::fs::{Mode, OFlags};
use tracing::debug;

/// How often a group that was killed is tried to be removed, for four seconds in all.
const REMOVALS: u32 = 64;

/// How long the kernel is given behind the first try; each time it is as much longer.
const BETWEEN: Duration = Duration::from_millis(2);

/// What stands before the id of the agent in the name of a group.
const NAME: &str = "meshward-run-";

/// How many entries are looked at for groups that were left behind.
const FORSAKEN_MAX: usize = 4096;

/// How many groups this process has named.
static NAMED: AtomicU64 = AtomicU64::new(0);

/// The control group of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group(PathBuf);

impl Group {
    /// A new one below that of this process; `None` where it cannot be.
    pub(super) fn make() -> Option<Self> {
        static OWN: OnceLock<Option<PathBuf>> = OnceLock::new();
        let own = OWN.get_or_init(|| match own() {
            Ok(own) => Some(own),
            Err(error) => {
                debug!(%error, "runs get no control groups of their own");
                None
            }
        });
        let group = Self::new_below(own.as_ref()?);
        group.create().ok().map(|()| group)
    }

    fn new_below(own: &Path) -> Self {
        let number = NAMED.fetch_add(1, Ordering::Relaxed);
        Self(own.join(format!("{NAME}{}-{number}", std::process::id())))
    }

    pub(super) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn create(&self) -> io::Result<()> {
        fs::create_dir(&self.0)?;
        let usable = self.0.join("cgroup.kill").try_exists().and_then(|can| match can {
            true => self.door().map(drop),
            false => Err(io::Error::from(io::ErrorKind::Unsupported)),
        });
        usable.inspect_err(|_| drop(fs::remove_dir(&self.0)))
    }

    /// A process that writes `0` here is in the group.
    pub(super) fn door(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(self.0.join("cgroup.procs"), flags, Mode::empty())?)
    }

    /// Kills all that is in it and in the groups below it.
    pub(super) fn kill(&self) {
        // It may have been removed already.
        let kill = fs::File::options().write(true).open(self.0.join("cgroup.kill"));
        let _ = kill.and_then(|mut kill| kill.write_all(b"1"));
    }

    /// Kills all that is in it, and removes it with those that the run made below it.
    pub(super) fn remove(&self) {
        self.kill();
        for tried in 1..=REMOVALS {
            match remove_all(&self.0) {
                // The kernel lets go of the killed ones a little later.
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    thread::sleep(BETWEEN * tried);
                }
                // It is gone, or cannot be removed at all.
                Ok(()) | Err(_) => return,
            }
        }
    }
}

/// The files of a control group go with its folder.
fn remove_all(group: &Path) -> io::Result<()> {
    for entry in fs::read_dir(group)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_all(&entry.path())?;
        }
    }
    fs::remove_dir(group)
}

/// The folder of the group in which this process is.
fn own() -> io::Result<PathBuf> {
    let mounts = fs::read("/proc/self/mountinfo")?;
    let groups = fs::read("/proc/self/cgroup")?;
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no control groups of version 2");
    let own = place(&mounts, &groups).ok_or_else(missing)?;
    // It tells at once whether groups may be made here at all.
    let probe = Group::new_below(&own);
    probe.create()?;
    probe.remove();
    end_forsaken(&own, Path::new("/proc"));
    Ok(own)
}

/// Ends what was killed together with all that would have ended it: the groups of agents that are no more.
fn end_forsaken(own: &Path, processes: &Path) {
    let Ok(entries) = fs::read_dir(own) else { return };
    for entry in entries.flatten().take(FORSAKEN_MAX) {
        let name = entry.file_name();
        let agent = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next());
        let is_gone = agent.is_some_and(|pid| {
            pid.parse::<u32>().is_ok() && !processes.join(pid).try_exists().unwrap_or(true)
        });
        if is_gone {
            let group = Group::at(entry.path());
            group.kill();
            // One that is still dying is removed by the next agent.
            let _ = remove_all(group.path());
        }
    }
}

/// Where the own group is: its path stands in `/proc/self/cgroup` as seen from the root of the hierarchy, and a mount may
/// show only a part of that.
fn place(mounts: &[u8], groups: &[u8]) -> Option<PathBuf> {
    let path = groups.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"0::"))?;
    let path = text(path);
    mounts.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ');
        let (root, point) = (fields.nth(3)?, fields.next()?);
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        let below = path.strip_prefix(text(root)).ok()?;
        (kind == b"cgroup2").then(|| text(point).join(below))
    })
}

/// A path as the kernel writes it, with some bytes in octal.
fn text(field: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..3).filter(|_| *first == b'\\');
        let octal = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[3..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::{Group, end_forsaken, own, place};

    #[test]
    fn the_groups_of_agents_that_are_no_more_go_and_all_others_stay() {
        let (own, processes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(processes.path().join("7")).unwrap();
        for name in ["meshward-run-7-0", "meshward-run-8-1", "meshward-run-x-1", "other-8-1"] {
            fs::create_dir(own.path().join(name)).unwrap();
        }
        fs::create_dir(own.path().join("meshward-run-8-1/below")).unwrap();
        end_forsaken(own.path(), processes.path());
        let left = fs::read_dir(own.path()).unwrap();
        let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["meshward-run-7-0", "meshward-run-x-1", "other-8-1"]);
    }

    #[test]
    fn the_own_group_is_found_wherever_its_hierarchy_is_mounted() {
        let mounts = b"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw\n\
            41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw,relatime shared:1 master:2 - cgroup2 cgroup2 rw\n";
        let groups = b"9:name=systemd:/elsewhere\n0::/system.slice/meshward.service\n";
        let expected = "/sys/fs/cgroup/uni fied/system.slice/meshward.service";
        assert_eq!(place(mounts, groups), Some(PathBuf::from(expected)));
        assert_eq!(place(&mounts[..60], groups), None);
        assert_eq!(place(mounts, b"9:name=systemd:/elsewhere\n"), None);
    }

    #[test]
    fn a_mount_that_shows_a_part_of_the_hierarchy_is_taken_from_there() {
        let mounts = b"41 31 0:38 /pod /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(place(mounts, b"0::/pod/one\n"), Some(PathBuf::from("/sys/fs/cgroup/one")));
        assert_eq!(place(mounts, b"0::/other\n"), None);
    }

    #[test]
    fn a_folder_that_is_no_control_group_is_not_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let group = Group::at(folder.path().join("run"));
        assert!(group.create().is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_group_is_made_where_the_system_lends_its_own_and_is_removed_again() {
        match (own(), Group::make()) {
            (Ok(own), Some(group)) => {
                assert!(group.path().starts_with(own) && group.path().is_dir());
                fs::create_dir(group.path().join("below")).unwrap();
                group.remove();
                assert!(!group.path().exists());
            }
            (Err(_), None) => {}
            (own, group) => panic!("{own:?} and yet {group:?}"),
        }
    }
}
