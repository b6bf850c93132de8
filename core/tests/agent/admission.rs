//! From an accepted registration, or an identity on disk, to the first heartbeat: what happens in which order.

use meshward_core::{
    agent::{
        Effect, Exit, Finding, Input, Memory, Notice, Order, OrderKind, Purpose, Settings,
        StagedFile, Stored, TokenFile, TokenSources, notice::Level,
    },
    backoff::Jitter,
    wire::{
        identity::{Files, Flaw, Found, Identity, KeyFile, RECORD_MAX, Unusable},
        json,
        timestamp::Timestamp,
    },
};

use crate::{
    bench::{
        Bench, NODE, TOKEN, echoing, forget_token, gathered, make_key, nsk, public_key,
        registration_body, remembered, seconds, secret, sent, settings, token_in_file, token_value,
    },
    register::{accepted, posting, sources, wait, without_notices},
};

/// Accepts the registration and gives what follows once it is persisted.
fn persisted(settings: Settings, token: TokenSources) -> (Bench, Vec<Effect>) {
    let (mut bench, call, _) = posting(token);
    bench.settings = settings;
    let effects = bench.answer(call, accepted());
    let [Effect::Store(Order::Persist(identity))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(
        (identity.file.node_id.as_str(), identity.file.mesh_ip.as_str()),
        (NODE, "10.0.0.7")
    );
    assert_eq!(bench.agent.identity(), None, "not before it is on disk");
    let effects = without_notices(bench.give(Input::Stored(Stored::Persisted)));
    (bench, effects)
}

/// How many files of the agent's own reports are written.
fn kept(effects: &[Effect]) -> usize {
    let kept = effects.iter().filter(|effect| matches!(effect, Effect::Keep { .. })).count();
    assert_eq!(kept, 5);
    kept
}

#[test]
fn the_token_file_is_forgotten_behind_the_identity_and_before_the_first_heartbeat() {
    let (_, effects) = persisted(settings(), token_in_file());
    assert_eq!(effects[0], forget_token());
    let paths: Vec<_> = sent(&effects).into_iter().map(|(_, request)| request.path).collect();
    assert_eq!(paths, [format!("/v1/nodes/{NODE}/heartbeat"), format!("/v1/nodes/{NODE}/state")]);
    assert_eq!(effects.len(), 3 + kept(&effects));
}

#[test]
fn a_token_from_elsewhere_leaves_the_file_alone() {
    let both = TokenSources { file: TokenFile::Text(secret(TOKEN)), ..token_value() };
    for token in [both, sources("e"), sources("m")] {
        let (_, effects) = persisted(settings(), token);
        assert!(!effects.contains(&forget_token()));
    }
}

#[test]
fn a_token_file_that_stays_is_told_and_the_work_goes_on() {
    let (mut bench, _) = persisted(settings(), token_in_file());
    let reason = "read-only".to_string();
    let stored = Stored::Failed { order: OrderKind::ForgetToken, jitter: Jitter::NONE, reason };
    let effects = bench.give(Input::Stored(stored));
    assert!(matches!(effects.as_slice(), [Effect::Tell(Notice { level: Level::Warn, .. })]));
}

#[test]
fn the_calls_behind_a_registration_carry_the_bearer() {
    let (_, effects) = persisted(settings(), token_value());
    for (_, request) in sent(&effects) {
        let bearer = request.headers.first("authorization").unwrap_or_default();
        assert!(bearer.starts_with("Bearer nsk_meshward_"), "{}", request.path);
        assert!(!bearer.contains(nsk().expose().as_str()));
    }
}

#[test]
fn a_process_that_only_registers_ends_with_the_identity() {
    let only = Settings { purpose: Purpose::Register, ..settings() };
    let (_, effects) = persisted(only, token_value());
    let exit = Exit::Registered { node_id: NODE.into(), mesh_ip: "10.0.0.7".into() };
    assert_eq!(effects, [Effect::Exit(exit)]);
}

#[test]
fn an_identity_that_cannot_be_written_is_written_later_and_nothing_is_sent_meanwhile() {
    let (mut bench, call, _) = posting(token_in_file());
    let order = without_notices(bench.answer(call, accepted()));
    for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
        let reason = "disk full".to_string();
        let failed = Stored::Failed { order: OrderKind::Persist, jitter: Jitter::NONE, reason };
        let effects = bench.give(Input::Stored(failed));
        assert!(matches!(effects.as_slice(), [Effect::Tell(Notice { level: Level::Error, .. })]));
        assert_eq!(bench.give(Input::Ticked), [], "not before its time");
        assert_eq!(wait(&bench), seconds(expected));
        bench.pass(seconds(expected));
        assert_eq!(bench.give(Input::Ticked), order);
    }
    let effects = without_notices(bench.give(Input::Stored(Stored::Persisted)));
    assert_eq!(effects[0], forget_token());
}

