//! Who is at the other end of the socket, as the kernel noted it when it connected.
//!
//! Specification: "Authentication" of the node agent, rules 3 and 4.

use std::{iter, os::fd::AsFd as _};

use meshward_core::agent::Peer;
use tokio::net::UnixStream;
use tracing::debug;

use super::socket::group_id;

/// The group whose members may read secrets.
pub const SECRET_GROUP: &str = "agent-secrets";

/// Reads the credentials; `None` where the kernel does not tell them. The group is looked up with each connection, so
/// that one that is made or removed counts at once.
pub(super) fn of(stream: &UnixStream, secret_group: Option<&str>) -> Option<Peer> {
    let read = stream
        .peer_cred()
        .and_then(|known| Ok((known, meshward_sys::peer::groups(stream.as_fd())?)));
    match read {
        Ok((known, groups)) => Some(Peer {
            uid: known.uid(),
            groups: iter::once(known.gid()).chain(groups).collect(),
            secret_group: secret_group.and_then(group_id),
        }),
        Err(error) => {
            debug!(%error, "the credentials of a local peer cannot be read");
            None
        }
    }
}
