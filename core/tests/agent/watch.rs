//! The watchers: who is let in, what each is told, and what of a pull counts as a change.

use std::collections::BTreeMap;

use meshward_core::{
    agent::{
        Caller, Door, Effect, Input, Peer, StagedFile, Stream, TcpSettings,
        readiness::Readiness,
        watch::{self, KEYS_MAX, TCP_WATCHERS_MAX, WATCHERS_MAX, Watch},
    },
    ids::CallId,
    secret::Secret,
    wire::{
        change::{Change, ChangeKind},
        http::{Body, Headers, Method, Request},
        sse::Frame,
    },
};

use crate::bench::{Bench, responded, seconds, sent_to};

fn open(bench: &mut Bench, call: u64, peer: Option<Peer>) -> Vec<Effect> {
    open_by(bench, call, (Door::Socket, Headers::new(), peer))
}

fn open_by(
    bench: &mut Bench,
    call: u64,
    (door, headers, peer): (Door, Headers, Option<Peer>),
) -> Vec<Effect> {
    let path = "/v1/watch".into();
    let request = Request { method: Method::Get, path, query: None, headers, body: Body::EMPTY };
    let caller = Caller { door, peer };
    bench.give(Input::Asked { call: CallId(call), caller, request })
}

fn open_by_tcp(bench: &mut Bench, call: u64) -> Vec<Effect> {
    let headers = Headers::new().with("authorization", "Bearer token");
    open_by(bench, call, (Door::Tcp, headers, None))
}

fn text(frame: &Frame) -> String {
    String::from_utf8(frame.0.to_vec()).expect("a text")
}

/// What is sent, each with those who hear it.
fn told(effects: &[Effect]) -> Vec<(Vec<u64>, String)> {
    let told = |effect: &Effect| match effect {
        Effect::Stream(Stream::Send { to, frame }) => {
            Some((to.iter().map(|call| call.0).collect(), text(frame)))
        }
        Effect::Stream(_)
        | Effect::Gather
        | Effect::Act(_)
        | Effect::Keep { .. }
        | Effect::Store(_)
        | Effect::Send { .. }
        | Effect::Reply { .. }
        | Effect::Tell(_)
        | Effect::Exit(_) => None,
    };
    effects.iter().filter_map(told).collect()
}

/// Has the agent pull this state.
fn pull(bench: &mut Bench, state: &str) -> Vec<Effect> {
    bench.pass(seconds(60));
    let (call, _) = sent_to(&bench.give(Input::Ticked), "/state");
    bench.answer(call, responded(200, state))
}

