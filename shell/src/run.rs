//! Wires an agent together and runs it: data directory, listeners, client, loop.

use std::{error::Error, future::Future, io};

use meshward_core::agent::{
    ActionSettings, EventSettings, Exit, Input, IntegritySettings, NatSettings, Purpose,
    SenseSettings, SessionSettings, Settings, TcpSettings, builtins,
};
use tokio::sync::mpsc;
use tracing::info;

use crate::{
    actions::Own,
    client::{self, Client, ClientError, ClientSettings},
    config::{Config, LocalApi},
    drive::{self, INBOX_MAX, Inbox},
    hooks::HooksDir,
    image,
    local::{
        self, ASKED_MAX, Addresses, Inlet, ListenError, Listeners, Tcp,
        token::{self, TokenError},
    },
    log,
    measure::Measures,
    perform::Performer,
    registration::RegistrationSources,
    reload::Reload,
    service::Manager,
    store::{Ended, Store, StoreError, Writer},
    voice::{self, VoiceParts},
};

/// The version that heartbeats and `--version` tell.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why an agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("the running image cannot be read for its checksum")]
    Image(#[source] io::Error),
    #[error("the thread that writes below state/ cannot be started")]
    Writer(#[source] io::Error),
}

/// Runs an agent until it exits; `stop` asks it to drain.
pub async fn run(
    config: &Config,
    purpose: Purpose,
    stop: impl Future<Output = ()>,
) -> Result<Exit, StartError> {
    run_within(config, Host::default(), purpose, stop).await
}

/// What a process has around its agent.
#[derive(Debug, Default)]
pub struct Host {
    /// What the actions may tell of this process.
    pub own: Own,
    /// Who is told how it stands.
    pub manager: Manager,
    /// Where the configuration may change.
    pub reload: Option<Reload>,
}

/// As [`run`], within what this process has around it.
pub async fn run_within(
    config: &Config,
    Host { own, manager, reload }: Host,
    purpose: Purpose,
    stop: impl Future<Output = ()>,
) -> Result<Exit, StartError> {
    let sources = RegistrationSources::of(&config.registration)?;
    let mut store = Store::open(&config.node.data_dir)?.forgetting(sources.token_file());
    let memory = store.remember()?;
    let client = Client::new(&client_settings(config))?;
    let settings = settings(config, purpose, &client)?;
    let (facts_in, facts) = mpsc::channel(INBOX_MAX);
    let (asked_in, asked) = mpsc::channel(ASKED_MAX);
    let listeners = match purpose {
        Purpose::Run => {
            let inlet = Inlet { asked: asked_in, facts: facts_in.clone() };
            local::listen(&addresses(config, &settings), &inlet).await?
        }
        Purpose::Register => Listeners::none(),
    };
    let (writer, written) = start_writer(&mut store, &facts_in)?;
    info!(version = VERSION, control_plane = config.control_plane.url, "starting");
    let hooks = HooksDir::new(&config.actions.hooks_dir);
    let host_key = config.integrity.ssh_host_key_file.as_deref();
    let measures = Measures::new(host_key).map_err(StartError::Image)?;
    let voice = VoiceParts::new(config, purpose)?;
    let (patterns, notifier) = (voice.patterns.clone(), manager.notifier());
    let performer =
        Performer::new((store, writer), client, sources, (own, hooks, measures, voice), facts_in)
            .telling(manager);
    let take_up = move |config: &Config| {
        // Without a log there is nothing to change.
        let _ = log::set_level(config.log.level);
        patterns.replace(&config.logs.file_patterns);
    };
    let retimes = reload.map(|reload| reload.begin(notifier, take_up)).unwrap_or_default();
    let inbox = Inbox { facts, asked, retimes };
    let exit = drive::drive(settings, memory, performer, inbox, stop).await;
    listeners.close(config.local_api.shutdown_timeout).await;
    written.wait(config.local_api.shutdown_timeout).await;
    Ok(exit)
}

fn start_writer(
    store: &mut Store,
    facts: &mpsc::Sender<Input>,
) -> Result<(Writer, Ended), StartError> {
    let gone = || StartError::Writer(io::Error::other("what it writes is taken already"));
    let state = store.take_state().ok_or_else(gone)?;
    Writer::start(state, facts.clone()).map_err(StartError::Writer)
}

fn settings(config: &Config, purpose: Purpose, client: &Client) -> Result<Settings, StartError> {
    Ok(Settings {
        purpose,
        max_retry_duration: config.registration.max_retry_duration,
        heartbeat_interval: config.heartbeat.interval,
        reconcile_interval: config.reconcile.interval,
        request_timeout: config.control_plane.request_timeout,
        header_prefix: config.control_plane.header_prefix.clone(),
        debounce_period: config.local_api.debounce_period,
        secret_auth_enabled: config.local_api.secret_auth_enabled,
        tcp: match purpose {
            Purpose::Run => tcp(&config.local_api)?,
            Purpose::Register => None,
        },
        binary_checksum: image::checksum().map_err(StartError::Image)?,
        binary_version: VERSION.to_owned(),
        actions: ActionSettings {
            enabled: config.actions.enabled,
            max_concurrent: config.actions.max_concurrent,
            max_action_timeout: config.actions.max_action_timeout,
            max_output_bytes: config.actions.max_output_bytes,
            origin: client.origin(),
            builtins: builtins::ALL.map(str::to_owned).into(),
            hooks: config.actions.enabled && purpose == Purpose::Run,
        },
        sessions: SessionSettings {
            enabled: config.sessions.enabled,
            max_sessions: config.sessions.max_sessions,
            default_timeout: config.sessions.default_timeout,
            listen_address: config.sessions.listen_address,
        },
        senses: senses(config),
        voice: voice::settings(config, purpose),
    })
}

/// Takes up what may change while the agent runs.
pub(crate) fn retime(settings: &mut Settings, config: &Config) {
    settings.heartbeat_interval = config.heartbeat.interval;
    settings.reconcile_interval = config.reconcile.interval;
    settings.senses = senses(config);
    settings.voice = voice::settings(config, settings.purpose);
}

/// Whether an agent can be started with this, as far as that is to be known without starting it; it blocks on the disk.
pub(crate) fn could_start(config: &Config) -> Result<(), StartError> {
    RegistrationSources::of(&config.registration)?;
    client::bare(&client_settings(config))?;
    tcp(&config.local_api)?;
    Ok(())
}

/// An error with all its causes, innermost last.
pub(crate) fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut at = error.source();
    while let Some(cause) = at {
        text = format!("{text}: {cause}");
        at = cause.source();
    }
    text
}

