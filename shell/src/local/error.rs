//! Why a listener does not open, and what to do about it.

use std::{io, path::PathBuf};

use thiserror::Error;

use super::socket;

/// Why a listener did not open.
#[derive(Debug, Error)]
pub enum ListenError {
    #[error(
        "cannot listen on {address} (health.listen): free the port, or set health.listen to another address"
    )]
    Health { address: String, source: io::Error },
    #[error(
        "cannot listen on {address} (local_api.http_listen): free the port, or set local_api.http_listen to another address"
    )]
    Tcp { address: String, source: io::Error },
    #[error("local_api.socket_path: cannot {doing} {}", .path.display())]
    Socket { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("local_api.socket_path {} must be the path of a file, of at most {} bytes", .0.display(), socket::PATH_MAX)]
    SocketPath(PathBuf),
    #[error(
        "{} is no folder, and the socket of the local API belongs into it: move it, or set node.run_dir or local_api.socket_path",
        .0.display()
    )]
    NoFolder(PathBuf),
    #[error("{} is in the way of the local API and is no socket of this user: move it, or set local_api.socket_path", .0.display())]
    NoSocket(PathBuf),
    #[error("another program answers on the socket {}: stop it, or set local_api.socket_path", .0.display())]
    SocketInUse(PathBuf),
    #[error("another agent is just starting on the socket {}: try again, or set local_api.socket_path", .0.display())]
    SocketContended(PathBuf),
}
