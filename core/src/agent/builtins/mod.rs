//! The built-in actions: their names, how their parameters are read, and what they print. The agent answers those that
//! only it can tell; the shell does the others, by the functions of this module.
//!
//! | Action | Done by |
//! |---|---|
//! | `health.check`, `mesh.reconnect` | the agent, at once, see [`prepare`] |
//! | `system.info` | the shell, of its host and what the agent hands it, see [`system_info`] |
//! | `diagnostics.ping_peer`, `diagnostics.traceroute_peer` | the shell, by the tool of [`peer::tool`] |
//! | the others | the shell |
//!
//! Specification: "Built-in actions"; `gaps-agent.md` section 2.8; `decisions.md` section 8 (`count`, `max_hops`).

mod known;
mod parameters;
pub mod peer;
mod snapshot;
mod table;

use alloc::{collections::BTreeMap, string::String, vec::Vec};

pub use known::{Host, Known, Prepared, prepare, system_info};
pub use parameters::switch;
pub use snapshot::{LINES_DEFAULT, LINES_MAX, Snapshot, snapshot};
pub use table::described;

use super::facts::{Captured, Cause, Ending};
use crate::wire::action::{self, Begun};

/// Of an action or a hook, by name; see [`super::facts::Program`].
pub type Parameters = BTreeMap<String, String>;

pub const COLLECT: &str = "diagnostics.collect";
pub const PING: &str = "diagnostics.ping_peer";
pub const TRACEROUTE: &str = "diagnostics.traceroute_peer";
pub const CONFIG_DUMP: &str = "config.dump";
pub const HEALTH_CHECK: &str = "health.check";
pub const LOGS_SNAPSHOT: &str = "logs.snapshot";
pub const RECONNECT: &str = "mesh.reconnect";
pub const RELOAD_CONFIG: &str = "service.reload_config";
pub const SYSTEM_INFO: &str = "system.info";

/// Every built-in action, in the order in which they are listed.
pub const ALL: [&str; 9] = [
    COLLECT,
    PING,
    TRACEROUTE,
    CONFIG_DUMP,
    HEALTH_CHECK,
    LOGS_SNAPSHOT,
    RECONNECT,
    RELOAD_CONFIG,
    SYSTEM_INFO,
];

/// What an unknown action is told as.
pub fn unknown(name: &str) -> String {
    alloc::format!("unknown builtin action: {name}")
}

/// The end of an action that did what it was asked for, and printed this.
pub fn printed(stdout: Vec<u8>, max_output_bytes: usize) -> Ending {
    let stdout = captured(stdout, max_output_bytes);
    Ending { cause: Cause::Exited(0), stdout, stderr: Captured::default() }
}

/// The end of an action that could not do what it was asked for, in words.
pub fn failed(text: &str) -> Ending {
    let stderr = Captured { bytes: alloc::format!("{text}\n").into(), cut: false };
    Ending { cause: Cause::Exited(1), stdout: Captured::default(), stderr }
}

/// What `service.reload_config` prints once it has signalled the agent, which is this process.
pub fn reload_sent(pid: u32) -> Vec<u8> {
    action::print(&Begun { status: "reload_signal_sent".into(), pid: Some(pid) })
}

/// Keeps a stream up to its limit.
fn captured(mut bytes: Vec<u8>, limit: usize) -> Captured {
    let cut = bytes.len() > limit;
    bytes.truncate(limit);
    Captured { bytes, cut }
}
