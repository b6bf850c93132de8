//! What is told of an agent: its desired state, its identity, and what `meshward status` shows.

use super::{Agent, Pipe, network::file, readiness::Readiness, view::View};
use crate::{
    time::{Mono, Now},
    wire::{
        identity::Identity,
        local::{Queues, Status},
    },
};

impl Agent {
    /// Whether the process is useful, with the first reason why it is not.
    pub const fn readiness(&self) -> Readiness {
        let events = self.senses.events.trouble();
        Readiness::of(self.identity.is_some(), self.standing, events, self.broken)
    }

    /// What of the desired state co-located programs are served.
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// Who this node is, once registered.
    pub const fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// What `meshward status` tells.
    pub fn status(&self, now: Now) -> Status {
        let age = |since: Option<Mono>| since.map(|since| now.mono.since(since).as_secs());
        // Of what an earlier process pulled the wall clock alone tells.
        let pulled_at = self.last_pull.file.pulled_at();
        let kept = || Some(file::age(now, pulled_at?)?.as_secs());
        let (executions_active, executions_waiting) = self.dispatch.depths();
        let (sessions_open, sessions_unsupported) = self.sessions.counts();
        let file = self.identity.as_ref().map(|identity| &identity.file);
        Status {
            ready: self.readiness().is_ready(),
            reason: self.readiness().as_str().into(),
            node_id: file.map(|file| file.node_id.clone()),
            mesh_ip: file.map(|file| file.mesh_ip.clone()),
            delivery_mode: self.senses.events.mode().as_str().into(),
            last_heartbeat_age_seconds: age(self.heartbeat.accepted),
            last_pull_age_seconds: age(self.pull.succeeded).or_else(kept),
            queues: Queues {
                audit: self.voice.held(Pipe::Audit) as u64,
                events_of_unknown_key: self.senses.signing.unknown(),
                executions_active: executions_active as u64,
                executions_waiting: executions_waiting as u64,
                local_runs: self.local_runs.running() as u64,
                logs: self.voice.held(Pipe::Logs) as u64,
                metrics: self.voice.held(Pipe::Metrics) as u64,
                reports_unsynced: self.reports.unsynced().len() as u64,
                reports_writing: self.reports.writing() as u64,
                sessions_open: sessions_open as u64,
                sessions_unsupported: sessions_unsupported as u64,
                violations_dropped: self.senses.integrity.dropped(),
                violations_waiting: self.senses.integrity.waiting() as u64,
            },
        }
    }
}
