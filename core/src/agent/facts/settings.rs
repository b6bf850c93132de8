//! What stays the same while an agent runs.

use alloc::{string::String, vec::Vec};
use core::time::Duration;

use crate::wire::grammar::Checksum;

/// What stays the same while an agent runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub purpose: Purpose,
    /// How long a registration is retried on transient failures.
    pub max_retry_duration: Duration,
    pub heartbeat_interval: Duration,
    pub reconcile_interval: Duration,
    pub request_timeout: Duration,
    /// What stands before the names of the control plane's own headers, such as `X-Service`.
    pub header_prefix: String,
    /// How long changes of reports are gathered before they are sent.
    pub debounce_period: Duration,
    /// Whether secrets are read only by root and by members of one group.
    pub secret_auth_enabled: bool,
    /// Of the running image.
    pub binary_checksum: Checksum,
    pub binary_version: String,
    pub actions: ActionSettings,
}

/// What the process was started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To run until it is told to stop.
    Run,
    /// To have an identity, then exit.
    Register,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSettings {
    pub enabled: bool,
    pub max_concurrent: usize,
    pub max_action_timeout: Duration,
    pub max_output_bytes: usize,
    /// The built-in actions that the shell can run.
    pub builtins: Vec<String>,
}
