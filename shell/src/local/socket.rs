//! The Unix socket of the node: made where nobody else can reach, given its owner and mode, then moved into place.
//!
//! Specification: "Authentication", 2.

use std::{
    fs::{self, DirBuilder, File, Metadata, Permissions},
    io,
    os::unix::{
        fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
        net,
    },
    path::{Path, PathBuf},
};

use meshward_core::agent::Door;
use rustix::{
    fs::FlockOperation,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType},
};
use thiserror::Error;
use tokio::{
    net::{UnixListener, UnixStream},
    sync::mpsc,
};
use tracing::warn;

use super::serve::{Asked, Listen, Serving};

/// The longest path of a socket, in bytes.
const PATH_MAX: usize = 107;

/// The longest file of groups that is read, in bytes.
const GROUPS_MAX: u64 = 4 * 1024 * 1024;

/// Where the socket is to be, and whose it is.
#[derive(Clone, Debug)]
pub struct SocketPlace {
    /// `local_api.socket_path`.
    pub path: PathBuf,
    /// The group that may open it, if there is one of that name.
    pub group: String,
}

/// Why the socket cannot be served.
#[derive(Debug, Error)]
pub enum SocketError {
    #[error("local_api.socket_path {} must be an absolute path of at most {PATH_MAX} bytes", .0.display())]
    Path(PathBuf),
    #[error("another agent listens on {}: stop it or set another local_api.socket_path", .0.display())]
    InUse(PathBuf),
    #[error("another agent is just starting on {}: try again, or set another local_api.socket_path", .0.display())]
    Contended(PathBuf),
    #[error("{} is there and is not a socket of this agent's user: move it away or set another local_api.socket_path", .0.display())]
    Foreign(PathBuf),
    #[error("local_api.socket_path: cannot {doing} {}", .path.display())]
    Refused { doing: &'static str, path: PathBuf, source: io::Error },
}

/// The socket, opened and not yet served; it is removed when this or what serves it is dropped.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    name: Name,
}

/// The name of an open socket in the file system.
#[derive(Debug)]
struct Name {
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
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, SocketError>;
}

impl<T> Context<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, SocketError> {
        self.map_err(|source| SocketError::Refused { doing, path: path.to_owned(), source })
    }
}

impl Socket {
    /// Opens the socket in the place of one that nobody listens on any more.
    pub fn open(place: &SocketPlace) -> Result<Self, SocketError> {
        let path = &place.path;
        let Some(folder) = path.parent().filter(|_| path.is_absolute() && fits(path)) else {
            return Err(SocketError::Path(path.clone()));
        };
        create(folder)?;
        // Held while the old socket is judged and replaced, so that of two starting agents one sees the other.
        let turn = File::open(folder).doing("open", folder)?;
        rustix::fs::flock(&turn, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| SocketError::Contended(path.clone()))?;
        require_vacant(path)?;
        let hidden = Hidden::create(folder)?;
        let socket = hidden.path.join("s");
        if !fits(&socket) {
            return Err(SocketError::Path(path.clone()));
        }
        let listener = net::UnixListener::bind(&socket).doing("open", &socket)?;
        admit(&socket, &place.group)?;
        let found = fs::symlink_metadata(&socket).doing("look at", &socket)?;
        fs::rename(&socket, path).doing("create", path)?;
        let name = Name { path: path.clone(), device: found.dev(), inode: found.ino() };
        listener.set_nonblocking(true).doing("open", path)?;
        Ok(Self { listener: UnixListener::from_std(listener).doing("open", path)?, name })
    }

    pub fn path(&self) -> &Path {
        &self.name.path
    }

    /// Begins to take requests.
    pub fn serve(self, asked: mpsc::Sender<Asked>) -> Serving {
        Serving::begin(self, Door::Socket, asked)
    }
}

impl Listen for Socket {
    type Stream = UnixStream;

    async fn accept(&mut self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

fn fits(path: &Path) -> bool {
    path.as_os_str().len() <= PATH_MAX
}

fn create(folder: &Path) -> Result<(), SocketError> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder).doing("create", folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o755)).doing("set the mode of", folder)
}

/// Only a refused connection proves that nobody listens: any other failure may be a busy agent.
fn require_vacant(path: &Path) -> Result<(), SocketError> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.doing("look at", path)?,
    };
    if !is_ours(&found) {
        return Err(SocketError::Foreign(path.to_owned()));
    }
    match connect(path).map_err(io::Error::from) {
        Ok(()) => Err(SocketError::InUse(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        // The queue of a busy agent is full.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(SocketError::InUse(path.to_owned()))
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
    fn create(folder: &Path) -> Result<Self, SocketError> {
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
fn admit(socket: &Path, group: &str) -> Result<(), SocketError> {
    let given = match group_id(group) {
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

fn group_id(name: &str) -> Option<u32> {
    use io::Read;
    let mut text = String::new();
    File::open("/etc/group").ok()?.take(GROUPS_MAX).read_to_string(&mut text).ok()?;
    find_group(&text, name)
}

fn find_group(groups: &str, name: &str) -> Option<u32> {
    let mut fields = groups.lines().map(|line| line.split(':'));
    let mut group = fields.find_map(|mut group| (group.next() == Some(name)).then_some(group))?;
    group.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::find_group;

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
