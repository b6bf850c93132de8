//! What the kernel and the system can do for the agent.

use std::{fs, path::Path};

use meshward_core::doctor::{Ability, Seen, proc};
use rustix::{
    fs::{Access, MemfdFlags, access, memfd_create},
    process::{PidfdFlags, getpid, pidfd_open},
};

use super::disk::proc_file;
use crate::{
    actions::tool,
    config::{Backend, Config},
};

const NET_ADMIN: u32 = 12;
const AUDIT_READ: u32 = 37;

/// Looks with the capabilities of the agent that runs, else with those of this process.
pub(super) fn look(config: &Config, running: Option<u32>) -> Vec<Seen> {
    let process = running.map_or_else(|| "self".to_owned(), |process| process.to_string());
    let held = proc::capabilities(&proc_file(&format!("/proc/{process}/status"))).unwrap_or(0);
    let capability = |bit: u32, words: &str| match held >> bit & 1 {
        0 => Err(words.to_owned()),
        _ => Ok(()),
    };
    let whose = if running.is_some() { "the agent has it not" } else { "this user has it not" };
    Ability::ALL
        .into_iter()
        .map(|ability| {
            let there = match ability {
                Ability::Pidfd => told(pidfd_open(getpid(), PidfdFlags::empty()).map(drop)),
                Ability::Memfd => told(memfd_create("doctor", MemfdFlags::CLOEXEC).map(drop)),
                Ability::ControlGroups => exists("/sys/fs/cgroup/cgroup.controllers"),
                Ability::Tun => told(access("/dev/net/tun", Access::READ_OK | Access::WRITE_OK)),
                Ability::NetAdmin => capability(NET_ADMIN, whose),
                Ability::AuditRead => capability(AUDIT_READ, whose),
                Ability::Journalctl => installed("journalctl"),
                Ability::Ping => installed("ping"),
                Ability::Traceroute => installed("traceroute"),
            };
            Seen { ability, wanted: wanted(ability, config), there }
        })
        .collect()
}

fn told(done: rustix::io::Result<()>) -> Result<(), String> {
    done.map_err(|error| std::io::Error::from(error).to_string())
}

fn exists(path: &str) -> Result<(), String> {
    if Path::new(path).exists() { Ok(()) } else { Err(format!("{path} is not there")) }
}

fn installed(name: &str) -> Result<(), String> {
    tool::find(name, tool::PATH).map(drop).ok_or_else(|| "not installed".to_owned())
}

fn wanted(ability: Ability, config: &Config) -> bool {
    match ability {
        Ability::Pidfd
        | Ability::Memfd
        | Ability::ControlGroups
        | Ability::Ping
        | Ability::Traceroute => config.actions.enabled,
        Ability::Tun => config.tunnel.backend != Backend::None,
        Ability::NetAdmin => config.tunnel.backend != Backend::None,
        Ability::AuditRead => config.audit.pipeline.enabled && config.audit.auditd && is_host(),
        Ability::Journalctl => config.logs.pipeline.enabled && config.logs.journald,
    }
}

/// Of a container the kernel audits nothing.
fn is_host() -> bool {
    fs::metadata("/run/systemd/container").is_err()
}
