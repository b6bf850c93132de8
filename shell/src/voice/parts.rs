//! What the configuration says of metrics, logs and audit, as the core and the shell need it.

use std::{fs, path::PathBuf, sync::Arc};

use meshward_core::{
    agent::{
        Filter, LocalSettings, Pipe, PipeSettings, Purpose, Source, VoiceSettings,
        voice::settings_of,
    },
    wire::{ingest::Severity, spool::segment_number},
};
use tokio::runtime::Handle;
use tracing::warn;

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
    /// It must be called within the runtime, and blocks on the disk.
    pub(crate) fn new(config: &Config, purpose: Purpose) -> Result<Self, ClientError> {
        let settings = settings(config, purpose);
        let patterns = Patterns::new(&config.logs.file_patterns);
        let on =
            || Pipe::ALL.into_iter().filter_map(|pipe| Some((pipe, settings_of(&settings, pipe)?)));
        let collectors = on().map(|(pipe, of)| {
            // Files are followed without patterns too, since a reload may bring some.
            let is_bare = pipe == Pipe::Logs && !of.sources.contains(&Source::Files);
            let sources = of.sources.iter().copied().chain(is_bare.then_some(Source::Files));
            let collector = |source| collector(source, config, (&settings.hostname, &patterns));
            (pipe, sources.filter_map(collector).collect())
        });
        let collectors: Collectors = collectors.collect();
        on().for_each(|(pipe, _)| warn_of_stranded(config, pipe));
        let spools = on().filter_map(|(pipe, _)| spool(config, pipe)).collect();
        Ok(Self { collectors, endpoints: Endpoints::new(&settings)?, spools, patterns })
    }
}

/// What asks this source; `None` where the configuration does not say where it is.
fn collector(
    source: Source,
    config: &Config,
    (hostname, patterns): (&Arc<str>, &Patterns),
) -> Option<Box<dyn Collector>> {
    let hostname = Arc::clone(hostname);
    Some(match source {
        Source::System => Box::new(System::new()),
        Source::Stats => Box::new(Stats::new(Handle::current())),
        Source::Peers => Box::new(Peers::new(Arc::new(NoTunnel), Handle::current())),
        Source::Journald => Box::new(Journald::new(hostname)),
        Source::Files => {
            let files = Files::new(patterns.clone(), hostname);
            Box::new(files.keeping_out_of(&config.node.data_dir))
        }
        Source::Auditd => Box::new(Auditd::new(hostname)),
        Source::K8sAudit => {
            Box::new(K8sAudit::new(config.audit.k8s_audit_file.as_ref()?, hostname))
        }
    })
}

/// The folder below the data directory in which records wait.
const SPOOL: &str = "spool";

/// Where records of this pipeline wait, if they are kept on the disk.
fn spool(config: &Config, pipe: Pipe) -> Option<SpoolPlace> {
    let max_bytes = pipeline(config, pipe).spool_max_bytes?;
    Some(SpoolPlace { pipe, folder: spool_folder(config, pipe), max_bytes })
}

fn spool_folder(config: &Config, pipe: Pipe) -> PathBuf {
    config.node.data_dir.join(SPOOL).join(pipe.name())
}

/// Records wait that nobody sends since their pipeline is not to use the disk any more.
fn warn_of_stranded(config: &Config, pipe: Pipe) {
    if pipeline(config, pipe).spool_max_bytes.is_some() {
        return;
    }
    let (folder, name) = (spool_folder(config, pipe), pipe.name());
    let mut files = fs::read_dir(&folder).into_iter().flatten().flatten();
    if files.any(|file| file.file_name().to_str().and_then(segment_number).is_some()) {
        warn!(
            "records of the {name} wait in {} and are not sent: set {name}.spool_max_bytes until they are gone, or remove \
             the folder",
            folder.display()
        );
    }
}

const fn pipeline(config: &Config, pipe: Pipe) -> &Pipeline {
    match pipe {
        Pipe::Metrics => &config.metrics,
        Pipe::Logs => &config.logs.pipeline,
        Pipe::Audit => &config.audit.pipeline,
    }
}

/// What the core is told of it; only an agent that runs has a voice.
pub(crate) fn settings(config: &Config, purpose: Purpose) -> VoiceSettings {
    match purpose {
        Purpose::Run => running(config),
        Purpose::Register => VoiceSettings::default(),
    }
}

fn running(config: &Config) -> VoiceSettings {
    let logs = &config.logs;
    VoiceSettings {
        metrics: settings_for(Pipe::Metrics, config),
        logs: settings_for(Pipe::Logs, config),
        audit: settings_for(Pipe::Audit, config),
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

fn settings_for(pipe: Pipe, config: &Config) -> Option<PipeSettings> {
    let of = pipeline(config, pipe);
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
        sources: sources(pipe, config),
    })
}

/// The name of this node, as the kernel has it.
fn hostname() -> Arc<str> {
    rustix::system::uname().nodename().to_string_lossy().into()
}
