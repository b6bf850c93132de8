//! The manifest and the integrity of a node's files through the whole agent: what is ordered, sent and kept.

use meshward_core::{
    agent::{
        Act, Acted, Captured, Cause, Change, Content, Effect, Ending, Folder, FoundContent,
        FoundFile, FoundHook, HostKey, Input, IntegritySettings, Level, Measured, Memory, RunId,
        StagedFile, StateFile, Stored,
    },
    ids::CallId,
    wire::{
        checksums::Checksums,
        grammar::{Checksum, Fingerprint},
        http::{Body, Request},
    },
};

use crate::{
    bench::{
        Bench, NODE, execution_id, gathered, problem, public_key, remembered, responded, seconds,
        sent, sent_to, settings, token_value,
    },
    hooks::{digest, seen, whole},
};

const VIOLATIONS: &str = "/integrity-violations";
const MANIFEST: &str = "/capabilities";

/// Of the program that the settings of the tests tell of.
const IMAGE: Checksum = Checksum::from_bytes([7; 32]);

/// A node that senses its files, over a disk that holds these hooks to these contents.
fn started(hooks: &[(&str, u8)]) -> (Bench, Vec<Effect>) {
    let mut bench = Bench::new(settings());
    bench.settings.actions.hooks = true;
    bench.settings.senses.manifest = true;
    bench.settings.senses.host_key = Some("/key".into());
    let integrity = IntegritySettings { verify_interval: seconds(300), watch_enabled: true };
    bench.settings.senses.integrity = Some(integrity);
    let hooks = hooks.iter().map(|(name, byte)| ((*name).to_owned(), digest(*byte))).collect();
    let kept = Checksums { hooks, ..Checksums::default() }.encode();
    let found = FoundFile { file: file(), content: FoundContent::Bytes(Content(kept)) };
    let memory = Memory { state: vec![found], ..remembered(StagedFile::Missing) };
    let effects = bench.give(Input::Restarted(Box::new(memory)));
    (bench, effects)
}

fn file() -> StateFile {
    StateFile { folder: Folder::Root, name: "checksums.json".into() }
}

fn scanned(files: &[FoundHook]) -> Input {
    Input::Acted(Acted::Scanned(Box::new(seen(files))))
}

fn measured() -> Input {
    let fingerprint = Ok(Fingerprint::parse("SHA256:one").expect("a fingerprint"));
    let host_key = Some(HostKey { path: "/key".into(), fingerprint });
    let measured = Measured { image: "/program".into(), checksum: Ok(IMAGE), host_key };
    Input::Acted(Acted::Measured(Box::new(measured)))
}

fn acts(effects: &[Effect], act: &Act) -> usize {
    effects.iter().filter(|effect| **effect == Effect::Act(act.clone())).count()
}

fn kept(effects: &[Effect]) -> Vec<Checksums> {
    let of_baselines = effects.iter().filter_map(|effect| match effect {
        Effect::Keep { file: named, change: Change::Write(Content(bytes)) } if *named == file() => {
            Some(Checksums::decode(bytes).expect("it is sound"))
        }
        Effect::Keep { .. }
        | Effect::Gather
        | Effect::Store(_)
        | Effect::Send { .. }
        | Effect::Act(_)
        | Effect::Reply { .. }
        | Effect::Stream(_)
        | Effect::Tell(_)
        | Effect::Exit(_) => None,
    });
    of_baselines.collect()
}

fn errors(effects: &[Effect]) -> Vec<String> {
    lines(effects, Level::Error)
}

fn lines(effects: &[Effect], level: Level) -> Vec<String> {
    let lines = effects.iter().filter_map(|effect| match effect {
        Effect::Tell(notice) if notice.level == level => Some(notice.text.clone()),
        Effect::Tell(_)
        | Effect::Keep { .. }
        | Effect::Gather
        | Effect::Store(_)
        | Effect::Send { .. }
        | Effect::Act(_)
        | Effect::Reply { .. }
        | Effect::Stream(_)
        | Effect::Exit(_) => None,
    });
    lines.collect()
}