#[test]
fn an_identity_on_disk_is_armed_without_a_registration() {
    let (bench, effects) = Bench::armed(StagedFile::Missing);
    let paths: Vec<_> = sent(&effects).into_iter().map(|(_, request)| request.path).collect();
    assert_eq!(paths, [format!("/v1/nodes/{NODE}/heartbeat"), format!("/v1/nodes/{NODE}/state")]);
    let told = effects.iter().filter_map(|effect| {
        let Effect::Tell(notice) = effect else { return None };
        Some(notice.text.as_str())
    });
    let loaded = format!("identity loaded: node {NODE}, mesh address 10.0.0.7");
    assert_eq!(told.collect::<Vec<_>>(), [loaded]);
    assert_eq!(effects.len(), 3 + kept(&effects));
    assert!(bench.agent.readiness().is_ready());
}

/// Files that are there and make no identity.
fn corrupt() -> Vec<Files> {
    let sound = || remembered(StagedFile::Missing).files;
    let identity = |text: &str| Files { identity: Found::Content(text.into()), ..sound() };
    vec![
        identity("{"),
        identity(r#"{"node_id":"node","mesh_ip":"10.0.0.7"}"#),
        identity(&format!(r#"{{"node_id":"{}","mesh_ip":"10.0.0.7"}}"#, NODE.to_uppercase())),
        Files { node_secret_key: Found::Missing, ..sound() },
        Files { node_secret_key: Found::Content(secret("short")), ..sound() },
        Files { signing_public_key: Found::Missing, ..sound() },
        Files { private_key: KeyFile::Missing, ..sound() },
        Files { private_key: KeyFile::Broken(Flaw::Zeroed), ..sound() },
    ]
}

#[test]
fn a_corrupt_identity_is_set_aside_and_this_node_registers_afresh() {
    for files in corrupt() {
        let mut bench = Bench::new(settings());
        let staged = StagedFile::Key(public_key(8));
        let memory = Memory { files, staged, ..Memory::default() };
        assert_eq!(bench.give(Input::Restarted(Box::new(memory))), [Effect::Gather]);
        let effects = bench.give(Input::Gathered(Box::new(gathered(token_value()))));
        assert!(matches!(effects.first(), Some(Effect::Tell(Notice { level: Level::Warn, .. }))));
        let orders =
            [Effect::Store(Order::SetAside { at: Timestamp::from(bench.now.wall) }), make_key()];
        assert_eq!(effects[1..], orders, "set aside before anything new is written");
    }
}

#[test]
fn a_corrupt_identity_stays_where_it_is_while_this_node_cannot_register_afresh() {
    for files in corrupt() {
        let mut bench = Bench::new(settings());
        let memory = Memory { files, ..Memory::default() };
        bench.give(Input::Restarted(Box::new(memory)));
        let effects = bench.give(Input::Gathered(Box::new(gathered(sources("")))));
        let [Effect::Tell(told), Effect::Exit(Exit::Unprepared(_))] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert!(told.level == Level::Error && told.text.contains("corrupt"), "{told}");
    }
}

#[test]
fn a_key_staged_for_an_identity_that_is_gone_is_discarded() {
    let mut bench = Bench::new(settings());
    let memory = Memory { staged: StagedFile::Key(public_key(8)), ..Memory::default() };
    let effects = bench.give(Input::Restarted(Box::new(memory)));
    assert_eq!(effects, [Effect::Store(Order::Discard), Effect::Gather]);
}

#[test]
fn what_the_control_plane_says_to_a_node_is_told_without_its_key() {
    let (bench, effects) = persisted(settings(), token_value());
    let (call, request) = sent(&effects).into_iter().next().expect("a heartbeat");
    let bearer = request.headers.first("authorization").unwrap_or_default();
    for secret in [bearer, bearer.trim_start_matches("Bearer nsk_meshward_"), nsk().expose()] {
        let mut bench = Bench { agent: bench.agent.clone(), ..Bench::new(settings()) };
        let effects = bench.answer(call, echoing(403, &format!("not {secret} again")));
        let [Effect::Tell(notice)] = effects.as_slice() else { panic!("{effects:?}") };
        assert!(notice.text.contains("<secret> again"), "{notice}");
        assert!(!notice.text.contains(&bearer[20..]) && !notice.text.contains(nsk().expose()));
    }
}

#[test]
fn what_a_start_met_in_the_data_directory_is_told_before_anything_else() {
    let reason = "it is empty".to_string();
    let findings = vec![
        Finding::PutBack { folder: "../data.refused-now".into() },
        Finding::NeedlessNote { name: "note", reason: reason.clone(), removed: Ok(()) },
        Finding::NeedlessNote { name: "note", reason, removed: Err("busy".into()) },
        Finding::Uncleared { file: "/data/.tmp-a".into(), cause: "busy".into() },
        Finding::ForeignNames { folder: "/data".into(), names: 1 },
        Finding::ForeignNames { folder: "/data".into(), names: 2 },
        Finding::Cleared { folder: "/data".into(), files: 1 },
        Finding::Cleared { folder: "/data".into(), files: 2 },
    ];
    let files = findings.len();
    let mut bench = Bench::new(settings());
    let memory = Memory { findings, ..remembered(StagedFile::Missing) };
    let effects = bench.give(Input::Restarted(Box::new(memory)));
    let words = [
        "former identity is put back from the folder ../data.refused-now",
        "note is removed: it is empty",
        "cannot be removed: busy; remove it by hand",
        "the file /data/.tmp-a, which an earlier process had not finished, cannot be removed: busy",
        "/data holds a name that is not UTF-8",
        "/data holds 2 names that are not UTF-8",
        "a file that an earlier process had not finished is removed from /data",
        "2 files that an earlier process had not finished are removed from /data",
    ];
    assert_eq!(words.len(), files);
    for (effect, words) in effects.iter().zip(words) {
        let Effect::Tell(told) = effect else { panic!("{effect:?}") };
        let level = if words.contains("removed from") { Level::Info } else { Level::Warn };
        assert!(told.level == level && told.text.contains(words), "{told}");
    }
}

#[test]
fn a_token_file_that_is_gone_for_good_is_told() {
    let mut bench = Bench::armed(StagedFile::Missing).0;
    let file = "/etc/meshward/bootstrap-token".into();
    let effects = bench.give(Input::Stored(Stored::TokenRemoved { file }));
    let text =
        "the bootstrap token file /etc/meshward/bootstrap-token is removed: its token is used up";
    assert_eq!(effects, [Effect::Tell(Notice::info(text))]);
}

/// The record is written into room that was taken before the token was sent.
#[test]
fn a_201_whose_record_would_be_longer_than_its_room_makes_no_identity() {
    let body = registration_body(nsk().expose());
    let registered = |length: usize| {
        let id = format!("\"signing_key_id\":\"{}\"", "k".repeat(length));
        let body = body.replace("\"signing_key_id\":\"k1\"", &id);
        let answer = json::decode_tolerant(body.as_bytes()).expect("a registration");
        Identity::registered(answer).map(|identity| identity.file.encode().len())
    };
    let least = registered(0).expect("a sound one");
    assert!(registered(RECORD_MAX - least - 200).is_ok_and(|length| length <= RECORD_MAX));
    assert_eq!(registered(RECORD_MAX - least), Err(Unusable::Oversized), "without its mark");
    assert_eq!(registered(RECORD_MAX), Err(Unusable::Oversized));
}
