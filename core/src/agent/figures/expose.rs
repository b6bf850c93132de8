//! The figures of the agent, each family once.

use super::{Process, voice};
use crate::{
    agent::{
        Agent, Settings, events::Mode, heartbeat::skew::Skew, life::Life, readiness::Readiness,
        standing::Standing,
    },
    time::{Mono, Now},
    wire::{
        exposition::{CONTENT_TYPE, Exposition, Number},
        http::Response,
    },
};

impl Agent {
    /// Answers `GET /metrics`.
    pub(in crate::agent) fn exposed(
        &self,
        settings: &Settings,
        now: Now,
        process: &Process,
    ) -> Response {
        let mut out = Exposition::default();
        self.standing_figures(&mut out, settings, now.mono);
        self.rhythm_figures(&mut out, now.mono);
        self.queue_figures(&mut out);
        self.count_figures(&mut out);
        voice::voice(&mut out, &self.voice_figures(settings), now.mono);
        process_figures(&mut out, process);
        Response { body: out.into_text().into_bytes(), ..Response::empty(200) }
            .with("content-type", CONTENT_TYPE)
    }

    fn standing_figures(&self, out: &mut Exposition, settings: &Settings, now: Mono) {
        let readiness = self.readiness();
        out.gauge("meshward_build_info", "The version of the agent; always 1.")
            .with(&[("version", &settings.binary_version)], 1_u64);
        out.gauge("meshward_ready", "Whether the node is useful, as GET /readyz tells.")
            .only(Some(readiness.is_ready()));
        out.gauge("meshward_readiness", "1 for the first reason why the node is not ready.")
            .each("state", Readiness::ALL.map(|state| (state.word(), state == readiness)));
        out.gauge("meshward_identity_present", "Whether the node is registered.")
            .only(Some(self.identity.is_some()));
        out.gauge("meshward_identity_admitted", "Whether the control plane admits the identity.")
            .only(self.identity.is_some().then_some(self.standing == Standing::Admitted));
        out.gauge("meshward_draining", "Whether the agent is about to stop.")
            .only(Some(self.life != Life::Working));
        out.gauge("meshward_uptime_seconds", "How long the agent has been running.")
            .only(Some(now.since(self.started)));
        let mode = self.senses.events.mode();
        out.gauge("meshward_delivery_mode", "1 for the way by which the desired state comes.")
            .each("mode", Mode::ALL.map(|one| (one.as_str(), one == mode)));
        out.gauge("meshward_stream_open", "Whether a stream of events is open.")
            .only(Some(self.senses.events.is_open()));
    }

    fn rhythm_figures(&self, out: &mut Exposition, now: Mono) {
        let age = |since: Option<Mono>| since.map(|since| now.since(since));
        out.gauge("meshward_last_heartbeat_age_seconds", "Since a heartbeat was accepted.")
            .only(age(self.heartbeat.accepted));
        out.gauge("meshward_last_pull_age_seconds", "Since a pull succeeded.")
            .only(age(self.pull.succeeded));
        out.gauge("meshward_last_event_age_seconds", "Since an event was verified.")
            .only(age(self.counts.event_at));
        out.gauge(
            "meshward_clock_offset_seconds",
            "How far the clock of the node is ahead of the control plane's; below zero behind.",
        )
        .only(self.heartbeat.skew.map(|skew| match skew {
            Skew::None => Number::Whole(0),
            Skew::Ahead(by) => Number::Seconds(by),
            Skew::Behind(by) => Number::Minus(by),
        }));
    }

    fn queue_figures(&self, out: &mut Exposition) {
        let (active, waiting) = self.dispatch.depths();
        let (open, unsupported) = self.sessions.counts();
        let integrity = &self.senses.integrity;
        let depths: [(_, _, usize); 9] = [
            (
                "meshward_reports_unsynced",
                "Reports whose last change is not delivered.",
                self.reports.unsynced().len(),
            ),
            ("meshward_reports_writing", "Reports on their way to disk.", self.reports.writing()),
            ("meshward_executions_active", "Executions that run or are being reported.", active),
            ("meshward_executions_waiting", "Executions of the last pull that wait.", waiting),
            (
                "meshward_local_runs_active",
                "Runs that programs of the node wait for.",
                self.local_runs.running(),
            ),
            ("meshward_sessions_open", "Sessions with an open listener.", open),
            ("meshward_sessions_unsupported", "Sessions that this node cannot serve.", unsupported),
            ("meshward_watchers", "Open streams of GET /v1/watch.", self.watch.watchers()),
            (
                "meshward_violations_waiting",
                "Integrity violations that are not delivered.",
                integrity.waiting(),
            ),
        ];
        for (name, help, depth) in depths {
            out.gauge(name, help).only(Some(depth));
        }
        out.gauge(
            "meshward_events_of_unknown_key",
            "Events in a row that are signed by a key this node does not hold.",
        )
        .only(Some(self.senses.signing.unknown()));
        out.counter("meshward_violations_dropped_total", "Integrity violations that were let go.")
            .only(Some(integrity.dropped()));
    }

    fn count_figures(&self, out: &mut Exposition) {
        let counts = &self.counts;
        out.counter("meshward_heartbeats_total", "Heartbeats by outcome.")
            .each("outcome", counts.heartbeats.all());
        out.counter("meshward_pulls_total", "Pulls of the desired state by outcome.")
            .each("outcome", counts.pulls.all());
        out.counter("meshward_events_accepted_total", "Events that were verified.")
            .only(Some(counts.events_accepted));
        out.counter("meshward_events_refused_total", "Events that do not count, by reason.")
            .each("reason", counts.events_refused.all());
        out.counter("meshward_stream_requests_total", "How often a stream was asked for.")
            .only(Some(counts.stream_requests));
        out.counter("meshward_stream_connects_total", "How often a stream was opened.")
            .only(Some(self.senses.events.opened()));
        out.counter("meshward_executions_total", "Runs for the control plane by their end.")
            .each("outcome", counts.executions.all());
        out.counter("meshward_local_runs_total", "Runs for programs of the node by their end.")
            .each("outcome", counts.local_runs.all());
        out.counter("meshward_report_deliveries_total", "Tries to deliver a report by outcome.")
            .each("outcome", counts.reports.all());
        out.counter("meshward_key_rotations_total", "Mesh keys that were put into force.")
            .only(Some(counts.rotations));
        out.counter("meshward_notices_total", "What the operator was told, by level.")
            .each("level", counts.notices.all());
    }
}

fn process_figures(out: &mut Exposition, process: &Process) {
    out.gauge("process_resident_memory_bytes", "Resident memory size in bytes.")
        .only(process.resident_memory);
    out.counter("process_cpu_seconds_total", "Total user and system CPU time in seconds.")
        .only(process.cpu);
    out.gauge("process_open_fds", "Number of open file descriptors.").only(process.open_files);
    out.gauge("process_max_fds", "Maximum number of open file descriptors.")
        .only(process.open_files_max);
    out.gauge("process_threads", "Number of threads.").only(process.threads);
    out.gauge("process_start_time_seconds", "Start time since the Unix epoch in seconds.")
        .only(process.started);
}
