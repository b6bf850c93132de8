//! What stays the same while an agent runs.

use alloc::{string::String, vec::Vec};
use core::{net::IpAddr, time::Duration};

use sha2::{Digest as _, Sha256};

use super::voice::VoiceSettings;
use crate::{
    secret::Secret,
    wire::{grammar::Checksum, upload_url::Origin},
};

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
    /// Absent where the local API has no TCP listener.
    pub tcp: Option<TcpSettings>,
    /// Of the running image.
    pub binary_checksum: Checksum,
    pub binary_version: String,
    pub actions: ActionSettings,
    pub sessions: SessionSettings,
    pub senses: SenseSettings,
    pub voice: VoiceSettings,
}

/// What of its surroundings a node senses; each part is absent where it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenseSettings {
    pub events: Option<EventSettings>,
    pub nat: Option<NatSettings>,
    pub integrity: Option<IntegritySettings>,
    /// Whether the control plane is told what this node runs and offers.
    pub manifest: bool,
    /// The path of the SSH host key, where one is configured.
    pub host_key: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSettings {
    /// After so long without a byte a stream counts as broken.
    pub idle_timeout: Duration,
    /// How long until a stream that was refused is asked for again.
    pub reprobe_interval: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatSettings {
    /// The port of the tunnel, which is the one that peers are to reach.
    pub port: u16,
    /// STUN servers, each `host:port`.
    pub servers: Vec<String>,
    pub refresh_interval: Duration,
    /// Of each server.
    pub timeout: Duration,
    pub min_report_interval: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegritySettings {
    pub verify_interval: Duration,
    /// Whether a change of a hook is told when it is noticed, and not only by the next look.
    pub watch_enabled: bool,
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
    /// Whether there is a hooks directory to be looked at.
    pub hooks: bool,
    /// What the address of an upload is held against.
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    pub enabled: bool,
    /// How many listeners there are at once.
    pub max_sessions: usize,
    /// How long a session lasts at most, whatever its entry says.
    pub default_timeout: Duration,
    /// Absent for the mesh address.
    pub listen_address: Option<IpAddr>,
}

/// Who may ask by TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSettings {
    /// Of the token, so that a comparison tells nothing of it by the time that it takes.
    pub token_digest: Secret<[u8; 32]>,
    /// The name that the operator listens on; empty for an address.
    pub host: String,
}

impl TcpSettings {
    /// Keeps the digest of the token alone.
    pub fn new(token: &Secret<String>, host: String) -> Self {
        Self { token_digest: Secret::new(Sha256::digest(token.expose()).into()), host }
    }
}
