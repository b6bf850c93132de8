//! What the kernel and the system can do for the agent.

use std::{fs, io, path::Path};

use meshward_core::doctor::{Ability, Holder, Log, Seen, There, proc};
use rustix::{
    fs::{Access, MemfdFlags, access, memfd_create},
    process::{PidfdFlags, getpid, pidfd_open},
};

use super::disk::proc_file;
use crate::{
    actions::tool,
    config::{Backend, Config},
    voice::audit_log,
};

const NET_ADMIN: u32 = 12;
const AUDIT_READ: u32 = 37;

/// Looks with the capabilities of the agent that runs, else with those of this process where its user is the agent's.
pub(super) fn look(config: &Config, agent: Holder, foreign: bool) -> Vec<Seen> {
    let (process, lack) = match (agent, foreign) {
        (Holder::Process(process), _) => (Some(process.to_string()), "the agent has it not"),
        (Holder::Nobody, false) => (Some("self".to_owned()), "this user has it not"),
        (Holder::Nobody, true) | (Holder::Hidden, _) => (None, ""),
    };
    let status = process.and_then(|process| proc_file(&format!("/proc/{process}/status")));
    let held = status.and_then(|status| proc::capabilities(&status));
    let capability = |bit: u32| match held.map(|held| held >> bit & 1) {
        None => There::Hidden,
        Some(0) => There::No(lack.to_owned()),
        Some(_) => There::Yes,
    };
    Ability::ALL
        .into_iter()
        .map(|ability| {
            let there = match ability {
                Ability::Pidfd => told(pidfd_open(getpid(), PidfdFlags::empty()).map(drop)),
                Ability::Memfd => told(memfd_create("doctor", MemfdFlags::CLOEXEC).map(drop)),
                Ability::ControlGroups => exists("/sys/fs/cgroup/cgroup.controllers"),
                Ability::Tun => told(access("/dev/net/tun", Access::READ_OK | Access::WRITE_OK)),
                Ability::NetAdmin => capability(NET_ADMIN),
                Ability::AuditRead => capability(AUDIT_READ).or_by(log(), foreign),
                Ability::Journalctl => installed("journalctl"),
                Ability::Ping => installed("ping"),
                Ability::Traceroute => installed("traceroute"),
            };
            Seen { ability, wanted: wanted(ability, config), there }
        })
        .collect()
}

fn told(done: rustix::io::Result<()>) -> There {
    match done {
        Ok(()) => There::Yes,
        Err(error) => There::No(io::Error::from(error).to_string()),
    }
}

fn exists(path: &str) -> There {
    if Path::new(path).exists() { There::Yes } else { There::No(format!("{path} is not there")) }
}

fn installed(name: &str) -> There {
    match tool::find(name, tool::path()) {
        Some(_) => There::Yes,
        None => There::No("not installed".to_owned()),
    }
}

fn wanted(ability: Ability, config: &Config) -> bool {
    match ability {
        Ability::Pidfd | Ability::Memfd | Ability::ControlGroups | Ability::Traceroute => {
            config.actions.enabled
        }
        Ability::Ping => {
            let is_measured = config.metrics.enabled && config.tunnel.backend != Backend::None;
            config.actions.enabled || is_measured
        }
        Ability::Tun => config.tunnel.backend != Backend::None,
        Ability::NetAdmin => config.tunnel.backend != Backend::None,
        Ability::AuditRead => config.audit.pipeline.enabled && config.audit.auditd && is_host(),
        Ability::Journalctl => config.logs.pipeline.enabled && config.logs.journald,
    }
}

fn log() -> Log {
    match audit_log::look(audit_log::PATH.as_ref()) {
        Ok(()) => Log::Readable,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Log::Absent,
        Err(_) => Log::Closed,
    }
}

/// Of a container the kernel audits nothing.
fn is_host() -> bool {
    fs::metadata("/run/systemd/container").is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;

    #[test]
    fn ping_is_wanted_by_actions_and_for_the_latency_of_peers() {
        let wants = |actions: &str, metrics: &str, backend: &str| {
            let pairs = [
                ("NODE__DATA_DIR", "/d"),
                ("CONTROL_PLANE__URL", "https://plane.example"),
                ("ACTIONS__ENABLED", actions),
                ("METRICS__ENABLED", metrics),
                ("TUNNEL__BACKEND", backend),
            ];
            let named =
                |(name, value): (&str, &str)| (format!("MESHWARD_{name}"), value.to_owned());
            let environment = pairs.map(named).into_iter().collect();
            let sources = Sources { environment, ..Sources::default() };
            wanted(Ability::Ping, &Config::load(&sources).unwrap().config)
        };
        assert!(wants("true", "false", "none") && wants("false", "true", "auto"));
        assert!(!wants("false", "true", "none") && !wants("false", "false", "auto"));
    }
}
