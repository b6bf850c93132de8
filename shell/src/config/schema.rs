//! Every key there is, once: its name, what it takes, and its default.
//!
//! A row that needs another row to be judged has its rule in `rules.rs`. Specification: the configuration tables of
//! "Resources and their fields".

use std::time::Duration;

use super::{
    forms::{self, Verdict},
    value::Kind,
};

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// With its section, such as `logs.filter.min_severity`.
    pub(super) path: &'static str,
    pub(super) kind: Kind,
    pub(super) default: Default,
    /// Whether an empty text stands for no value.
    pub(super) optional: bool,
}

/// What holds where no source has a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Default {
    Absent,
    Flag(bool),
    Integer(u64),
    List(&'static [&'static str]),
    /// It must be set.
    Required,
    /// A file of this name in `node.run_dir`.
    InRunDir(&'static str),
    /// Read as an environment variable would be.
    Text(&'static str),
}

impl Key {
    /// The environment variable that sets it.
    pub(super) fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}", self.path.replace('.', "__").to_ascii_uppercase())
    }
}

pub(super) const VARIABLE_PREFIX: &str = "MESHWARD_";
/// More than one node can start or serve; a bound, not a recommendation.
const CONCURRENCY_MAX: u64 = 1024;
/// The largest output that a control plane takes.
const OUTPUT_MAX: u64 = 1 << 30;
const BATCH_MAX: u64 = 100_000;

/// The largest spool, in bytes.
const SPOOL_MAX: u64 = 1 << 40;
const MTU_MAX: u64 = 65_535;

const fn row(path: &'static str, kind: Kind, default: Default) -> Key {
    let optional = matches!(default, Default::Absent);
    Key { path, kind, default, optional }
}

const fn text(path: &'static str, rule: fn(&str) -> Verdict, default: &'static str) -> Key {
    row(path, Kind::Text(rule), Default::Text(default))
}

const fn blankable(path: &'static str, rule: fn(&str) -> Verdict, default: &'static str) -> Key {
    Key { path, kind: Kind::Text(rule), default: Default::Text(default), optional: true }
}

const fn maybe(path: &'static str, rule: fn(&str) -> Verdict) -> Key {
    row(path, Kind::Text(rule), Default::Absent)
}

const fn flag(path: &'static str, default: bool) -> Key {
    row(path, Kind::Flag, Default::Flag(default))
}

const fn list(
    path: &'static str,
    rule: fn(&str) -> Verdict,
    default: &'static [&'static str],
) -> Key {
    row(path, Kind::List(rule), Default::List(default))
}

const fn integer(path: &'static str, min: u64, max: u64, default: u64) -> Key {
    row(path, Kind::Integer { min, max }, Default::Integer(default))
}

/// A duration of at least `min` milliseconds.
const fn at_least(path: &'static str, min: u64, default: &'static str) -> Key {
    row(path, Kind::Duration { min: Duration::from_millis(min) }, Default::Text(default))
}

const fn above_zero(path: &'static str, default: &'static str) -> Key {
    at_least(path, 1, default)
}

/// A row whose rule holds only while its section is enabled.
const fn judged_later(path: &'static str, default: &'static str) -> Key {
    at_least(path, 0, default)
}

/// How much of a disk records may take; 0 keeps them in memory alone.
const fn spool(path: &'static str) -> Key {
    row(path, Kind::Integer { min: 0, max: SPOOL_MAX }, Default::Integer(0))
}

const fn batch(path: &'static str, default: u64) -> Key {
    integer(path, 0, BATCH_MAX, default)
}

