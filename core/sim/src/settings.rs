//! The settings of both ends: the specification's defaults.

use std::time::Duration;

use meshward_core::{
    agent::{
        ActionSettings, EventSettings, Filter, IntegritySettings, NatSettings, Pipe, PipeSettings,
        Purpose, SenseSettings, SessionSettings, Settings, VoiceSettings,
    },
    plane,
    wire::{grammar::Checksum, ingest::Severity, upload_url::Origin},
};

use crate::{chatter::PLACES, script::Speech, surroundings};

/// How many executions run at once.
pub(crate) const MAX_CONCURRENT: usize = 3;

/// How many sessions are open at once.
pub(crate) const MAX_SESSIONS: usize = 2;

/// The one action that the agent has.
pub(crate) const ACTION: &str = "probe";

/// Where the control plane is reached.
pub(crate) const HOST: &str = "plane.example";

pub(crate) const RECONCILE_INTERVAL: Duration = Duration::from_secs(60);

/// How long until a stream that was refused is asked for again.
pub(crate) const REPROBE_INTERVAL: Duration = Duration::from_secs(600);

/// How long an endpoint is not reported again, where nothing goes wrong and in any case.
pub(crate) const NAT_REFRESH_INTERVAL: Duration = Duration::from_secs(60);
pub(crate) const MIN_REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// How often the files of a node are looked at.
pub(crate) const VERIFY_INTERVAL: Duration = Duration::from_secs(300);

/// The agent's.
pub(crate) fn agent(speech: Option<Speech>) -> Settings {
    Settings {
        purpose: Purpose::Run,
        max_retry_duration: Duration::from_secs(300),
        heartbeat_interval: Duration::from_secs(30),
        reconcile_interval: RECONCILE_INTERVAL,
        request_timeout: Duration::from_secs(30),
        header_prefix: "X-Service".into(),
        debounce_period: Duration::from_secs(5),
        secret_auth_enabled: false,
        tcp: None,
        binary_checksum: Checksum::from_bytes([7; 32]),
        binary_version: "0.1.0".to_owned(),
        actions: ActionSettings {
            enabled: true,
            max_concurrent: MAX_CONCURRENT,
            max_action_timeout: Duration::from_secs(600),
            max_output_bytes: 1 << 20,
            builtins: vec![ACTION.to_owned()],
            hooks: true,
            origin: Origin { is_encrypted: false, host: HOST.to_owned() },
        },
        sessions: SessionSettings {
            enabled: true,
            max_sessions: MAX_SESSIONS,
            default_timeout: Duration::from_secs(1800),
            listen_address: None,
        },
        senses: SenseSettings {
            nat: Some(NatSettings {
                port: 51_820,
                servers: ["stun-1.example:3478", "stun-2.example:3478"].map(str::to_owned).into(),
                refresh_interval: NAT_REFRESH_INTERVAL,
                timeout: Duration::from_secs(5),
                min_report_interval: MIN_REPORT_INTERVAL,
            }),
            integrity: Some(IntegritySettings {
                verify_interval: VERIFY_INTERVAL,
                watch_enabled: true,
            }),
            manifest: true,
            host_key: Some(surroundings::HOST_KEY.to_owned()),
            events: Some(EventSettings {
                idle_timeout: Duration::from_secs(90),
                reprobe_interval: REPROBE_INTERVAL,
            }),
        },
        voice: speech.map(voice).unwrap_or_default(),
    }
}

/// All three pipelines alike.
fn voice(speech: Speech) -> VoiceSettings {
    let pipe = |pipe: Pipe| {
        let mut sources: Vec<_> =
            PLACES.iter().filter(|place| place.pipe == pipe).map(|place| place.source).collect();
        sources.dedup();
        Some(PipeSettings {
            collect_interval: Duration::from_secs(speech.collect),
            report_interval: Duration::from_secs(speech.report),
            batch_size: speech.batch,
            spool: speech.spool,
            local: None,
            sources,
        })
    };
    VoiceSettings {
        metrics: pipe(Pipe::Metrics),
        logs: pipe(Pipe::Logs),
        audit: pipe(Pipe::Audit),
        filter: Filter { min_severity: Some(Severity::Info), ..Filter::default() },
        hostname: "sim".into(),
        peers: false,
    }
}

/// The control plane's, with the key that it signs with.
pub(crate) fn plane(signing_public_key: String) -> plane::Settings {
    plane::Settings { signing_public_key, ..plane::Settings::default() }
}
