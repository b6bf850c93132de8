//! What the tests of the agent share: settings, clocks, answers as they come over the wire, and sound identities.

use std::time::Duration;

use meshward_core::{
    agent::{
        ActionSettings, Agent, Answer, Effect, Gathered, Input, Memory, Order, Purpose,
        SenseSettings, SessionSettings, Settings, StagedFile, TokenFile, TokenSources,
        VoiceSettings,
    },
    backoff::Jitter,
    ids::{CallId, ExecutionId},
    secret::Secret,
    time::{Mono, Now, Wall},
    wire::{
        execution::Execution,
        grammar::{Checksum, Name, NodeSecretKey, PublicKey, Uuid},
        http::{Request, Response},
        identity::{Files, Found, KeyFile, TokenDigest},
        timestamp::{Spelled, Timestamp},
        upload_url::Origin,
    },
};

/// The order to make a key, at the start of the clock.
pub(crate) fn make_key() -> Effect {
    Effect::Store(Order::MakeKey { at: Timestamp::from(start().wall) })
}

/// The order to remove the token file.
pub(crate) fn forget_token() -> Effect {
    Effect::Store(Order::ForgetToken(TokenDigest::of(&secret(TOKEN))))
}

/// A sound Ed25519 key.
pub(crate) const SIGNING: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
pub(crate) const NODE: &str = "6f1d2c3b-4a59-4768-8796-a5b4c3d2e1f0";
pub(crate) const TOKEN: &str = "a-bootstrap-token";

pub(crate) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A while after the start, at both clocks.
pub(crate) fn at(since: Duration) -> Now {
    let start = Now {
        mono: Mono::from_origin(seconds(1_000)),
        wall: Wall::from_origin(seconds(1_800_000_000)),
    };
    start.after(since)
}

pub(crate) fn start() -> Now {
    at(Duration::ZERO)
}

pub(crate) fn actions() -> ActionSettings {
    ActionSettings {
        enabled: true,
        max_concurrent: 2,
        max_action_timeout: seconds(600),
        max_output_bytes: 1 << 20,
        builtins: vec!["diagnostics.collect".into()],
        hooks: false,
        origin: Origin { is_encrypted: false, host: "plane.example".into() },
    }
}

pub(crate) const fn sessions() -> SessionSettings {
    SessionSettings {
        enabled: true,
        max_sessions: 2,
        default_timeout: seconds(1800),
        listen_address: None,
    }
}

pub(crate) fn settings() -> Settings {
    Settings {
        purpose: Purpose::Run,
        max_retry_duration: seconds(300),
        heartbeat_interval: seconds(30),
        reconcile_interval: seconds(60),
        request_timeout: seconds(30),
        header_prefix: "X-Service".into(),
        debounce_period: seconds(5),
        secret_auth_enabled: false,
        tcp: None,
        binary_checksum: Checksum::from_bytes([7; 32]),
        binary_version: "1.2.3".into(),
        actions: actions(),
        sessions: sessions(),
        // The tests of a sense turn it on.
        senses: SenseSettings::default(),
        voice: VoiceSettings::default(),
    }
}

pub(crate) fn execution_id(text: &str) -> ExecutionId {
    ExecutionId(text.into())
}

/// An entry that may run, with a minute left.
pub(crate) fn entry(id: &str, status: &str) -> Execution {
    Execution {
        execution_id: Name(id.into()),
        action: Name("diagnostics.collect".into()),
        kind: "builtin".into(),
        status: status.into(),
        expires_at: Some(expires(start().after(seconds(60)).wall)),
        ..Execution::default()
    }
}

pub(crate) fn expires(wall: Wall) -> Spelled {
    Spelled::parse(&Timestamp::from(wall).to_string()).expect("a time is spelled")
}

pub(crate) fn public_key(byte: u8) -> PublicKey {
    PublicKey::from_bytes([byte; 32]).expect("a key that is not all zero")
}

pub(crate) fn secret(text: &str) -> Secret<String> {
    Secret::new(text.into())
}

pub(crate) fn nsk() -> Secret<String> {
    NodeSecretKey::from_bytes([9; 32]).to_text()
}

