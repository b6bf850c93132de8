//! Who may read secrets: root and the members of one group, where the node is set so.
//!
//! Specification: "Authentication" of the node agent, rules 3 and 4; `decisions.md` section 8 (Secret gate over TCP).

use crate::agent::facts::{Caller, Door, Peer};

/// What the kernel shows in the place of a user or group that has no name here; whoever it is, it is not known.
const OVERFLOW_ID: u32 = 65_534;

/// What a program is told that may not.
pub const DENIED: &str = "forbidden: insufficient privileges for secret access";

/// Whether the gate, where it is `closed`, lets this caller to the secrets. Who cannot be told is not let through.
pub fn admits(closed: bool, caller: &Caller) -> bool {
    match (closed, caller.door, &caller.peer) {
        (false, Door::Socket | Door::Tcp, _) => true,
        (true, Door::Socket, Some(peer)) => is_privileged(peer),
        (true, Door::Socket, None) | (true, Door::Tcp, _) | (_, Door::Health, _) => false,
    }
}

fn is_privileged(peer: &Peer) -> bool {
    let member = |group: u32| group != OVERFLOW_ID && peer.groups.contains(&group);
    peer.uid != OVERFLOW_ID && (peer.uid == 0 || peer.secret_group.is_some_and(member))
}
