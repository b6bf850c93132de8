//! From checked values to the typed [`Config`].

use std::{collections::BTreeMap, path::PathBuf};

use super::{
    error::ConfigError,
    forms,
    layers::{Held, Merged, Sources},
    reader::Reader,
    rules, schema,
    settings::{
        Actions, Audit, Backend, Config, ControlPlane, Health, Heartbeat, Integrity, LocalApi,
        LocalEndpoint, Log, LogFormat, LogLevel, Logs, Nat, Node, Pipeline, Policy, Reconcile,
        Registration, Sessions, Tunnel,
    },
    show::{DEFAULT, Row},
};

/// A checked configuration, and where each of its values came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub config: Config,
    /// Every key, in the order of its name.
    pub rows: Vec<Row>,
    /// Environment variables that look like settings and are none, in words.
    pub strangers: Vec<String>,
    pub(super) held: BTreeMap<&'static str, Held>,
}

impl Config {
    /// Reads, merges and checks all sources; on a fault, tells all of them.
    pub fn load(sources: &Sources) -> Result<Loaded, Vec<ConfigError>> {
        let mut merged = Merged::read(sources);
        rules::check(&mut merged);
        let token = Reader(&merged).text("registration.token_env");
        let strangers = merged.strangers.iter().filter(|one| token.as_ref() != Some(&one.name));
        let strangers = strangers.map(ToString::to_string).collect();
        Loaded::of(merged, strangers)
    }
}

impl Loaded {
    /// Makes what was checked one configuration, unless something is wrong with it.
    pub(super) fn of(merged: Merged, strangers: Vec<String>) -> Result<Self, Vec<ConfigError>> {
        if !merged.faults.is_empty() {
            let mut faults = merged.faults;
            faults.sort_by_key(|fault| fault.place.line());
            return Err(faults);
        }
        let rows = merged.held.iter().map(|(path, held)| Row::of(path, held)).collect();
        let config = Reader(&merged).config();
        Ok(Self { config, rows, strangers, held: merged.held })
    }

    /// The settings that somebody set and that have no effect in this version.
    pub fn idle(&self) -> Vec<&'static str> {
        let set = self.rows.iter().filter(|row| row.origin != DEFAULT);
        set.map(|row| row.path).filter(|path| schema::is_idle(path)).collect()
    }
}

impl Config {
    /// The socket alone, with all that is wrong: a client of it needs nothing else.
    pub fn socket_path(sources: &Sources) -> (Option<PathBuf>, Vec<ConfigError>) {
        let merged = Merged::read(sources);
        (Reader(&merged).path("local_api.socket_path"), merged.faults)
    }
}