fn senses(config: &Config) -> SenseSettings {
    let (plane, nat, integrity) = (&config.control_plane, &config.nat, &config.integrity);
    SenseSettings {
        events: Some(EventSettings {
            idle_timeout: plane.sse_idle_timeout,
            reprobe_interval: plane.sse_reprobe_interval,
        }),
        nat: nat.enabled.then(|| NatSettings {
            port: config.tunnel.listen_port,
            servers: nat.stun_servers.clone(),
            refresh_interval: nat.refresh_interval,
            timeout: nat.timeout,
            min_report_interval: nat.min_report_interval,
        }),
        integrity: integrity.enabled.then_some(IntegritySettings {
            verify_interval: integrity.verify_interval,
            watch_enabled: integrity.watch_enabled,
        }),
        manifest: true,
        host_key: integrity
            .ssh_host_key_file
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned()),
    }
}

/// Who may ask by TCP, where that is wanted.
fn tcp(local: &LocalApi) -> Result<Option<TcpSettings>, TokenError> {
    let file = local.http_token_file.as_deref().filter(|_| local.http_enabled);
    let host = local.http_listen.host().to_owned();
    file.map(|file| Ok(TcpSettings::new(&token::read(file)?, host))).transpose()
}

fn client_settings(config: &Config) -> ClientSettings {
    ClientSettings {
        url: config.control_plane.url.clone(),
        ca_file: config.control_plane.ca_file.clone(),
        tls_insecure_skip_verify: config.control_plane.tls_insecure_skip_verify,
        connect_timeout: config.control_plane.connect_timeout,
    }
}

fn addresses(config: &Config, settings: &Settings) -> Addresses {
    let listen = config.local_api.http_listen.clone();
    Addresses {
        socket: config.local_api.socket_path.clone(),
        group: local::GROUP.to_owned(),
        secret_group: config.local_api.secret_auth_enabled.then(|| local::SECRET_GROUP.to_owned()),
        tcp: settings.tcp.clone().map(|settings| Tcp { listen, settings }),
        health: config.health.enabled.then(|| config.health.listen.clone()),
    }
}
