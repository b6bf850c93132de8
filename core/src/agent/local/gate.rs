//! Who may read secrets: root and the members of one group, where the node is set so. Who may order what the agent then
//! does: root, the agent's own user, and the members of the group of the socket, always.
//!
//! Specification: "Authentication" of the node agent, rules 3 and 4; `decisions.md` section 8 (Secret gate over TCP);
//! `docs/deviations.md` (Who may order).

use crate::agent::facts::{Caller, Door, Peer};

/// What the kernel shows in the place of a user or group that has no name here; whoever it is, it is not known.
const OVERFLOW_ID: u32 = 65_534;

/// What a program is told that may not.
pub const DENIED: &str = "forbidden: insufficient privileges for secret access";

/// What a program is told that may not order.
pub const MAY_NOT_ORDER: &str = "forbidden: only root, the user of the agent and members of the group meshward may order this, by the local socket";

/// Whether the gate, where it is `closed`, lets this caller to the secrets. Who cannot be told is not let through.
pub fn admits(closed: bool, caller: &Caller) -> bool {
    match (closed, caller.door, &caller.peer) {
        (false, Door::Socket | Door::Tcp, _) => true,
        (true, Door::Socket, Some(peer)) => is_privileged(peer),
        (true, Door::Socket, None) | (true, Door::Tcp, _) | (_, Door::Health, _) => false,
    }
}

/// Whether this caller may order what the agent then does: run an action, reload the hooks. By TCP nobody may, as nobody
/// is known there.
pub fn may_order(caller: &Caller) -> bool {
    match (caller.door, &caller.peer) {
        (Door::Socket, Some(peer)) => {
            is_one_of(peer, peer.order_group) || (peer.uid == peer.agent && peer.uid != OVERFLOW_ID)
        }
        (Door::Socket, None) | (Door::Tcp | Door::Health, _) => false,
    }
}

fn is_privileged(peer: &Peer) -> bool {
    is_one_of(peer, peer.secret_group)
}

/// Root, or a member of this group.
fn is_one_of(peer: &Peer, group: Option<u32>) -> bool {
    let member = |group: u32| group != OVERFLOW_ID && peer.groups.contains(&group);
    peer.uid != OVERFLOW_ID && (peer.uid == 0 || group.is_some_and(member))
}