fn pulled() -> Bench {
    let (mut bench, effects) = Bench::armed(StagedFile::Missing);
    let (call, _) = sent_to(&effects, "/state");
    bench.answer(call, responded(200, r#"{"peers":[]}"#));
    bench
}

#[test]
fn a_watcher_is_greeted_and_told_what_each_pull_changed_without_values() {
    let mut bench = pulled();
    match open(&mut bench, 7, None).as_slice() {
        [Effect::Stream(Stream::Open { watcher, hello })] => {
            assert_eq!(*watcher, CallId(7));
            assert_eq!(text(hello), "id: 0\nevent: hello\ndata: {}\n\n");
        }
        other => panic!("{other:?}"),
    }
    let state = r#"{"peers":[{"node_id":"n"}],"policy":{"rules":[]},
        "state":{"metadata":[{"key":"zone","value":"canary"}],"data":[{"key":"app","value":"canary"}]}}"#;
    let change = |sequence: u64, data: &str| {
        (vec![7], format!("id: {sequence}\nevent: change\ndata: {data}\n\n"))
    };
    assert_eq!(
        told(&pull(&mut bench, state)),
        [
            change(1, r#"{"kind":"metadata","key":"zone","version":null,"deleted":false}"#),
            change(2, r#"{"kind":"data","key":"app","version":1,"deleted":false}"#),
            change(3, r#"{"kind":"peers","key":null,"version":null,"deleted":false}"#),
            change(4, r#"{"kind":"policy","key":null,"version":null,"deleted":false}"#),
        ]
    );
    assert_eq!(told(&pull(&mut bench, state)), [], "nothing changed");
    let less = r#"{"peers":[{"node_id":"n"}],"policy":{"rules":[]},"state":{"data":[{"key":"app","value":"new"}]}}"#;
    assert_eq!(
        told(&pull(&mut bench, less)),
        [
            change(5, r#"{"kind":"metadata","key":"zone","version":null,"deleted":true}"#),
            change(6, r#"{"kind":"data","key":"app","version":2,"deleted":false}"#),
        ]
    );
    bench.give(Input::Left(CallId(7)));
    assert_eq!(told(&pull(&mut bench, state)), [], "nobody listens");
}

#[test]
fn a_pull_that_changes_many_keys_tells_of_their_kind_as_a_whole() {
    let mut bench = pulled();
    open(&mut bench, 1, None);
    for (count, notices) in [(KEYS_MAX, KEYS_MAX), (KEYS_MAX * 2 + 1, 1)] {
        let rows: Vec<_> =
            (0..count).map(|at| format!(r#"{{"key":"k{at}","value":"{count}"}}"#)).collect();
        let state = format!(r#"{{"peers":[],"state":{{"data":[{}]}}}}"#, rows.join(","));
        let told = told(&pull(&mut bench, &state));
        assert_eq!(told.len(), notices, "{told:?}");
        assert_eq!(told[0].1.contains(r#""key":null"#), notices == 1);
    }
}

#[test]
fn a_watcher_is_told_once_whenever_the_readiness_changes() {
    let mut bench = pulled();
    open(&mut bench, 7, None);
    let change = |sequence: u64| {
        let data = r#"{"kind":"readiness","key":null,"version":null,"deleted":false}"#;
        vec![(vec![7], format!("id: {sequence}\nevent: change\ndata: {data}\n\n"))]
    };
    let mut pull = |status| {
        bench.pass(seconds(60));
        let (call, _) = sent_to(&bench.give(Input::Ticked), "/state");
        let effects = bench.answer(call, responded(status, r#"{"peers":[]}"#));
        (bench.agent.readiness(), told(&effects))
    };
    assert_eq!(pull(401), (Readiness::IdentityRefused, change(1)));
    assert_eq!(pull(401), (Readiness::IdentityRefused, vec![]), "it is as it was");
    assert_eq!(pull(200), (Readiness::Ready, change(2)));
    assert_eq!(told(&bench.give(Input::Broke(Door::Health))), change(3));
    assert_eq!(told(&bench.give(Input::Broke(Door::Tcp))), []);
}

#[test]
fn one_watcher_too_many_is_refused_until_another_leaves() {
    let mut bench = pulled();
    for watcher in 0..WATCHERS_MAX as u64 {
        assert!(matches!(open(&mut bench, watcher, None).as_slice(), [Effect::Stream(_)]));
    }
    match open(&mut bench, 100, None).as_slice() {
        [Effect::Reply { call, response }] => {
            assert_eq!((call.0, response.status), (100, 503));
            assert_eq!(response.body, b"{\"error\":\"too many watchers\"}\n");
        }
        other => panic!("{other:?}"),
    }
    bench.give(Input::Left(CallId(3)));
    assert!(matches!(open(&mut bench, 101, None).as_slice(), [Effect::Stream(_)]));
}

#[test]
fn watchers_by_tcp_have_places_of_their_own_and_fewer() {
    let mut bench = pulled();
    bench.settings.tcp = Some(TcpSettings::new(&Secret::new("token".into()), String::new()));
    for watcher in 0..TCP_WATCHERS_MAX as u64 {
        assert!(matches!(open_by_tcp(&mut bench, watcher).as_slice(), [Effect::Stream(_)]));
    }
    match open_by_tcp(&mut bench, 100).as_slice() {
        [Effect::Reply { response, .. }] => assert_eq!(response.status, 503),
        other => panic!("{other:?}"),
    }
    assert!(matches!(open(&mut bench, 101, None).as_slice(), [Effect::Stream(_)]));
    bench.give(Input::Left(CallId(3)));
    assert!(matches!(open_by_tcp(&mut bench, 102).as_slice(), [Effect::Stream(_)]));
}

#[test]
fn streams_end_when_the_agent_begins_to_stop_and_none_opens_after() {
    let mut bench = pulled();
    open(&mut bench, 1, None);
    let effects = bench.give(Input::Draining);
    assert!(effects.contains(&Effect::Stream(Stream::Close)), "{effects:?}");
    assert!(matches!(open(&mut bench, 2, None).as_slice(), [Effect::Reply { .. }, ..]));
}

#[test]
fn of_secrets_only_those_hear_who_may_read_them() {
    let (secret, report) = (
        Change::of(ChangeKind::Secret, "db".into(), Some(2)),
        Change::of(ChangeKind::Report, "r".into(), Some(1)),
    );
    let mut watch = Watch::default();
    for (watcher, hears_of_secrets) in [(1, true), (2, false), (3, true)] {
        watch = watch
            .step(watch::Input::Opened {
                watcher: CallId(watcher),
                door: Door::Socket,
                hears_of_secrets,
            })
            .state;
    }
    let mut heard = BTreeMap::new();
    for (name, change) in [("secret", secret), ("report", report)] {
        let step = watch.step(watch::Input::Changed(change));
        watch = step.state;
        for effect in step.effects {
            let watch::Effect::Send { to, .. } = effect else { panic!("{effect:?}") };
            heard.insert(name, to.iter().map(|call| call.0).collect::<Vec<_>>());
        }
    }
    assert_eq!(heard, BTreeMap::from([("secret", vec![1, 3]), ("report", vec![1, 2, 3])]));
}

#[test]
fn the_gate_decides_who_hears_of_secrets_when_the_stream_opens() {
    let mut bench = pulled();
    bench.settings.secret_auth_enabled = true;
    for (call, uid) in [(1, 0), (2, 1000)] {
        let peer = Peer { uid, groups: vec![uid], agent: 0, order_group: None, secret_group: None };
        assert!(matches!(open(&mut bench, call, Some(peer)).as_slice(), [Effect::Stream(_)]));
    }
    let text = format!("{:?}", bench.agent);
    for (call, hears) in [(1, true), (2, false)] {
        let told = format!("CallId({call}): Watcher {{ door: Socket, hears_of_secrets: {hears} }}");
        assert!(text.contains(&told), "{text}");
    }
}