pub(crate) fn responded(status: u16, body: &str) -> Answer {
    Answer::Responded(Response {
        body: body.into(),
        ..Response::empty(status).with("content-type", "application/json")
    })
}

pub(crate) fn problem(status: u16, code: &str) -> Answer {
    let body = format!(r#"{{"code":"{code}","detail":"told so","correlation_id":"c0ffee"}}"#);
    Answer::Responded(Response {
        body: body.into(),
        ..Response::empty(status).with("content-type", "application/problem+json")
    })
}

/// A problem with this detail, in the spelling of JSON.
pub(crate) fn echoing(status: u16, detail: &str) -> Answer {
    Answer::Responded(Response {
        body: format!(r#"{{"detail":"{detail}"}}"#).into(),
        ..Response::empty(status).with("content-type", "application/problem+json")
    })
}

pub(crate) fn registration_body(nsk: &str) -> String {
    format!(
        r#"{{"node_id":"{NODE}","mesh_ip":"10.0.0.7","signing_public_key":"{SIGNING}","signing_key_id":"k1",
        "nsk":"{nsk}","peer_snapshot":[],"domain_mesh_cidr":"10.0.0.0/16"}}"#
    )
}

pub(crate) fn gathered(token: TokenSources) -> Gathered {
    Gathered {
        token,
        project_id: "project".into(),
        resource_handle: "handle".into(),
        requested_resource_id: "".into(),
        nonce: Ok(Uuid::drawn([3; 16])),
    }
}

pub(crate) fn token_in_file() -> TokenSources {
    TokenSources { file: TokenFile::Text(secret(TOKEN)), ..TokenSources::default() }
}

pub(crate) fn token_value() -> TokenSources {
    TokenSources { value: Some(secret(TOKEN)), ..TokenSources::default() }
}

/// A data directory that holds a sound identity.
pub(crate) fn remembered(staged: StagedFile) -> Memory {
    let identity = format!(
        r#"{{"node_id":"{NODE}","mesh_ip":"10.0.0.7","last_rotation":{{"rotation_id":"r0","kid":"k0","wrap_key_version":1}}}}"#
    );
    Memory {
        files: Files {
            identity: Found::Content(identity.into()),
            node_secret_key: Found::Content(nsk()),
            signing_public_key: Found::Content(SIGNING.into()),
            private_key: KeyFile::Sound,
        },
        staged,
        state: Vec::new(),
        findings: Vec::new(),
    }
}

/// A whole agent with its clock, and what it ordered by the last input.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) agent: Agent,
    pub(crate) settings: Settings,
    pub(crate) now: Now,
}

impl Bench {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { agent: Agent::default(), settings, now: start() }
    }

    /// An agent that has found its identity on disk, and its first orders.
    pub(crate) fn armed(staged: StagedFile) -> (Self, Vec<Effect>) {
        let mut bench = Self::new(settings());
        let effects = bench.give(Input::Restarted(Box::new(remembered(staged))));
        (bench, effects)
    }

    pub(crate) fn give(&mut self, input: Input) -> Vec<Effect> {
        let step = std::mem::take(&mut self.agent).step(&self.settings, self.now, input);
        self.agent = step.state;
        step.effects
    }

    pub(crate) fn answer(&mut self, call: CallId, answer: Answer) -> Vec<Effect> {
        self.give(Input::Answered { call, answer, jitter: Jitter::NONE })
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }
}

/// The calls among orders.
pub(crate) fn sent(effects: &[Effect]) -> Vec<(CallId, Request)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Send { call, request, .. } => Some((*call, request.clone())),
            Effect::Gather
            | Effect::Store(_)
            | Effect::Keep { .. }
            | Effect::Act(_)
            | Effect::Reply { .. }
            | Effect::Stream(_)
            | Effect::Tell(_)
            | Effect::Exit(_) => None,
        })
        .collect()
}

/// The one call whose path ends so.
pub(crate) fn sent_to(effects: &[Effect], end: &str) -> (CallId, Request) {
    let calls = sent(effects).into_iter().filter(|(_, request)| request.path.ends_with(end));
    match calls.collect::<Vec<_>>().as_slice() {
        [one] => one.clone(),
        all => panic!("{} calls to {end} in {effects:?}", all.len()),
    }
}
