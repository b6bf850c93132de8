//! Wires an agent together and runs it: data directory, listeners, client, loop.

use std::future::Future;

use meshward_core::agent::{ActionSettings, Exit, Purpose, Settings};
use thiserror::Error;
use tokio::sync::mpsc;
use tracing::info;

use crate::{
    actions,
    client::{Client, ClientError, ClientSettings},
    config::Config,
    drive::{self, INBOX_MAX, Inbox},
    image,
    local::{self, ASKED_MAX, Addresses, ListenError, Listeners},
    perform::Performer,
    registration::RegistrationSources,
    store::{Store, StoreError},
};

/// The version that heartbeats and `--version` tell.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why an agent did not start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("the running image cannot be read for its checksum")]
    Image(#[source] std::io::Error),
}

/// Runs an agent until it exits; `stop` asks it to drain.
pub async fn run(
    config: &Config,
    purpose: Purpose,
    stop: impl Future<Output = ()>,
) -> Result<Exit, StartError> {
    let sources = RegistrationSources::of(&config.registration)?;
    let mut store = Store::open(&config.node.data_dir)?.forgetting(sources.token_file());
    let memory = store.remember()?;
    let client = Client::new(&client_settings(config))?;
    let settings = settings(config, purpose)?;
    let (facts_in, facts) = mpsc::channel(INBOX_MAX);
    let (asked_in, asked) = mpsc::channel(ASKED_MAX);
    let listeners = match purpose {
        Purpose::Run => local::listen(&addresses(config), asked_in).await?,
        Purpose::Register => Listeners::none(),
    };
    info!(version = VERSION, control_plane = config.control_plane.url, "starting");
    let performer = Performer::new(store, client, sources, facts_in);
    let exit = drive::drive(&settings, memory, performer, Inbox { facts, asked }, stop).await;
    listeners.close(config.local_api.shutdown_timeout).await;
    Ok(exit)
}

fn settings(config: &Config, purpose: Purpose) -> Result<Settings, StartError> {
    Ok(Settings {
        purpose,
        max_retry_duration: config.registration.max_retry_duration,
        heartbeat_interval: config.heartbeat.interval,
        reconcile_interval: config.reconcile.interval,
        request_timeout: config.control_plane.request_timeout,
        header_prefix: config.control_plane.header_prefix.clone(),
        debounce_period: config.local_api.debounce_period,
        secret_auth_enabled: config.local_api.secret_auth_enabled,
        binary_checksum: image::checksum().map_err(StartError::Image)?,
        binary_version: VERSION.to_owned(),
        actions: ActionSettings {
            enabled: config.actions.enabled,
            max_concurrent: config.actions.max_concurrent,
            max_action_timeout: config.actions.max_action_timeout,
            max_output_bytes: config.actions.max_output_bytes,
            builtins: actions::BUILTINS.iter().map(|&name| name.to_owned()).collect(),
        },
    })
}

fn client_settings(config: &Config) -> ClientSettings {
    ClientSettings {
        url: config.control_plane.url.clone(),
        ca_file: config.control_plane.ca_file.clone(),
        tls_insecure_skip_verify: config.control_plane.tls_insecure_skip_verify,
        connect_timeout: config.control_plane.connect_timeout,
    }
}

fn addresses(config: &Config) -> Addresses {
    Addresses {
        socket: config.local_api.socket_path.clone(),
        health: config.health.enabled.then(|| config.health.listen.clone()),
    }
}