impl Reader<'_> {
    fn config(&self) -> Config {
        Config {
            node: Node {
                data_dir: self.path("node.data_dir").unwrap_or_default(),
                run_dir: self.path("node.run_dir").unwrap_or_default(),
            },
            control_plane: self.control_plane(),
            registration: self.registration(),
            heartbeat: Heartbeat { interval: self.duration("heartbeat.interval") },
            reconcile: Reconcile { interval: self.duration("reconcile.interval") },
            local_api: self.local_api(),
            health: Health {
                enabled: self.flag("health.enabled"),
                listen: self.listen("health.listen"),
            },
            actions: self.actions(),
            sessions: self.sessions(),
            nat: self.nat(),
            integrity: self.integrity(),
            metrics: self.pipeline("metrics"),
            logs: self.logs(),
            audit: self.audit(),
            tunnel: self.tunnel(),
            policy: Policy {
                enabled: self.flag("policy.enabled"),
                chain_name: self.text("policy.chain_name").unwrap_or_default(),
            },
            log: Log { level: self.level(), format: self.format() },
        }
    }

    fn control_plane(&self) -> ControlPlane {
        ControlPlane {
            url: self
                .text("control_plane.url")
                .map(|url| forms::trimmed_base(&url))
                .unwrap_or_default(),
            ca_file: self.path("control_plane.ca_file"),
            tls_insecure_skip_verify: self.flag("control_plane.tls_insecure_skip_verify"),
            connect_timeout: self.duration("control_plane.connect_timeout"),
            request_timeout: self.duration("control_plane.request_timeout"),
            header_prefix: self.text("control_plane.header_prefix").unwrap_or_default(),
            sse_idle_timeout: self.duration("control_plane.sse_idle_timeout"),
            sse_reprobe_interval: self.duration("control_plane.sse_reprobe_interval"),
        }
    }

    fn registration(&self) -> Registration {
        let text = |key: &str| self.text(&format!("registration.{key}"));
        Registration {
            project_id: text("project_id"),
            resource_handle: text("resource_handle"),
            requested_resource_id: text("requested_resource_id"),
            token_file: text("token_file").map(PathBuf::from),
            token_env: text("token_env"),
            token_value: self.secret("registration.token_value"),
            use_metadata: self.flag("registration.use_metadata"),
            metadata_url: text("metadata_url")
                .map(|url| forms::trimmed_base(&url))
                .unwrap_or_default(),
            metadata_token_path: text("metadata_token_path").unwrap_or_default(),
            metadata_project_id_path: text("metadata_project_id_path").unwrap_or_default(),
            metadata_resource_handle_path: text("metadata_resource_handle_path")
                .unwrap_or_default(),
            metadata_requested_resource_id_path: text("metadata_requested_resource_id_path")
                .unwrap_or_default(),
            metadata_timeout: self.duration("registration.metadata_timeout"),
            max_retry_duration: self.duration("registration.max_retry_duration"),
        }
    }

    fn local_api(&self) -> LocalApi {
        LocalApi {
            socket_path: self.path("local_api.socket_path").unwrap_or_default(),
            http_enabled: self.flag("local_api.http_enabled"),
            http_listen: self.listen("local_api.http_listen"),
            http_token_file: self.path("local_api.http_token_file"),
            debounce_period: self.duration("local_api.debounce_period"),
            shutdown_timeout: self.duration("local_api.shutdown_timeout"),
            secret_auth_enabled: self.flag("local_api.secret_auth_enabled"),
        }
    }

    fn actions(&self) -> Actions {
        Actions {
            enabled: self.flag("actions.enabled"),
            hooks_dir: self.path("actions.hooks_dir").unwrap_or_default(),
            max_concurrent: self.integer("actions.max_concurrent"),
            max_action_timeout: self.duration("actions.max_action_timeout"),
            max_output_bytes: self.integer("actions.max_output_bytes"),
        }
    }

    fn sessions(&self) -> Sessions {
        Sessions {
            enabled: self.flag("sessions.enabled"),
            max_sessions: self.integer("sessions.max_sessions"),
            default_timeout: self.duration("sessions.default_timeout"),
            listen_address: self.text("sessions.listen_address").and_then(|text| text.parse().ok()),
        }
    }

    fn nat(&self) -> Nat {
        Nat {
            enabled: self.flag("nat.enabled"),
            stun_servers: self.list("nat.stun_servers"),
            refresh_interval: self.duration("nat.refresh_interval"),
            timeout: self.duration("nat.timeout"),
            min_report_interval: self.duration("nat.min_report_interval"),
        }
    }

    fn integrity(&self) -> Integrity {
        Integrity {
            enabled: self.flag("integrity.enabled"),
            verify_interval: self.duration("integrity.verify_interval"),
            watch_enabled: self.flag("integrity.watch_enabled"),
            ssh_host_key_file: self.path("integrity.ssh_host_key_file"),
        }
    }

    fn pipeline(&self, section: &str) -> Pipeline {
        let key = |name: &str| format!("{section}.{name}");
        let enabled = self.flag(&key("enabled"));
        let endpoint =
            self.text(&key("local_endpoint.url")).filter(|_| enabled).map(|url| LocalEndpoint {
                url,
                secret_key: self.text(&key("local_endpoint.secret_key")).unwrap_or_default(),
                tls_insecure_skip_verify: self
                    .flag(&key("local_endpoint.tls_insecure_skip_verify")),
            });
        Pipeline {
            enabled,
            collect_interval: self.duration(&key("collect_interval")),
            report_interval: self.duration(&key("report_interval")),
            batch_size: self.integer(&key("batch_size")),
            spool_max_bytes: Some(self.integer(&key("spool_max_bytes"))).filter(|most| *most > 0),
            local_endpoint: endpoint,
        }
    }

    fn logs(&self) -> Logs {
        Logs {
            pipeline: self.pipeline("logs"),
            journald: self.flag("logs.journald"),
            file_patterns: self.list("logs.file_patterns"),
            min_severity: self.text("logs.filter.min_severity"),
            include_units: self.list("logs.filter.include_units"),
            exclude_units: self.list("logs.filter.exclude_units"),
        }
    }

    fn audit(&self) -> Audit {
        Audit {
            pipeline: self.pipeline("audit"),
            auditd: self.flag("audit.auditd"),
            k8s_audit_file: self.path("audit.k8s_audit_file"),
        }
    }

    fn tunnel(&self) -> Tunnel {
        let backend = match self.text("tunnel.backend").as_deref() {
            Some("kernel") => Backend::Kernel,
            Some("userspace") => Backend::Userspace,
            Some("none") => Backend::None,
            _ => Backend::Auto,
        };
        Tunnel {
            backend,
            interface_name: self.text("tunnel.interface_name").unwrap_or_default(),
            listen_port: self.integer("tunnel.listen_port"),
            mtu: self.integer("tunnel.mtu"),
        }
    }

    fn level(&self) -> LogLevel {
        match self.text("log.level").as_deref() {
            Some("error") => LogLevel::Error,
            Some("warn") => LogLevel::Warn,
            Some("debug") => LogLevel::Debug,
            Some("trace") => LogLevel::Trace,
            _ => LogLevel::Info,
        }
    }

    fn format(&self) -> LogFormat {
        match self.text("log.format").as_deref() {
            Some("json") => LogFormat::Json,
            Some("journald") => LogFormat::Journald,
            _ => LogFormat::Text,
        }
    }
}
