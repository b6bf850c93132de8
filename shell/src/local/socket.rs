//! The Unix socket of the node: made where nobody else can reach, given its owner and mode, then moved into place.
//!
//! Specification: "Authentication", 2.

use std::{
    fs::{self, DirBuilder, File, Metadata, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use meshward_core::agent::Door;
use rustix::{
    fs::FlockOperation,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType},
};
use tokio::net::UnixListener;
use tracing::{info, warn};

use super::{ListenError, serve::Limits};

/// The longest path of a socket, in bytes.
pub(super) const PATH_MAX: usize = 107;

/// The longest file of groups that is read, in bytes.
const GROUPS_MAX: u64 = 4 * 1024 * 1024;

/// The user and the group that can do everything anyway.
const ROOT: u32 = 0;

pub(super) const LIMITS: Limits = Limits {
    door: Door::Socket,
    connections_max: 1024,
    head: Duration::from_secs(5),
    body: Duration::from_secs(10),
    answer: Duration::from_secs(30),
    write: Duration::from_secs(10),
    discard: Duration::from_secs(2),
    head_bytes_max: 16 * 1024,
    keep_alive: true,
};

/// The name of an open socket in the file system.
#[derive(Debug)]
pub(super) struct Name {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Drop for Name {
    /// Removes the name unless it is another's by now.
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| found.dev() == self.device && found.ino() == self.inode);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            warn!("cannot remove {}: {error}", self.path.display());
        }
    }
}

trait Context<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, ListenError>;
}

impl<T> Context<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, ListenError> {
        self.map_err(|source| ListenError::Socket { doing, path: path.to_owned(), source })
    }
}

/// Opens the socket in the place of one that nobody listens on any more.
pub(super) fn bind(path: &Path, group: &str) -> Result<(UnixListener, Name), ListenError> {
    let folder = match path.parent() {
        Some(folder) if fits(path) => folder,
        Some(_) | None => return Err(ListenError::SocketPath(path.to_owned())),
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    create(folder)?;
    for weakness in weaknesses(&fs::metadata(folder).doing("look at", folder)?) {
        warn!("{}, the folder of local_api.socket_path, {weakness}", folder.display());
    }
    // Held while the old socket is judged and replaced, so that of two starting agents one sees the other.
    let turn = File::open(folder).doing("open", folder)?;
    rustix::fs::flock(&turn, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| ListenError::SocketContended(path.to_owned()))?;
    require_vacant(path)?;
    let hidden = Hidden::create(folder)?;
    let draft = hidden.path.join("s");
    if !fits(&draft) {
        return Err(ListenError::SocketPath(path.to_owned()));
    }
    let listener = UnixListener::bind(&draft).doing("open", &draft)?;
    admit(&draft, group)?;
    let found = fs::symlink_metadata(&draft).doing("look at", &draft)?;
    fs::rename(&draft, path).doing("create", path)?;
    info!(path = %path.display(), "local API open");
    Ok((listener, Name { path: path.to_owned(), device: found.dev(), inode: found.ino() }))
}

fn fits(path: &Path) -> bool {
    path.as_os_str().len() <= PATH_MAX
}

fn create(folder: &Path) -> Result<(), ListenError> {
    if folder.is_dir() {
        return Ok(());
    }
    if folder.exists() {
        return Err(ListenError::NoFolder(folder.to_owned()));
    }
    fs::create_dir_all(folder).doing("create", folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o755)).doing("set the mode of", folder)
}

/// Who else could put a socket of its own in the place of the agent's, and be told what is meant for it; each with its
/// mend.
fn weaknesses(folder: &Metadata) -> Vec<&'static str> {
    let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    judged((folder.uid(), folder.gid()), folder.mode(), own)
}

fn judged((user, group): (u32, u32), mode: u32, own: (u32, u32)) -> Vec<&'static str> {
    let rows = [
        (
            user != own.0 && user != ROOT,
            "belongs to another user, who can replace the local socket: give the folder to the user of the agent (chown)",
        ),
        (
            mode & 0o020 != 0 && group != own.1 && group != ROOT,
            "can be changed by a group that is not the agent's, whose members can replace the local socket: take that \
             right from the group (chmod g-w)",
        ),
        (
            mode & 0o002 != 0,
            "can be changed by everybody, who can replace the local socket: take that right from others (chmod o-w)",
        ),
    ];
    rows.into_iter().filter(|(is_so, _)| *is_so).map(|(_, weakness)| weakness).collect()
}

/// Only a refused connection proves that nobody listens: any other failure may be a busy agent.
fn require_vacant(path: &Path) -> Result<(), ListenError> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.doing("look at", path)?,
    };
    if !is_ours(&found) {
        return Err(ListenError::NoSocket(path.to_owned()));
    }
    match connect(path).map_err(io::Error::from) {
        Ok(()) => Err(ListenError::SocketInUse(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        // The queue of a busy agent is full.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(ListenError::SocketInUse(path.to_owned()))
        }
        Err(error) => Err(error).doing("tell whether an agent listens on", path),
    }
}

