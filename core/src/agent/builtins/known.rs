//! What only the agent knows of itself and of the mesh: told at the moment of the order.

use alloc::{string::ToString as _, vec::Vec};

use super::{
    HEALTH_CHECK, Parameters, RECONNECT, SYSTEM_INFO, failed, parameters::switch, printed,
};
use crate::{
    agent::{
        facts::{Ending, Program, Run},
        readiness::Readiness,
    },
    time::{Mono, Now, Wall},
    wire::{
        action::{Begun, HealthCheck, SystemInfo, print},
        local::PeerRow,
        timestamp::Timestamp,
    },
};

/// What the agent knows as a run is ordered.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    pub node_id: &'k str,
    pub mesh_ip: &'k str,
    pub version: &'k str,
    pub peers: &'k [PeerRow],
    pub readiness: Readiness,
    /// Whether the desired state is pulled: not before the registration, nor while the identity is refused.
    pub pulls: bool,
    pub started: Mono,
    pub last_heartbeat: Option<Mono>,
    pub last_reconcile: Option<Mono>,
    pub now: Now,
}

/// What becomes of a run that was ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// It is to be begun.
    Run(Run),
    /// It has ended, as the agent itself knows what it prints.
    Ended(Ending),
    /// It ends so, and the desired state is to be pulled and the stream of events to be opened anew.
    Reconnect(Ending),
}

/// Answers what the agent itself can answer, and hands the rest on with what it has to know.
pub fn prepare(known: &Known<'_>, run: Run) -> Prepared {
    let Program::Builtin { name, parameters } = &run.program else { return Prepared::Run(run) };
    match name.as_str() {
        HEALTH_CHECK => {
            let told = print(&known.health(switch(parameters, "include_peers", false)));
            Prepared::Ended(printed(told, run.max_output_bytes))
        }
        RECONNECT if known.pulls => {
            let told = print(&Begun { status: "reconnected".into(), pid: None });
            Prepared::Reconnect(printed(told, run.max_output_bytes))
        }
        RECONNECT => Prepared::Ended(failed(match known.readiness {
            Readiness::Ready
            | Readiness::EventsRefused
            | Readiness::EventsDegraded
            | Readiness::SubsystemStopped => "the agent stops",
            told @ (Readiness::RegistrationPending | Readiness::IdentityRefused) => told.as_str(),
        })),
        SYSTEM_INFO => {
            let program = Program::Builtin { name: name.clone(), parameters: known.handed() };
            Prepared::Run(Run { program, ..run })
        }
        _ => Prepared::Run(run),
    }
}

/// What `system.info` tells of the host.
#[derive(Clone, Copy, Debug)]
pub struct Host<'h> {
    pub hostname: &'h str,
    pub os: &'h str,
    pub arch: &'h str,
}

/// What `system.info` prints, of a host and of what the agent has handed on.
pub fn system_info(host: &Host<'_>, handed: &Parameters) -> Vec<u8> {
    let of = |name: &str| handed.get(name).cloned().unwrap_or_default();
    print(&SystemInfo {
        hostname: host.hostname.into(),
        os: host.os.into(),
        arch: host.arch.into(),
        version: of("version"),
        mesh_ip: of("mesh_ip"),
        peer_count: of("peer_count").parse().unwrap_or_default(),
        node_id: of("node_id"),
    })
}

impl Known<'_> {
    /// In the place of the parameters of `system.info`, which has none.
    fn handed(&self) -> Parameters {
        let pairs = [
            ("version", self.version.into()),
            ("mesh_ip", self.mesh_ip.into()),
            ("peer_count", self.peers.len().to_string()),
            ("node_id", self.node_id.into()),
        ];
        pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    /// Nothing is tunnelled in this version, and a node without a tunnel device is as healthy as it is ready.
    fn health(&self, include_peers: bool) -> HealthCheck {
        let status = if self.readiness.is_ready() { "healthy" } else { "degraded" };
        HealthCheck {
            tunnel_count: 0,
            connected_peers: 0,
            uptime: self.now.mono.since(self.started).as_secs(),
            last_heartbeat: self.last_heartbeat.map(|then| self.time_of(then)),
            last_reconcile: self.last_reconcile.map(|then| self.time_of(then)),
            status: status.into(),
            reason: self.readiness.as_str().into(),
            include_peers,
            peers: if include_peers { self.peers.to_vec() } else { Vec::new() },
        }
    }

    /// When that was, by the wall clock as it is now.
    fn time_of(&self, then: Mono) -> Timestamp {
        let ago = self.now.mono.since(then);
        let wall = self.now.wall.since_origin().saturating_sub(ago);
        Timestamp::from(Wall::from_origin(wall).second())
    }
}