fn body(request: &Request) -> String {
    match &request.body {
        Body::Whole(bytes) => String::from_utf8(bytes.clone()).expect("it is text"),
        other @ (Body::Oversized | Body::Unreadable) => panic!("{other:?}"),
    }
}

fn took(count: usize) -> meshward_core::agent::Answer {
    responded(
        200,
        &format!(r#"{{"accepted_at":"2026-01-01T00:00:00Z","violation_count":{count}}}"#),
    )
}

#[test]
fn one_look_at_the_files_serves_the_manifest_and_the_integrity() {
    let (mut bench, effects) = started(&[]);
    assert_eq!((acts(&effects, &Act::Measure), acts(&effects, &Act::Scan)), (1, 1));
    assert!(sent(&effects).iter().all(|(_, request)| !request.path.ends_with(MANIFEST)));
    let effects = bench.give(scanned(&[whole("a", 1)]));
    assert_eq!(kept(&effects).len(), 1);
    let effects = bench.give(measured());
    let (call, request) = sent_to(&effects, MANIFEST);
    assert_eq!(request.path, format!("/v1/nodes/{NODE}/capabilities"));
    assert!(request.headers.first("authorization").is_some());
    let expected = format!(
        r#"{{"binary_version":"1.2.3","binary_checksum":"{IMAGE}","ssh_host_key_fingerprint":"SHA256:one","declared_hooks":[{{"name":"a","checksum":"{}"}}]}}"#,
        digest(1)
    );
    assert_eq!(body(&request), expected);
    assert_eq!(kept(&effects), [], "one change of the file at a time");
    let effects = bench.give(Input::Kept { file: file(), outcome: Ok(()) });
    let [all] = kept(&effects).try_into().expect("what came meanwhile goes along");
    assert!(all.program.is_some() && all.host_key.is_some() && all.hooks.len() == 1);
    let body =
        r#"{"accepted_at":"2026-01-01T00:00:00Z","fields_changed":[],"host_key_changed":false}"#;
    assert_eq!(sent(&bench.answer(call, responded(200, body))), []);
    bench.pass(seconds(300));
    let effects = bench.give(Input::Ticked);
    assert_eq!((acts(&effects, &Act::Measure), acts(&effects, &Act::Scan)), (1, 1));
}

#[test]
fn nothing_is_looked_at_told_or_kept_where_both_are_off() {
    let mut bench = Bench::new(settings());
    let memory = remembered(StagedFile::Missing);
    let mut effects = bench.give(Input::Restarted(Box::new(memory)));
    effects.extend(bench.give(Input::Acted(Acted::Finished {
        id: RunId::Execution(execution_id("e")),
        ending: changed(9),
    })));
    assert_eq!(acts(&effects, &Act::Measure), 0);
    let of_ours = |path: &str| path.ends_with(MANIFEST) || path.ends_with(VIOLATIONS);
    assert!(sent(&effects).iter().all(|(_, request)| !of_ours(&request.path)));
    assert_eq!((kept(&effects), errors(&effects)), (Vec::new(), Vec::new()));
}

fn changed(byte: u8) -> Ending {
    let cause = Cause::Changed { hook: "a".into(), observed: digest(byte) };
    Ending { cause, stdout: Captured::default(), stderr: Captured::default() }
}

#[test]
fn a_hook_that_was_refused_to_run_is_told_whoever_ordered_the_run() {
    for id in [RunId::Execution(execution_id("e")), RunId::Local(CallId(1))] {
        let (mut bench, _) = started(&[("a", 1)]);
        bench.give(scanned(&[whole("a", 1)]));
        let effects = bench.give(Input::Acted(Acted::Finished { id, ending: changed(9) }));
        let (_, request) = sent_to(&effects, VIOLATIONS);
        assert_eq!(request.path, format!("/v1/nodes/{NODE}/integrity-violations"));
        let expected = format!(
            r#"{{"violations":[{{"kind":"hook_checksum","detected_by":"pre_dispatch","artifact_id":"a","observed_checksum":"{}","expected_checksum":"{}"}}]}}"#,
            digest(9),
            digest(1)
        );
        assert_eq!(body(&request), expected);
    }
}

#[test]
fn what_was_in_flight_under_a_refused_identity_is_sent_again_and_the_manifest_too() {
    let (mut bench, mut effects) = started(&[("a", 1)]);
    effects.extend(bench.give(scanned(&[whole("a", 9)])));
    effects.extend(bench.give(measured()));
    let (lost, request) = sent_to(&effects, VIOLATIONS);
    let mut calls = sent(&effects);
    let mut orders = Vec::new();
    while !orders.contains(&Effect::Gather) {
        orders.clear();
        for (call, request) in std::mem::take(&mut calls) {
            if !request.path.ends_with(VIOLATIONS) {
                orders.extend(bench.answer(call, problem(401, "unauthorized")));
            }
        }
        let due = bench.agent.wakeup().expect("a node goes on");
        bench.pass(due.since(bench.now.mono));
        orders.extend(bench.give(Input::Ticked));
        calls = sent(&orders);
    }
    bench.give(Input::Gathered(Box::new(gathered(token_value()))));
    bench.give(Input::Stored(Stored::Retired { folder: "data.refused".into() }));
    let effects = bench.give(Input::Stored(Stored::KeyMade(public_key(5))));
    let (call, _) = sent_to(&effects, "/v1/register");
    assert_eq!(sent(&bench.answer(lost, took(1))), [], "it is answered to nobody");
    bench.answer(call, problem(403, "token_consumed"));
    let effects = bench.give(Input::Stored(Stored::Restored(StagedFile::Missing)));
    let (call, again) = sent_to(&effects, VIOLATIONS);
    assert_eq!(body(&again), body(&request));
    sent_to(&effects, MANIFEST);
    assert_eq!(errors(&bench.answer(call, took(1))), [""; 0]);
}

#[test]
fn a_stop_waits_for_the_baselines_and_tells_what_was_not_delivered() {
    let (mut bench, effects) = started(&[("a", 1)]);
    bench.give(measured());
    bench.give(scanned(&[whole("a", 9)]));
    bench.give(Input::Draining);
    // What else is being written comes to the disk first.
    for effect in effects {
        if let Effect::Keep { file, .. } = effect {
            let effects = bench.give(Input::Kept { file, outcome: Ok(()) });
            assert_eq!(effects, [], "a write is under way");
        }
    }
    let effects = bench.give(Input::Kept { file: file(), outcome: Ok(()) });
    let line = "1 integrity violations were not delivered before the end; what is still so is found at the next start";
    assert_eq!(errors(&effects), [line]);
    assert!(matches!(effects.last(), Some(Effect::Exit(_))), "{effects:?}");
}

#[test]
fn a_configured_host_key_that_is_not_there_is_warned_of_once_each_time_that_it_goes() {
    let line = "the SSH host key /key (integrity.ssh_host_key_file) is not there: it is neither declared nor held to what \
                it was";
    for integrity in [true, false] {
        let (mut bench, _) = started(&[]);
        if !integrity {
            bench.settings.senses.integrity = None;
        }
        let missing = || {
            let measured =
                Measured { image: "/program".into(), checksum: Ok(IMAGE), host_key: None };
            Input::Acted(Acted::Measured(Box::new(measured)))
        };
        let mut told = |input| lines(&bench.give(input), Level::Warn);
        assert_eq!(told(missing()), [line]);
        assert_eq!(told(missing()), [""; 0], "once as long as it lasts");
        assert_eq!(told(measured()), [""; 0]);
        assert_eq!(told(missing()), [line], "it has gone again");
        bench.settings.senses.host_key = None;
        assert_eq!(lines(&bench.give(missing()), Level::Warn), [""; 0], "none is configured");
    }
}
