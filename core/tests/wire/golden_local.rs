//! Golden texts of what the agent keeps on disk and serves to co-located programs.

use meshward_core::{
    secret::Secret,
    wire::{
        action::{RunRequest, RunResult},
        grammar::{Malformed, ReportKey},
        identity::{
            Corrupt, Files, Flaw, Found, Identity, IdentityFile, KeyFile, TokenDigest, Unusable,
        },
        kept::{self, Damage, KeptReport, damaged_name, file_key, file_name, is_damaged_name},
        local::{
            DataEntry, DataSummary, KeySummary, LocalError, Metadatum, PULLED_CONTENT_TYPE, Queues,
            ReportEntry, StateSummary, Status,
        },
        register::RegisterResponse,
    },
};

use crate::golden::{NODE, SIGNING, at, both, golden, raw, read, receipt, written};

/// Another sound signing key.
const OTHER: &str = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
const NSK: &str = "AAECAwQFBgcICQoLDA0OD4CRorPE1eb3+Onay7ytno8=";

fn identity_file() -> IdentityFile {
    IdentityFile {
        node_id: NODE.into(),
        mesh_ip: "10.99.0.1".into(),
        signing_public_key: SIGNING.into(),
        signing_key_id: "did:web:meshward.example#key-e2e".into(),
        domain_mesh_cidr: "10.99.0.0/24".into(),
        last_rotation: None,
        spent_token: TokenDigest::default(),
    }
}

fn older() -> IdentityFile {
    IdentityFile {
        signing_key_id: String::new(),
        domain_mesh_cidr: String::new(),
        ..identity_file()
    }
}

fn files() -> Files {
    Files {
        identity: Found::Content(golden("identity.new").into_bytes()),
        node_secret_key: Found::Content(Secret::new(format!("{NSK}\n"))),
        signing_public_key: Found::Content(format!("{SIGNING}\n")),
        private_key: KeyFile::Sound,
    }
}

#[test]
fn identity() {
    both("identity.new", &identity_file());
    both("identity.rotated", &IdentityFile { last_rotation: Some(receipt()), ..identity_file() });
    let spent_token = TokenDigest::of(&Secret::new("token".into()));
    both("identity.spent", &IdentityFile { spent_token, ..identity_file() });
    read("identity.older", &older());
    assert_eq!(identity_file().encode(), format!("{}\n", golden("identity.new")).into_bytes());
    assert_eq!(IdentityFile::decode(&identity_file().encode()), Ok(identity_file()));
}

#[test]
fn identity_files_load_together() {
    let loaded = Identity::load(&files()).unwrap().unwrap();
    assert_eq!(loaded.file, identity_file());
    assert_eq!(loaded.node.to_string(), NODE);
    assert_eq!(loaded.key.to_text().expose(), NSK);
    assert_eq!(Identity::load(&Files::default()), Ok(None));
    assert_eq!(Identity::load(&Files { identity: Found::Missing, ..files() }), Ok(None));
    let old = Files { identity: Found::Content(golden("identity.older").into_bytes()), ..files() };
    assert_eq!(Identity::load(&old).unwrap().unwrap().file, older());
}

#[test]
fn the_signing_key_file_wins_over_the_member() {
    let rotated = Files { signing_public_key: Found::Content(format!("{OTHER}\n")), ..files() };
    assert_eq!(Identity::load(&rotated).unwrap().unwrap().file.signing_public_key, OTHER);
}