pub(super) const KEYS: &[Key] = &[
    row("node.data_dir", Kind::Text(forms::path), Default::Required),
    text("node.run_dir", forms::path, "/run/meshward"),
    row("control_plane.url", Kind::Text(forms::base_url), Default::Required),
    maybe("control_plane.ca_file", forms::path),
    flag("control_plane.tls_insecure_skip_verify", false),
    above_zero("control_plane.connect_timeout", "10s"),
    above_zero("control_plane.request_timeout", "30s"),
    text("control_plane.header_prefix", forms::header_prefix, "X-Service"),
    above_zero("control_plane.sse_idle_timeout", "90s"),
    at_least("control_plane.sse_reprobe_interval", 1_000, "10m"),
    maybe("registration.project_id", forms::plain),
    maybe("registration.resource_handle", forms::plain),
    maybe("registration.requested_resource_id", forms::plain),
    blankable("registration.token_file", forms::path, "/etc/meshward/bootstrap-token"),
    blankable("registration.token_env", forms::variable, "AGENT_BOOTSTRAP_TOKEN"),
    row("registration.token_value", Kind::Secret, Default::Absent),
    flag("registration.use_metadata", false),
    text("registration.metadata_url", forms::base_url, "http://169.254.169.254"),
    text("registration.metadata_token_path", forms::metadata_path, "/meshward/bootstrap-token"),
    text("registration.metadata_project_id_path", forms::metadata_path, "/meshward/project-id"),
    text(
        "registration.metadata_resource_handle_path",
        forms::metadata_path,
        "/meshward/resource-handle",
    ),
    text(
        "registration.metadata_requested_resource_id_path",
        forms::metadata_path,
        "/meshward/requested-resource-id",
    ),
    above_zero("registration.metadata_timeout", "2s"),
    above_zero("registration.max_retry_duration", "5m"),
    at_least("heartbeat.interval", 1_000, "30s"),
    at_least("reconcile.interval", 1_000, "60s"),
    row("local_api.socket_path", Kind::Text(forms::path), Default::InRunDir("api.sock")),
    flag("local_api.http_enabled", false),
    text("local_api.http_listen", forms::listen, "127.0.0.1:9100"),
    maybe("local_api.http_token_file", forms::path),
    above_zero("local_api.debounce_period", "5s"),
    above_zero("local_api.shutdown_timeout", "5s"),
    flag("local_api.secret_auth_enabled", false),
    flag("health.enabled", true),
    text("health.listen", forms::listen, ":9101"),
    flag("actions.enabled", true),
    text("actions.hooks_dir", forms::path, "/etc/meshward/hooks"),
    integer("actions.max_concurrent", 1, CONCURRENCY_MAX, 5),
    at_least("actions.max_action_timeout", 10_000, "10m"),
    integer("actions.max_output_bytes", 1024, OUTPUT_MAX, 1_048_576),
    flag("sessions.enabled", true),
    integer("sessions.max_sessions", 1, CONCURRENCY_MAX, 10),
    at_least("sessions.default_timeout", 60_000, "30m"),
    maybe("sessions.listen_address", forms::session_address),
    flag("nat.enabled", true),
    list(
        "nat.stun_servers",
        forms::server,
        &["stun.l.google.com:19302", "stun.cloudflare.com:3478"],
    ),
    at_least("nat.refresh_interval", 10_000, "60s"),
    above_zero("nat.timeout", "5s"),
    above_zero("nat.min_report_interval", "10s"),
    flag("integrity.enabled", true),
    at_least("integrity.verify_interval", 30_000, "5m"),
    flag("integrity.watch_enabled", true),
    maybe("integrity.ssh_host_key_file", forms::path),
    flag("metrics.enabled", true),
    judged_later("metrics.collect_interval", "15s"),
    judged_later("metrics.report_interval", "60s"),
    batch("metrics.batch_size", 100),
    spool("metrics.spool_max_bytes"),
    maybe("metrics.local_endpoint.url", forms::any),
    maybe("metrics.local_endpoint.secret_key", forms::any),
    flag("metrics.local_endpoint.tls_insecure_skip_verify", false),
    flag("logs.enabled", true),
    judged_later("logs.collect_interval", "10s"),
    judged_later("logs.report_interval", "30s"),
    batch("logs.batch_size", 200),
    spool("logs.spool_max_bytes"),
    flag("logs.journald", true),
    list("logs.file_patterns", forms::file_pattern, &[]),
    maybe("logs.filter.min_severity", forms::severity),
    list("logs.filter.include_units", forms::plain, &[]),
    list("logs.filter.exclude_units", forms::plain, &[]),
    maybe("logs.local_endpoint.url", forms::any),
    maybe("logs.local_endpoint.secret_key", forms::any),
    flag("logs.local_endpoint.tls_insecure_skip_verify", false),
    flag("audit.enabled", true),
    judged_later("audit.collect_interval", "5s"),
    judged_later("audit.report_interval", "15s"),
    batch("audit.batch_size", 500),
    spool("audit.spool_max_bytes"),
    flag("audit.auditd", true),
    maybe("audit.k8s_audit_file", forms::path),
    maybe("audit.local_endpoint.url", forms::any),
    maybe("audit.local_endpoint.secret_key", forms::any),
    flag("audit.local_endpoint.tls_insecure_skip_verify", false),
    text("tunnel.backend", forms::backend, "auto"),
    text("tunnel.interface_name", forms::interface, "meshward0"),
    integer("tunnel.listen_port", 1, 65_535, 51_820),
    integer("tunnel.mtu", 0, MTU_MAX, 0),
    flag("policy.enabled", true),
    text("policy.chain_name", forms::chain, "meshward-mesh"),
    text("log.level", forms::level, "info"),
    text("log.format", forms::format, "text"),
];

pub(super) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// What is checked and otherwise without effect so far: sections, keys, or the starts of keys.
const IDLE: &[&str] = &["policy.", "tunnel.backend", "tunnel.interface_name", "tunnel.mtu"];

/// Whether a setting has no effect in this version.
pub(super) fn is_idle(path: &str) -> bool {
    IDLE.iter().any(|start| path.starts_with(start))
}

/// Whether keys stand below this name.
pub(super) fn is_section(path: &str) -> bool {
    KEYS.iter().any(|key| key.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// Every name below which keys stand, such as `logs` and `logs.filter`.
pub(super) fn sections() -> impl Iterator<Item = &'static str> {
    let ends = |path: &'static str| path.match_indices('.').map(move |(end, _)| &path[..end]);
    KEYS.iter().flat_map(move |key| ends(key.path))
}

#[cfg(test)]
mod tests {
    use super::{IDLE, KEYS};

    #[test]
    fn every_start_of_what_is_idle_names_a_key() {
        for start in IDLE {
            assert!(KEYS.iter().any(|key| key.path.starts_with(start)), "{start}");
        }
    }
}
