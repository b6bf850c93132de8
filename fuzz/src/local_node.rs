//! A node that is registered and was pulled for: its settings, its disk, and what the control plane answers it.

use core::time::Duration;

use meshward_core::{
    agent::{
        ActionSettings, Answer, Content, Failure, Folder, FoundContent, FoundFile, FoundHook,
        FoundProgram, FoundSidecar, Memory, Purpose, Scan, SenseSettings, SessionSettings,
        Settings, Sight, StagedFile, StateFile, TcpSettings, VoiceSettings, builtins,
    },
    secret::Secret,
    wire::{
        grammar::{Checksum, NodeSecretKey},
        http::Response,
        identity::{Files, Found, KeyFile},
        secret::seal,
        upload_url::Origin,
    },
};

/// What the secret of the node says; it is answered by the route of that secret alone.
pub(crate) const SECRET: &str = "Zq7RkX2vLw9TnB4cYh1M";
/// What a program shows at the TCP listener.
pub(crate) const TCP_TOKEN: &str = "uE3sVd8KpJ6aGf0QxWmN";
const NODE: &str = "6f1d2c3b-4a59-4768-8796-a5b4c3d2e1f0";
/// A sound Ed25519 key.
const SIGNING: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

fn node_key() -> NodeSecretKey {
    NodeSecretKey::from_bytes([0xa7; 32])
}

/// The texts that no answer holds, the secret itself aside.
pub(crate) fn markers() -> [String; 2] {
    [node_key().to_text().expose().clone(), TCP_TOKEN.to_owned()]
}

pub(crate) fn settings(secret_auth_enabled: bool) -> Settings {
    Settings {
        purpose: Purpose::Run,
        max_retry_duration: Duration::from_secs(300),
        heartbeat_interval: Duration::from_secs(30),
        reconcile_interval: Duration::from_secs(60),
        request_timeout: Duration::from_secs(30),
        header_prefix: "X-Service".into(),
        debounce_period: Duration::from_secs(5),
        secret_auth_enabled,
        tcp: Some(TcpSettings::new(&Secret::new(TCP_TOKEN.into()), String::new())),
        binary_checksum: Checksum::from_bytes([7; 32]),
        binary_version: "1.2.3".into(),
        actions: ActionSettings {
            enabled: true,
            max_concurrent: 2,
            max_action_timeout: Duration::from_secs(600),
            max_output_bytes: 1 << 20,
            builtins: builtins::ALL.map(Into::into).into(),
            hooks: true,
            origin: Origin { is_encrypted: false, host: "plane.example".into() },
        },
        sessions: SessionSettings {
            enabled: true,
            max_sessions: 10,
            default_timeout: Duration::from_secs(1800),
            listen_address: None,
        },
        voice: VoiceSettings::default(),
        senses: SenseSettings::default(),
    }
}

/// A data directory with a sound identity, a report that was delivered, and one that is damaged.
pub(crate) fn memory() -> Memory {
    let identity = format!(r#"{{"node_id":"{NODE}","mesh_ip":"10.0.0.7"}}"#);
    let report = format!(
        r#"{{"entry":{{"key":"app","content_type":"t","payload":1e2,"version":3,"updated_at":"2026-01-15T10:30:00Z"}},"synced":"{NODE}"}}"#
    );
    let found = |name: &str, text: &str| FoundFile {
        file: StateFile { folder: Folder::Report, name: name.into() },
        content: FoundContent::Bytes(Content(text.into())),
    };
    Memory {
        findings: Vec::new(),
        files: Files {
            identity: Found::Content(identity.into()),
            node_secret_key: Found::Content(node_key().to_text()),
            signing_public_key: Found::Content(SIGNING.into()),
            private_key: KeyFile::Sound,
        },
        staged: StagedFile::Missing,
        state: vec![found("app.json", &report), found("torn.json", r#"{"entry":{"#)],
    }
}

/// What a look at the hooks directory sees, and what one at a disk that fails.
pub(crate) fn hooks() -> Scan {
    let sidecar = FoundSidecar::Bytes(Content(br#"{"description":"Deploys."}"#.into()));
    let found = FoundProgram::Whole { digest: Checksum::from_bytes([5; 32]), sidecar };
    let files = vec![FoundHook { name: "deploy".into(), found }];
    Scan { sight: Sight::Found { files, crowded: false }, watched: Ok(()) }
}

pub(crate) fn no_hooks() -> Scan {
    Scan { sight: Sight::Failed("it cannot be read".into()), watched: Ok(()) }
}

/// How the control plane answers a call, by its path: in one of the ways that it has.
pub(crate) fn answer(path: &str, way: u8) -> Answer {
    match way {
        0..160 => good(path, way),
        160..176 => problem(401, "unauthorized"),
        176..192 => problem(429, "per_domain_rate_limited"),
        192..208 => problem(404, "secret_not_found"),
        208..220 => problem(403, "permission_denied"),
        220..232 => problem(500, "internal"),
        232..244 => Answer::Responded(Response {
            body: b"no envelope".to_vec(),
            ..Response::empty(200).with("X-Service-Secret-Version", "1")
        }),
        _ => Answer::Failed(Failure::TimedOut.into()),
    }
}

fn problem(status: u16, code: &str) -> Answer {
    let body = format!(r#"{{"code":"{code}","detail":"{SECRET} is none of yours"}}"#);
    let response = Response { body: body.into(), ..Response::empty(status) };
    let response = response.with("content-type", "application/problem+json");
    Answer::Responded(response.with("retry-after", "7"))
}

fn good(path: &str, way: u8) -> Answer {
    let body = if path.ends_with("/heartbeat") {
        r#"{"accepted_at":"2027-01-15T08:00:00Z","reconcile":false,"rotate_keys":false}"#.to_owned()
    } else if path.ends_with("/state") {
        snapshot(way)
    } else if path.contains("/secrets/") {
        return Answer::Responded(envelope(way));
    } else if path.contains("/reports/") {
        r#"{"accepted_at":"2027-01-15T08:00:00Z","key":"app"}"#.to_owned()
    } else {
        "{}".to_owned()
    };
    Answer::Responded(Response { body: body.into(), ..Response::empty(200) })
}

/// The secret, or sometimes bytes that are no text.
fn envelope(way: u8) -> Response {
    let value = if way < 150 { SECRET.as_bytes() } else { b"\xff\xfe" };
    let body = seal(&node_key(), [4; 12], value).expect("it fits");
    let version = (way % 4 + 1).to_string();
    Response { body, ..Response::empty(200) }.with("X-Service-Secret-Version", &version)
}

fn snapshot(way: u8) -> String {
    let state = match way % 4 {
        3 => "null".to_owned(),
        n => format!(
            r#"{{"metadata":[{{"key":"zone","value":"z{n}"}}],"data":[{{"key":"app/config","value":"\"{n}\u0000"}}]}}"#
        ),
    };
    format!(
        r#"{{"peers":[{{"node_id":"p","mesh_ip":"10.0.0.8","public_key":"k","fallback_endpoint":""}}],"policy":{{"revision_id":"r","fingerprint":"f","rules":[]}},"state":{state}}}"#
    )
}