#[test]
fn every_broken_identity_is_told_by_its_file() {
    let text = golden("identity.new");
    let with = |text: String| Files { identity: Found::Content(text.into_bytes()), ..files() };
    for (files, corrupt) in [
        (with(text.replace("0190a8b8", "0190A8B8")), Corrupt::NodeId),
        (with(text.replace(NODE, "node-1")), Corrupt::NodeId),
        (with(text.replace("10.99.0.1\"", "\"")), Corrupt::MeshIp),
        (Files { node_secret_key: Found::Missing, ..files() }, Corrupt::SecretKeyMissing),
        (Files { signing_public_key: Found::Missing, ..files() }, Corrupt::SigningKeyMissing),
        (
            Files { signing_public_key: Found::Content(" \n".into()), ..files() },
            flawed("signing_public_key", Flaw::Empty),
        ),
        (
            Files { signing_public_key: Found::Content(SIGNING[..20].into()), ..files() },
            flawed("signing_public_key", Flaw::CutOff),
        ),
        (
            Files { signing_public_key: Found::Content("no key at all".into()), ..files() },
            Corrupt::SigningKey(Malformed::Base64Key),
        ),
        (Files { private_key: KeyFile::Missing, ..files() }, Corrupt::PrivateKeyMissing),
        (
            Files { private_key: KeyFile::Broken(Flaw::NoKey), ..files() },
            flawed("private_key", Flaw::NoKey),
        ),
        (
            Files { node_secret_key: Found::Foreign("a symbolic link"), ..files() },
            flawed("node_secret_key", Flaw::Foreign("a symbolic link")),
        ),
        (
            Files { node_secret_key: Found::Content(Secret::new("\0".repeat(44))), ..files() },
            flawed("node_secret_key", Flaw::Zeroed),
        ),
        (
            Files { node_secret_key: Found::Content(Secret::new("AAEC".into())), ..files() },
            flawed("node_secret_key", Flaw::CutOff),
        ),
        (with(String::new()), flawed("identity.json", Flaw::Empty)),
        (with("\0".repeat(300)), flawed("identity.json", Flaw::Zeroed)),
        (with(text[..text.len() / 2].into()), flawed("identity.json", Flaw::CutOff)),
        (
            Files { identity: Found::Foreign("larger than 64 KiB"), ..files() },
            flawed("identity.json", Flaw::Foreign("larger than 64 KiB")),
        ),
    ] {
        assert_eq!(Identity::load(&files), Err(corrupt));
    }
    let short = Secret::new("AAEC====".into());
    let short = Files { node_secret_key: Found::Content(short), ..files() };
    assert!(matches!(Identity::load(&short), Err(Corrupt::SecretKey(_))));
    for text in ["{}", "[{}", "null}", &text.replace("\"mesh_ip\"", "\"mesh\"")] {
        assert!(matches!(Identity::load(&with(text.into())), Err(Corrupt::Json(_))), "{text}");
    }
}

fn flawed(file: &'static str, flaw: Flaw) -> Corrupt {
    Corrupt::Flawed { file, flaw }
}

#[test]
fn what_a_registration_makes_is_what_a_restart_loads() {
    let answer = || RegisterResponse {
        node_id: NODE.into(),
        mesh_ip: "10.99.0.1".into(),
        signing_public_key: SIGNING.into(),
        signing_key_id: "did:web:meshward.example#key-e2e".into(),
        nsk: Secret::new(NSK.into()),
        peer_snapshot: Vec::new(),
        domain_mesh_cidr: "10.99.0.0/24".into(),
    };
    let made = Identity::registered(answer()).unwrap();
    assert_eq!(Identity::load(&files()), Ok(Some(made)));
    let uuid = NODE.to_uppercase();
    for (unusable, reason) in [
        (
            RegisterResponse { nsk: Secret::new("AAEC".into()), ..answer() },
            Unusable::SecretKey(Malformed::Base64Key),
        ),
        (RegisterResponse { node_id: "".into(), ..answer() }, Unusable::NodeId),
        (RegisterResponse { node_id: uuid.as_str().into(), ..answer() }, Unusable::NodeId),
        (RegisterResponse { mesh_ip: String::new(), ..answer() }, Unusable::MeshIp),
        (RegisterResponse { mesh_ip: "10.0.0.1\n".into(), ..answer() }, Unusable::MeshIp),
        (
            RegisterResponse { signing_public_key: "zz".into(), ..answer() },
            Unusable::SigningKey(Malformed::Base64Key),
        ),
    ] {
        assert_eq!(Identity::registered(unusable), Err(reason));
    }
}

#[test]
fn state_summary() {
    let key = |key: &str, version| KeySummary { key: key.into(), version };
    let data = DataSummary {
        key: "app/config".into(),
        version: 2,
        content_type: PULLED_CONTENT_TYPE.into(),
    };
    let metadata = [("environment", "e2e-test"), ("region", "mock-region-1")];
    let full = StateSummary {
        metadata: metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        data_keys: vec![data],
        secret_keys: vec![key("db-password", 3)],
        report_keys: vec![key("status.mesh", 4)],
    };
    both("local_state.full", &full);
    both("local_state.empty", &StateSummary::default());
}

