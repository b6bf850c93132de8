//! The Unix socket of the node-local API, created without a moment in which it is open to others.
//!
//! Specification: "Authentication" of the node agent, rule 2.

use std::{
    fs, io,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use meshward_core::agent::Door;
use tokio::net::UnixListener;
use tracing::{debug, info, warn};

use super::{ListenError, serve::Limits};

/// The group whose members may open the socket.
const GROUP: &str = "meshward";

pub(super) const LIMITS: Limits = Limits {
    door: Door::Socket,
    connections_max: 1024,
    head: Duration::from_secs(5),
    request: Duration::from_secs(30),
    head_bytes_max: 16 * 1024,
    body_bytes_max: 64 * 1024,
    keep_alive: true,
};

/// The longest `/etc/group` that is read.
const GROUP_FILE_MAX: u64 = 1 << 20;

/// Binds under another name in a folder of its own, sets owner and mode, and only then moves the socket into place.
pub(super) fn bind(path: &Path) -> Result<UnixListener, ListenError> {
    let failed = |source| ListenError::Socket { path: path.into(), source };
    clear(path)?;
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let nest = Nest::make(parent).map_err(failed)?;
    let draft = nest.0.join("s");
    let listener = UnixListener::bind(&draft).map_err(failed)?;
    admit(&draft).map_err(failed)?;
    fs::rename(&draft, path).map_err(failed)?;
    info!(path = %path.display(), "local API open");
    Ok(listener)
}

/// A folder that only this user can enter, removed when dropped.
struct Nest(PathBuf);

impl Nest {
    fn make(parent: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let path = parent.join(format!(".api-{}", std::process::id()));
        // What an agent of the same number left when it was killed.
        let _ = fs::remove_dir_all(&path);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            debug!(%error, "a temporary folder is left behind");
        }
    }
}

/// Removes a socket that nobody answers on; only a refused connection proves that.
fn clear(path: &Path) -> Result<(), ListenError> {
    let failed = |source| ListenError::Socket { path: path.into(), source };
    let kind = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(failed)?.file_type(),
    };
    if !kind.is_socket() {
        return Err(ListenError::NoSocket(path.into()));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(_) => Err(ListenError::SocketInUse(path.into())),
    }
}

/// Mode 0660 for the agent's group where it exists and can be given the socket, else 0600.
fn admit(socket: &Path) -> io::Result<()> {
    let mode = match group(GROUP) {
        Some(id) => match std::os::unix::fs::chown(socket, None, Some(id)) {
            Ok(()) => 0o660,
            Err(error) => {
                warn!(%error, "the socket cannot be given to the group {GROUP}; only its owner may open it");
                0o600
            }
        },
        None => 0o600,
    };
    fs::set_permissions(socket, fs::Permissions::from_mode(mode))
}

/// The number of a group of this machine.
fn group(name: &str) -> Option<u32> {
    use io::Read as _;
    let mut text = String::new();
    fs::File::open("/etc/group").ok()?.take(GROUP_FILE_MAX).read_to_string(&mut text).ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok())?
    })
}
