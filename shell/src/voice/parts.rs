//! What the configuration says of metrics, logs and audit, as the core and the shell need it.

use std::sync::Arc;

use meshward_core::{
    agent::{Filter, LocalSettings, Pipe, PipeSettings, Purpose, Source, VoiceSettings},
    wire::ingest::Severity,
};

use tokio::runtime::Handle;

use super::{
    auditd::Auditd,
    collect::Collectors,
    deliver::Endpoints,
    files::{Files, Patterns},
    journald::Journald,
    k8s::K8sAudit,
    peers::Peers,
    source::Collector,
    spool::SpoolPlace,
    stats::Stats,
    system::System,
};
use crate::{
    client::ClientError,
    config::{Backend, Config, Pipeline},
    tunnel::NoTunnel,
};

/// What the hands need of it.
#[derive(Debug)]
pub(crate) struct VoiceParts {
    pub(crate) collectors: Collectors,
    pub(crate) endpoints: Endpoints,
    pub(crate) spools: Vec<SpoolPlace>,
    /// Of the log files; they may be replaced while the agent runs.
    pub(crate) patterns: Patterns,
}

impl VoiceParts {
    pub(crate) fn new(config: &Config, purpose: Purpose) -> Result<Self, ClientError> {
        let settings = settings(config, purpose);
        let patterns = Patterns::new(&config.logs.file_patterns);
        Ok(Self {
            collectors: collectors(config, purpose, &patterns),
            endpoints: Endpoints::new(&settings)?,
            spools: spools(config, purpose),
            patterns,
        })
    }
}

/// What is asked by an agent that runs; it must be called within the runtime.
fn collectors(config: &Config, purpose: Purpose, patterns: &Patterns) -> Collectors {
    let hostname = hostname();
    let all = [
        (config.metrics.enabled, Pipe::Metrics),
        (config.logs.pipeline.enabled, Pipe::Logs),
        (config.audit.pipeline.enabled, Pipe::Audit),
    ];
    let wanted = all.into_iter().filter(|(is_on, _)| *is_on && purpose == Purpose::Run);
    let of = |(_, pipe)| match pipe {
        Pipe::Metrics => (pipe, metrics(config)),
        Pipe::Logs => (pipe, logs(config, patterns, &hostname)),
        Pipe::Audit => (pipe, audit(config, &hostname)),
    };
    wanted.map(of).collect()
}

fn metrics(config: &Config) -> Vec<Box<dyn Collector>> {
    let runtime = Handle::current();
    let mut metrics: Vec<Box<dyn Collector>> =
        vec![Box::new(System::new()), Box::new(Stats::new(runtime.clone()))];
    if config.tunnel.backend != Backend::None {
        metrics.push(Box::new(Peers::new(Arc::new(NoTunnel), runtime)));
    }
    metrics
}

/// Files are followed without patterns too, since a reload may bring some.
fn logs(config: &Config, patterns: &Patterns, hostname: &Arc<str>) -> Vec<Box<dyn Collector>> {
    let files = Files::new(patterns.clone(), Arc::clone(hostname));
    let mut logs: Vec<Box<dyn Collector>> = vec![Box::new(files)];
    if config.logs.journald {
        logs.push(Box::new(Journald::new(Arc::clone(hostname))));
    }
    logs
}

fn audit(config: &Config, hostname: &Arc<str>) -> Vec<Box<dyn Collector>> {
    let mut audit: Vec<Box<dyn Collector>> = Vec::new();
    if config.audit.auditd {
        audit.push(Box::new(Auditd::new(Arc::clone(hostname))));
    }
    if let Some(path) = &config.audit.k8s_audit_file {
        audit.push(Box::new(K8sAudit::new(path, Arc::clone(hostname))));
    }
    audit
}

/// The folder below the data directory in which records wait.
const SPOOL: &str = "spool";

/// Where records wait, of the pipelines that keep them on the disk.
fn spools(config: &Config, purpose: Purpose) -> Vec<SpoolPlace> {
    let pipes = [
        (Pipe::Metrics, &config.metrics),
        (Pipe::Logs, &config.logs.pipeline),
        (Pipe::Audit, &config.audit.pipeline),
    ];
    let is_kept = |of: &Pipeline| of.enabled && purpose == Purpose::Run;
    let place = |(pipe, of): (Pipe, &Pipeline)| {
        let max_bytes = of.spool_max_bytes.filter(|_| is_kept(of))?;
        let folder = config.node.data_dir.join(SPOOL).join(pipe.name());
        Some(SpoolPlace { pipe, folder, max_bytes })
    };
    pipes.into_iter().filter_map(place).collect()
}

/// What the core is told of it; only an agent that runs has a voice.
pub(crate) fn settings(config: &Config, purpose: Purpose) -> VoiceSettings {
    match purpose {
        Purpose::Run => running(config),
        Purpose::Register => VoiceSettings::default(),
    }
}

fn running(config: &Config) -> VoiceSettings {
    let (logs, audit) = (&config.logs, &config.audit);
    VoiceSettings {
        metrics: pipe(&config.metrics, sources(Pipe::Metrics, config)),
        logs: pipe(&logs.pipeline, sources(Pipe::Logs, config)),
        audit: pipe(&audit.pipeline, sources(Pipe::Audit, config)),
        filter: Filter {
            min_severity: logs.min_severity.as_deref().and_then(Severity::parse),
            include_units: logs.include_units.clone(),
            exclude_units: logs.exclude_units.clone(),
        },
        hostname: hostname(),
        peers: config.tunnel.backend != Backend::None,
    }
}

fn sources(pipe: Pipe, config: &Config) -> Vec<Source> {
    let (logs, audit) = (&config.logs, &config.audit);
    let all = match pipe {
        Pipe::Metrics => vec![
            (Source::System, true),
            (Source::Stats, true),
            (Source::Peers, config.tunnel.backend != Backend::None),
        ],
        Pipe::Logs => {
            vec![(Source::Journald, logs.journald), (Source::Files, !logs.file_patterns.is_empty())]
        }
        Pipe::Audit => {
            vec![(Source::Auditd, audit.auditd), (Source::K8sAudit, audit.k8s_audit_file.is_some())]
        }
    };
    all.into_iter().filter_map(|(source, is_wanted)| is_wanted.then_some(source)).collect()
}

fn pipe(of: &Pipeline, sources: Vec<Source>) -> Option<PipeSettings> {
    of.enabled.then(|| PipeSettings {
        collect_interval: of.collect_interval,
        report_interval: of.report_interval,
        batch_size: of.batch_size,
        spool: of.spool_max_bytes.is_some(),
        local: of.local_endpoint.as_ref().map(|local| LocalSettings {
            url: local.url.clone(),
            secret_key: local.secret_key.clone(),
            tls_insecure_skip_verify: local.tls_insecure_skip_verify,
        }),
        sources,
    })
}

/// The name of this node, as the kernel has it.
fn hostname() -> Arc<str> {
    rustix::system::uname().nodename().to_string_lossy().into()
}
