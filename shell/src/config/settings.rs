//! The checked configuration as plain structs, one a section.
//!
//! Every value here has passed its rule, so its users check nothing again. An optional text that is empty is absent.
//!
//! Specification: "Local API configuration", "Registration configuration", "Observability configuration", "Actions
//! configuration".

use std::{net::IpAddr, path::PathBuf, time::Duration};

use meshward_core::secret::Secret;

use super::listen::ListenAddress;

/// The whole configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub node: Node,
    pub control_plane: ControlPlane,
    pub registration: Registration,
    pub heartbeat: Heartbeat,
    pub reconcile: Reconcile,
    pub local_api: LocalApi,
    pub health: Health,
    pub actions: Actions,
    pub sessions: Sessions,
    pub nat: Nat,
    pub integrity: Integrity,
    pub metrics: Pipeline,
    pub logs: Logs,
    pub audit: Audit,
    pub tunnel: Tunnel,
    pub policy: Policy,
    pub log: Log,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub data_dir: PathBuf,
    pub run_dir: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlane {
    /// Without a trailing slash: a route such as `/v1/register` is appended as it is.
    pub url: String,
    pub ca_file: Option<PathBuf>,
    pub tls_insecure_skip_verify: bool,
    pub connect_timeout: Duration,
    pub request_timeout: Duration,
    pub header_prefix: String,
    pub sse_idle_timeout: Duration,
    pub sse_reprobe_interval: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    pub project_id: Option<String>,
    pub resource_handle: Option<String>,
    pub requested_resource_id: Option<String>,
    pub token_file: Option<PathBuf>,
    /// The name of the environment variable, not its value.
    pub token_env: Option<String>,
    pub token_value: Option<Secret<String>>,
    pub use_metadata: bool,
    /// Without a trailing slash, as [`ControlPlane::url`].
    pub metadata_url: String,
    pub metadata_token_path: String,
    pub metadata_project_id_path: String,
    pub metadata_resource_handle_path: String,
    pub metadata_requested_resource_id_path: String,
    pub metadata_timeout: Duration,
    pub max_retry_duration: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    pub interval: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reconcile {
    pub interval: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalApi {
    pub socket_path: PathBuf,
    pub http_enabled: bool,
    pub http_listen: ListenAddress,
    /// There whenever `http_enabled` is.
    pub http_token_file: Option<PathBuf>,
    pub debounce_period: Duration,
    pub shutdown_timeout: Duration,
    pub secret_auth_enabled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub enabled: bool,
    pub listen: ListenAddress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actions {
    pub enabled: bool,
    pub hooks_dir: PathBuf,
    pub max_concurrent: usize,
    pub max_action_timeout: Duration,
    pub max_output_bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sessions {
    pub enabled: bool,
    pub max_sessions: usize,
    pub default_timeout: Duration,
    /// The mesh IP when absent.
    pub listen_address: Option<IpAddr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nat {
    pub enabled: bool,
    /// Each `host:port`.
    pub stun_servers: Vec<String>,
    pub refresh_interval: Duration,
    pub timeout: Duration,
    pub min_report_interval: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integrity {
    pub enabled: bool,
    pub verify_interval: Duration,
    pub watch_enabled: bool,
    pub ssh_host_key_file: Option<PathBuf>,
}

/// What metrics, logs and audit have in common; its numbers are checked only when it is enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    pub enabled: bool,
    pub collect_interval: Duration,
    pub report_interval: Duration,
    pub batch_size: usize,
    /// How many bytes of the disk its records may take; `None` keeps them in memory alone.
    pub spool_max_bytes: Option<u64>,
    /// There when the pipeline is enabled and a URL is set.
    pub local_endpoint: Option<LocalEndpoint>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEndpoint {
    pub url: String,
    /// The name of the control-plane secret that holds the bearer.
    pub secret_key: String,
    pub tls_insecure_skip_verify: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logs {
    pub pipeline: Pipeline,
    pub journald: bool,
    pub file_patterns: Vec<String>,
    pub min_severity: Option<String>,
    pub include_units: Vec<String>,
    pub exclude_units: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    pub pipeline: Pipeline,
    pub auditd: bool,
    pub k8s_audit_file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    pub backend: Backend,
    pub interface_name: String,
    pub listen_port: u16,
    /// 0 leaves it to the kernel.
    pub mtu: u16,
}

/// What carries the mesh's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Auto,
    Kernel,
    Userspace,
    None,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub enabled: bool,
    pub chain_name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    pub level: LogLevel,
    pub format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object a line
    Json,
    /// Entries in journald's own protocol; where it does not listen, lines with the priority prefix that it reads
    Journald,
}
