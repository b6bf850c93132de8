//! Who is at the other end of the socket, as the kernel noted it when it connected.
//!
//! Specification: "Authentication" of the node agent, rules 3 and 4.

use std::{iter, os::fd::AsFd as _};

use meshward_core::agent::Peer;
use tokio::net::UnixStream;
use tracing::debug;

use super::socket::group_ids;

/// The group whose members may open the socket, and order.
pub const GROUP: &str = "meshward";

/// The group whose members may read secrets where `local_api.secret_auth_enabled` is set.
pub const SECRET_GROUP: &str = "agent-secrets";

/// The number of a group by its name, where there is one.
pub fn group_id(name: &str) -> Option<u32> {
    let [id] = group_ids([Some(name)]);
    id
}

/// The groups that lend rights at the socket, by name.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Whose members may open it, and order.
    pub(super) order: String,
    /// Whose members may read secrets, where that is asked of them.
    pub(super) secret: Option<String>,
}

/// Reads the credentials; `None` where the kernel does not tell them. The groups are looked up with each connection, so
/// that one that is made or removed counts at once.
pub(super) fn of(stream: &UnixStream, groups: &Groups) -> Option<Peer> {
    let read = stream
        .peer_cred()
        .and_then(|known| Ok((known, meshward_sys::peer::groups(stream.as_fd())?)));
    match read {
        Ok((known, member_of)) => {
            let [order_group, secret_group] =
                group_ids([Some(groups.order.as_str()), groups.secret.as_deref()]);
            Some(Peer {
                uid: known.uid(),
                groups: iter::once(known.gid()).chain(member_of).collect(),
                agent: rustix::process::geteuid().as_raw(),
                order_group,
                secret_group,
            })
        }
        Err(error) => {
            debug!(%error, "the credentials of a local peer cannot be read");
            None
        }
    }
}