#[test]
fn local_entries() {
    both(
        "local_metadata.entry",
        &Metadatum { key: "region".into(), value: "mock-region-1".into() },
    );
    let entry = DataEntry {
        key: "app/config".into(),
        content_type: PULLED_CONTENT_TYPE.into(),
        payload: raw(r#""{\"log_level\":\"info\",\"max_conns\":100}""#),
        version: 2,
        updated_at: at("2026-01-15T10:30:00.25Z"),
    };
    both("local_data.entry", &entry);
    both("local_error.missing", &LocalError { error: "not found".into() });
}

#[test]
fn local_status() {
    let ready = Status {
        ready: true,
        reason: "ready".into(),
        node_id: Some(NODE.into()),
        mesh_ip: Some("10.99.0.1".into()),
        delivery_mode: "pull_only".into(),
        last_heartbeat_age_seconds: Some(12),
        last_pull_age_seconds: Some(0),
        queues: Queues {
            audit: 11,
            events_of_unknown_key: 10,
            executions_active: 1,
            executions_waiting: 2,
            local_runs: 5,
            logs: 12,
            metrics: 13,
            reports_unsynced: 3,
            reports_writing: 4,
            sessions_open: 6,
            sessions_unsupported: 7,
            violations_dropped: 8,
            violations_waiting: 9,
        },
    };
    both("local_status.ready", &ready);
    let starting = Status {
        reason: "not ready: not registered".into(),
        delivery_mode: "pull_only".into(),
        ..Status::default()
    };
    written("local_status.starting", &starting);
    read("local_status.starting", &starting);
}

#[test]
fn local_runs() {
    let pairs = [("count", "3"), ("peer_id", "10.99.0.2")];
    let parameters = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = RunRequest {
        action: Some("diagnostics.ping_peer".into()),
        parameters: Some(parameters.into()),
    };
    both("local_run.request", &request);
    let result = RunResult {
        status: "failed".into(),
        exit_code: 1,
        stdout: String::new(),
        stderr: "ping not available\n".into(),
    };
    both("local_run.result", &result);
}

fn report() -> ReportEntry {
    ReportEntry {
        key: "app.build".into(),
        content_type: "application/json".into(),
        payload: raw(r#"{"n":1.50,"ok":true}"#),
        version: 3,
        updated_at: at("2026-01-15T10:30:00Z"),
    }
}

#[test]
fn local_report() {
    both("local_report.entry", &report());
}

#[test]
fn kept_report() {
    let key = ReportKey::parse("app.build").expect("a key");
    let delivered = ReportEntry {
        content_type: "text/plain".into(),
        payload: raw("null"),
        version: 1,
        updated_at: at("2026-01-15T10:30:00.5Z"),
        ..report()
    };
    let rows = [
        ("unsynced", KeptReport::Entry { entry: report(), synced: None }),
        ("synced", KeptReport::Entry { entry: delivered, synced: Some(NODE.into()) }),
        ("deleted", KeptReport::Deleted(key.clone())),
    ];
    for (name, kept) in rows {
        let text = format!("{}\n", golden(&format!("kept_report.{name}")));
        assert_eq!(String::from_utf8_lossy(&kept.encode()), text, "{name}");
        assert_eq!(KeptReport::decode(&key, text.as_bytes()), Ok(kept.clone()), "{name}");
        let later = text.replacen('{', "{\"member of a later version\":[1],", 1);
        assert_eq!(KeptReport::decode(&key, later.as_bytes()), Ok(kept), "{name}");
        for end in 1..text.trim_end().len() {
            let cut = KeptReport::decode(&key, &text.as_bytes()[..end]);
            assert!(matches!(cut, Err(Damage::Malformed(_))), "{name} cut at {end}: {cut:?}");
        }
    }
}

#[test]
fn kept_data_and_metadata() {
    let entry = DataEntry {
        key: "app/config".into(),
        content_type: PULLED_CONTENT_TYPE.into(),
        payload: raw(r#""a \"b\" <c>""#),
        version: 7,
        updated_at: at("2026-01-15T10:30:00.25Z"),
    };
    let text = format!("{}\n", golden("kept_data.entry"));
    assert_eq!(String::from_utf8_lossy(&kept::encode_data(&entry)), text);
    let name = "app%2fconfig.json";
    assert_eq!(kept::decode_data(name, text.as_bytes()), Ok(entry.clone()));
    assert_eq!(kept::decode_data("app.json", text.as_bytes()), Err(Damage::Key));
    let later = text.replacen('{', "{\"member of a later version\":[1],", 1);
    assert_eq!(kept::decode_data(name, later.as_bytes()), Ok(entry));
    let metadata =
        [("region", "eu \u{e9}"), ("", "")].map(|(key, value)| (key.into(), value.into())).into();
    let all = format!("{}\n", golden("kept_metadata.full"));
    assert_eq!(String::from_utf8_lossy(&kept::encode_metadata(&metadata)), all);
    assert_eq!(kept::decode_metadata(all.as_bytes()), Ok(metadata.clone()));
    let later = all.replacen("\"value\"", "\"member of a later version\":[1],\"value\"", 1);
    assert_eq!(kept::decode_metadata(later.as_bytes()), Ok(metadata));
    for lost in ["", "\0\0\0"] {
        let damage = if lost.is_empty() { Damage::Empty } else { Damage::Zeroed };
        assert_eq!(kept::decode_data(name, lost.as_bytes()), Err(damage.clone()));
        assert_eq!(kept::decode_metadata(lost.as_bytes()), Err(damage));
    }
    for end in 1..text.trim_end().len() {
        let cut = kept::decode_data(name, &text.as_bytes()[..end]);
        assert!(matches!(cut, Err(Damage::Malformed(_))), "cut at {end}: {cut:?}");
    }
    for end in 1..all.trim_end().len() {
        let cut = kept::decode_metadata(&all.as_bytes()[..end]);
        assert!(matches!(cut, Err(Damage::Malformed(_))), "cut at {end}: {cut:?}");
    }
}

#[test]
fn the_file_of_a_long_key_is_named_by_its_digest() {
    let longest = "a".repeat(195);
    assert_eq!(file_name(&longest), format!("{longest}.json"));
    let long = "a".repeat(196);
    let name = file_name(&long);
    let digest = "96b864ee9e10a31f8425084ed115df8951bb8d1303cb13f43c0a600eb03643b0";
    assert_eq!(name, format!("%-{digest}.json"));
    assert_eq!(file_key(&name), None, "only the file tells its key");
    assert_ne!(name, file_name(&"a".repeat(197)));
    assert_ne!(name, file_name(&name), "no key spells the name of another");
}

#[test]
fn a_damaged_file_is_told_from_the_file_of_a_key_by_the_end_of_its_name() {
    let time = at("2026-01-15T10:30:00Z");
    let aside = damaged_name("a.json", time).expect("a short name");
    assert_eq!(aside, "a.json.damaged-2026-01-15T10:30:00Z");
    assert!(is_damaged_name(&aside));
    assert!(!is_damaged_name(&file_name("a.json.damaged-1")));
    let room = 255 - (aside.len() - "a.json".len());
    assert!(damaged_name(&"n".repeat(room), time).is_some());
    assert_eq!(damaged_name(&"n".repeat(room + 1), time), None);
}

#[test]
fn names_of_kept_files() {
    let rows = [
        ("app.build", "app.build.json"),
        ("status.user-access", "status.user-access.json"),
        ("app/config", "app%2fconfig.json"),
        ("..", "%2e..json"),
        (".hidden", "%2ehidden.json"),
        ("A b", "%41%20b.json"),
        ("50%", "50%25.json"),
        ("\u{e9}", "%c3%a9.json"),
        ("", ".json"),
    ];
    for (key, name) in rows {
        assert_eq!(file_name(key), name);
        assert_eq!(file_key(name).as_deref(), Some(key));
    }
    for name in
        ["app.build", "A.json", "%2E.json", "a%.json", "%ff.json", ".a.json", "app.json.tmp"]
    {
        assert_eq!(file_key(name), None, "{name}");
    }
}