/// Connects without waiting for a place in a full queue.
fn connect(path: &Path) -> rustix::io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)
}

fn is_ours(found: &Metadata) -> bool {
    found.file_type().is_socket() && found.uid() == rustix::process::geteuid().as_raw()
}

/// A folder that only its owner can enter, named after the process; removed when dropped.
struct Hidden {
    path: PathBuf,
}

impl Hidden {
    fn create(folder: &Path) -> Result<Self, ListenError> {
        let hidden = Self { path: folder.join(format!(".{}", std::process::id())) };
        // Whatever bears this name was left by a process that has gone.
        hidden.clear();
        DirBuilder::new().mode(0o700).create(&hidden.path).doing("create", &hidden.path)?;
        Ok(hidden)
    }

    fn clear(&self) {
        // Both are gone in the ordinary case.
        drop(fs::remove_file(self.path.join("s")));
        drop(fs::remove_dir(&self.path));
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Gives the socket to the group, if there is one and it can be given; else it is its owner's alone.
fn admit(socket: &Path, group: &str) -> Result<(), ListenError> {
    let [id] = group_ids([Some(group)]);
    let given = match id {
        None => Err(format!("there is no group {group}")),
        Some(id) => std::os::unix::fs::chown(socket, None, Some(id))
            .map_err(|error| format!("it cannot be given to the group {group}: {error}")),
    };
    let mode = match given {
        Ok(()) => 0o660,
        Err(cause) => {
            warn!("the local socket is for its owner only: {cause}");
            0o600
        }
    };
    fs::set_permissions(socket, Permissions::from_mode(mode)).doing("set the mode of", socket)
}

/// The numbers of groups by their names, of which there may be none.
pub(super) fn group_ids<const N: usize>(names: [Option<&str>; N]) -> [Option<u32>; N] {
    use io::Read;
    let mut text = String::new();
    let read = File::open("/etc/group")
        .and_then(|file| file.take(GROUPS_MAX).read_to_string(&mut text))
        .is_ok();
    names.map(|name| name.filter(|_| read).and_then(|name| find_group(&text, name)))
}

fn find_group(groups: &str, name: &str) -> Option<u32> {
    let mut fields = groups.lines().map(|line| line.split(':'));
    let mut group = fields.find_map(|mut group| (group.next() == Some(name)).then_some(group))?;
    group.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::{admit, find_group, judged};

    #[test]
    fn a_socket_is_opened_to_a_group_that_it_can_be_given_and_to_no_other() {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let found = || std::fs::metadata(&socket).unwrap();
        admit(&socket, "no-such-group").unwrap();
        assert_eq!(found().mode() & 0o7777, 0o600);
        // Its own group is one that any process can give.
        let own = rustix::process::getegid().as_raw();
        let groups = std::fs::read_to_string("/etc/group").unwrap();
        let named = |line: &&str| line.split(':').nth(2) == Some(&own.to_string());
        let name = groups.lines().find(named).unwrap().split(':').next().unwrap();
        admit(&socket, name).unwrap();
        assert_eq!((found().mode() & 0o7777, found().gid()), (0o660, own));
    }

    #[test]
    fn a_folder_in_which_others_can_replace_the_socket_is_warned_of() {
        let mends = |owners, mode| {
            let told = judged(owners, mode, (7, 70));
            told.iter().map(|told| told.rsplit_once('(').unwrap().1).collect::<Vec<_>>()
        };
        for owners in [(7, 70), (0, 0), (7, 0), (0, 70)] {
            assert_eq!(mends(owners, 0o775), [""; 0], "{owners:?}");
            assert_eq!(mends(owners, 0o1777), ["chmod o-w)"], "{owners:?}");
        }
        assert_eq!(mends((7, 71), 0o755), [""; 0]);
        assert_eq!(mends((7, 71), 0o770), ["chmod g-w)"]);
        assert_eq!(mends((8, 70), 0o700), ["chown)"]);
        assert_eq!(mends((8, 71), 0o777), ["chown)", "chmod g-w)", "chmod o-w)"]);
    }

    #[test]
    fn a_group_is_found_by_its_whole_name() {
        let groups = "root:x:0:\nmeshward-x:x:7:\nmeshward:x:991:a,b\nbroken\n";
        assert_eq!(find_group(groups, "meshward"), Some(991));
        assert_eq!(find_group(groups, "root"), Some(0));
        for missing in ["mesh", "broken", "", "x"] {
            assert_eq!(find_group(groups, missing), None, "{missing}");
        }
    }
}
