//! The actions that ask another node by a tool of the system: what the tool is given, and what its end means.
//!
//! Specification: "Built-in actions".

use alloc::{
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};
use core::{net::IpAddr, ops::RangeInclusive};

use super::{PING, Parameters, TRACEROUTE, captured, failed, parameters::number};
use crate::agent::facts::{Captured, Cause, Ending};

/// "`count` (default 1, maximum 10)".
pub const COUNT: RangeInclusive<u64> = 1..=10;
pub const COUNT_DEFAULT: u64 = 1;
/// "`max_hops` (default 15)".
pub const MAX_HOPS: RangeInclusive<u64> = 1..=64;
pub const MAX_HOPS_DEFAULT: u64 = 15;
/// How long each answer is waited for, in seconds, as the tools take it.
const WAIT: &str = "3";

/// A tool with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The program to look for, as the operator knows it.
    pub name: &'static str,
    pub arguments: Vec<String>,
}

/// The tool for this action, or what is wrong with its parameters; `None` for an action that is done by no tool.
pub fn tool(action: &str, parameters: &Parameters) -> Option<Result<Tool, &'static str>> {
    match action {
        PING => Some(address(parameters).map(|address| ping(parameters, address))),
        TRACEROUTE => Some(address(parameters).map(|address| traceroute(parameters, address))),
        _ => None,
    }
}

fn ping(parameters: &Parameters, address: IpAddr) -> Tool {
    let count = number(parameters, "count", COUNT, COUNT_DEFAULT);
    let options = ["-n".into(), "-c".into(), count.to_string(), "-W".into(), WAIT.into()];
    Tool { name: "ping", arguments: behind(options, address) }
}

fn traceroute(parameters: &Parameters, address: IpAddr) -> Tool {
    let hops = number(parameters, "max_hops", MAX_HOPS, MAX_HOPS_DEFAULT);
    let options = ["-n".into(), "-m".into(), hops.to_string(), "-w".into(), WAIT.into()];
    Tool { name: "traceroute", arguments: behind(options, address) }
}

/// What stands behind the two dashes is no option, whatever it is.
fn behind(options: [String; 5], address: IpAddr) -> Vec<String> {
    let mut arguments = Vec::from(options);
    arguments.extend(vec!["--".into(), address.to_string()]);
    arguments
}

/// An address and nothing else: no name that would be looked up, no zone; a mapped one is the IPv4 address.
fn address(parameters: &Parameters) -> Result<IpAddr, &'static str> {
    let text = parameters.get("peer_id").map_or("", String::as_str);
    if text.is_empty() {
        return Err("peer_id is required: the mesh IP of a peer");
    }
    let address: IpAddr = text.parse().map_err(|_| "peer_id must be an IP address")?;
    Ok(address.to_canonical())
}

/// What the run ends with, by the end of its tool, of which there is none where this host has no such tool: on success
/// with the tool's own output, else with 1 and all that it said on stderr.
pub fn ending(tool: &str, ended: Option<Ending>, max_output_bytes: usize) -> Ending {
    let Some(ended) = ended else { return failed(&format!("{tool} not available")) };
    let note = match &ended.cause {
        Cause::Exited(0) | Cause::TimedOut | Cause::Cancelled => return ended,
        Cause::Exited(_) => String::new(),
        Cause::Signalled(signal) => format!("{tool} was ended by signal {signal}\n"),
        Cause::Broken(reason) => format!("{tool} cannot be run: {reason}\n"),
        Cause::Changed { .. } => format!("{tool} cannot be run\n"),
    };
    let is_cut = ended.stdout.cut || ended.stderr.cut;
    let mut said = ended.stdout.bytes;
    said.extend(ended.stderr.bytes);
    said.extend(note.into_bytes());
    let said = captured(said, max_output_bytes);
    let stderr = Captured { cut: said.cut || is_cut, ..said };
    Ending { cause: Cause::Exited(1), stdout: Captured::default(), stderr }
}
