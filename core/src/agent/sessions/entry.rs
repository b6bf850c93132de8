//! What an entry of the `sessions` block earns, before anything is known of room and time.
//!
//! | entry | earns |
//! |---|---|
//! | an id that is empty, `.` or `..` | settled |
//! | `sessions.enabled` is false | settled |
//! | kind `ssh` or `k8s` | settled, and counted as unsupported |
//! | any other kind but `tcp` | settled |
//! | a target without exactly the member `tcp` | settled |
//! | no `expires_at`, or one that has passed | settled |
//! | an idle window beyond a day, a host that is none, port 0 | deferred to the next pull |
//! | anything else | opened |
//!
//! Specification: "Session entry"; `gaps-agent.md` 2.9.

use alloc::{
    format,
    string::{String, ToString as _},
};
use core::{net::IpAddr, time::Duration};

use crate::{
    ids::SessionId,
    time::Wall,
    wire::{
        snapshot::{Session, TcpTarget},
        timestamp::Timestamp,
    },
};

/// The longest idle window, in seconds.
pub const IDLE_MAX: u32 = 86_400;
/// The longest name of a host, in bytes.
const HOST_MAX: usize = 253;

/// A session as it is to be opened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) session: SessionId,
    pub(super) target: Target,
    pub(super) expires_at: Timestamp,
    pub(super) idle: Option<Duration>,
}

/// Where what a session carries ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Open(Plan),
    /// Not on this pull.
    Defer(String),
    /// Never, as long as it is listed.
    Settle {
        unsupported: bool,
        reason: String,
    },
}

/// Judges one entry by itself.
pub(super) fn judge(entry: Session, enabled: bool, wall: Wall) -> Judged {
    let Session { session_id, kind, target, expires_at, idle_timeout_seconds, .. } = entry;
    let target = target.unwrap_or_default();
    let is_one = target.is_one();
    let expires_at = expires_at.map(|spelled| spelled.at);
    if session_id.is_empty() {
        return settle("it has no session_id");
    }
    if matches!(session_id.as_str(), "." | "..") {
        return settle("its id cannot stand in a path");
    }
    if !enabled {
        return settle("sessions.enabled is false");
    }
    match (kind.as_str(), target.tcp.filter(|_| is_one), expires_at) {
        ("ssh" | "k8s", ..) => {
            let reason = format!("sessions of kind {kind} are not served by this agent");
            Judged::Settle { unsupported: true, reason }
        }
        ("tcp", None, _) => settle("its target does not match its kind"),
        ("tcp", Some(_), None) => settle("it has no expires_at"),
        ("tcp", Some(_), Some(at)) if !at.is_after(wall) => settle(LAPSED),
        ("tcp", Some(target), Some(expires_at)) => {
            plan(SessionId(session_id.0), target, expires_at, idle_timeout_seconds.unwrap_or(0))
        }
        _ => settle(&format!("its kind {kind:?} is unknown")),
    }
}

/// Why a session is not opened whose deadline has passed.
pub(super) const LAPSED: &str = "its expires_at has passed";

fn plan(session: SessionId, target: TcpTarget, expires_at: Timestamp, idle: u32) -> Judged {
    if idle > IDLE_MAX {
        return Judged::Defer(format!("its idle window is beyond {IDLE_MAX} s"));
    }
    if target.port == 0 || !is_host(target.host.as_str()) {
        return Judged::Defer("its target is not one host and a port".into());
    }
    Judged::Open(Plan {
        session,
        target: Target { host: target.host.0, port: target.port },
        expires_at,
        idle: (idle > 0).then(|| Duration::from_secs(u64::from(idle))),
    })
}

fn settle(reason: &str) -> Judged {
    Judged::Settle { unsupported: false, reason: reason.to_string() }
}

/// An address that one host has, or a name.
fn is_host(host: &str) -> bool {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return is_one_host(ip);
    }
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    // A last label of digits alone makes it an address that is misspelled, which some resolvers read all the same.
    let last = host.strip_suffix('.').unwrap_or(host).rsplit('.').next().unwrap_or_default();
    (1..=HOST_MAX).contains(&host.len()) && host.bytes().all(of_name) && !is_number(last)
}

/// Neither unspecified nor multicast, in either spelling of an IPv4 address.
pub(super) fn is_one_host(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    !ip.is_unspecified() && !ip.is_multicast()
}
