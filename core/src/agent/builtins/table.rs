//! The built-in actions in words.

use super::{
    COLLECT, CONFIG_DUMP, HEALTH_CHECK, LOGS_SNAPSHOT, PING, RECONNECT, RELOAD_CONFIG, SYSTEM_INFO,
    TRACEROUTE,
};
use crate::wire::local::{ActionInfo, ActionParameter};

/// A parameter: name, type, default where it need not be given, description.
type Row = (&'static str, &'static str, Option<&'static str>, &'static str);

const PEER: Row = ("peer_id", "string", None, "The mesh IP of the peer.");

/// Describes an action; one without a row has no words.
pub fn described(name: &str) -> ActionInfo {
    let (description, rows): (&str, &[Row]) = match name {
        COLLECT => (
            "Collects facts of this host, its network interfaces and its processes.",
            &[
                (
                    "include_network",
                    "bool",
                    Some("true"),
                    "Whether to list the network interfaces.",
                ),
                ("include_processes", "bool", Some("true"), "Whether to list the processes."),
            ],
        ),
        PING => (
            "Pings a peer.",
            &[PEER, ("count", "int", Some("1"), "How many echo requests to send, 1 to 10.")],
        ),
        TRACEROUTE => (
            "Traces the route to a peer.",
            &[PEER, ("max_hops", "int", Some("15"), "How many hops to go at most, 1 to 64.")],
        ),
        CONFIG_DUMP => ("Prints the merged configuration as TOML, its secrets masked.", &[]),
        HEALTH_CHECK => (
            "Tells how the agent is: its readiness, its last heartbeat and its last pull.",
            &[("include_peers", "bool", Some("false"), "Whether to list the peers.")],
        ),
        LOGS_SNAPSHOT => (
            "Prints the last lines of the agent's own log.",
            &[
                ("lines", "int", Some("100"), "How many lines to print, 1 to 10000."),
                (
                    "since",
                    "string",
                    Some(""),
                    "None from before this time, or this long ago: RFC 3339, or such as 15m.",
                ),
            ],
        ),
        RECONNECT => ("Pulls the desired state at once and opens the stream of events anew.", &[]),
        RELOAD_CONFIG => {
            ("Sends the agent SIGHUP, on which it reads its configuration again.", &[])
        }
        SYSTEM_INFO => ("Tells which host, agent and node this is.", &[]),
        _ => ("", &[]),
    };
    let parameters = rows.iter().map(parameter).collect();
    ActionInfo { name: name.into(), description: description.into(), parameters }
}

fn parameter((name, kind, default, description): &Row) -> ActionParameter {
    ActionParameter {
        name: (*name).into(),
        kind: (*kind).into(),
        required: default.is_none(),
        default: default.unwrap_or_default().into(),
        description: (*description).into(),
    }
}
