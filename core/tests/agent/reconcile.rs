//! What a pull changed in one line, and that each block of it stands for itself, through the whole agent.

use meshward_core::{
    agent::{
        Effect, Input, Level, StagedFile,
        pull::diff::{self, Diff, Peers, Policy, Seen},
    },
    wire::{json::Raw, local::PeerRow, pulled},
};

use crate::bench::{Bench, responded, seconds, sent_to};

fn row(id: &str, at: &str) -> PeerRow {
    PeerRow { id: id.into(), public_key: "k".into(), mesh_ip: at.into(), endpoint: String::new() }
}

fn raw(text: &str) -> Raw {
    Raw::parse(text).expect("a value")
}

#[test]
fn peers_are_compared_by_their_ids_and_what_makes_them_up() {
    let all = [row("a", "1"), row("b", "1"), row("c", "1")];
    let peers = |added, removed, updated| Peers { added, removed, updated };
    let other_key = PeerRow { public_key: "l".into(), ..row("b", "1") };
    let other_endpoint = PeerRow { endpoint: "e".into(), ..row("b", "1") };
    let rows: [(&[PeerRow], &[PeerRow], Peers); 9] = [
        (&[], &[], peers(0, 0, 0)),
        (&all, &all, peers(0, 0, 0)),
        (&[], &all, peers(3, 0, 0)),
        (&all, &[], peers(0, 3, 0)),
        (&all[..1], &all[1..], peers(2, 1, 0)),
        (&all[1..], &all[..2], peers(1, 1, 0)),
        (&all, &[row("a", "2"), row("b", "1"), row("d", "1")], peers(1, 1, 1)),
        (&all[1..2], &[other_key], peers(0, 0, 1)),
        (&all[1..2], &[other_endpoint], peers(0, 0, 1)),
    ];
    for (was, are, expected) in rows {
        assert_eq!(diff::peers(was, are), expected, "{was:?} to {are:?}");
    }
}

#[test]
fn policies_are_compared_by_presence_and_fingerprint_alone() {
    let (one, other) = (raw(r#"{"fingerprint":"f","rules":[]}"#), raw(r#"{"fingerprint":"g"}"#));
    let same = raw(r#"{"rules":[7],"fingerprint":"f"}"#);
    let bare = raw(r#"{"rules":[]}"#);
    let rows = [
        (None, None, Policy::Same),
        (Some(&one), None, Policy::Changed),
        (None, Some(&one), Policy::Changed),
        (Some(&one), Some(&same), Policy::Same),
        (Some(&one), Some(&other), Policy::Changed),
        (Some(&bare), Some(&bare), Policy::Unmarked),
        (None, Some(&bare), Policy::Unmarked),
        (Some(&bare), None, Policy::Changed),
    ];
    for (was, is, expected) in rows {
        assert_eq!(diff::policy(was, is), expected, "{was:?} to {is:?}");
    }
}

#[test]
fn other_blocks_are_compared_by_presence_and_content() {
    let read = |text: &str| pulled::read(text.as_bytes()).expect("a pull");
    let mut seen = Seen::default();
    let steps = [
        (r#"{"peers":[]}"#, [false; 3]),
        (r#"{"bridge":{},"state":{},"reports":{}}"#, [true; 3]),
        (r#"{"bridge":{"relay":null},"state":{"data":[]},"reports":{"later":1}}"#, [false; 3]),
        (r#"{"bridge":{"relay":{}},"state":{},"reports":{}}"#, [true, false, false]),
        (r#"{"bridge":7,"state":{"data":7},"reports":[]}"#, [false; 3]),
        (
            r#"{"bridge":{"relay":{}},"state":{"data":[{"key":"k","value":"v"}]},"reports":{}}"#,
            [false, true, false],
        ),
        // A block beside one that cannot be read is compared as a whole, with what no agent needs of it.
        (
            r#"{"policy":7,"state":{"reports":[{"key":"r","value":"v"}]},"reports":{},"bridge":{"relay":{}}}"#,
            [false, true, false],
        ),
        (
            r#"{"state":{"reports":[{"key":"r","value":"v"}]},"reports":{},"bridge":{"relay":{}}}"#,
            [false; 3],
        ),
        (r#"{"peers":[]}"#, [true; 3]),
        (r#"{"peers":[],"executions":[{"execution_id":"e"}],"sessions":[]}"#, [false; 3]),
    ];
    for (text, [bridge, state, reports]) in steps {
        let expected = Diff { bridge, state, reports, ..Diff::default() };
        assert_eq!(seen.taken(&read(text)), expected, "{text}");
    }
}

#[test]
fn a_difference_is_one_line() {
    let peers = Peers { added: 1, removed: 0, updated: 2 };
    let all = Diff { peers, policy: true, bridge: true, state: true, reports: true };
    assert_eq!(all.to_string(), "peers+1-0~2 policy bridge state reports");
    assert_eq!(
        Diff { policy: true, reports: true, ..Diff::default() }.to_string(),
        "policy reports"
    );
    assert_eq!(Diff::default().to_string(), "none");
    assert!(Diff::default().is_none() && !all.is_none());
}

#[test]
fn a_state_of_reachability_is_told_when_it_changes_whatever_it_is_called() {
    let mut seen = Seen::default();
    let mut told = |text: Option<&str>| {
        let reached = seen.reached(text.map(raw).as_ref());
        reached.map(|reached| (reached.was, reached.is))
    };
    let named = |text: &str| Some(text.to_owned());
    assert_eq!(told(None), None);
    assert_eq!(told(Some(r#"{"state":"healthy"}"#)), Some((None, named("healthy"))));
    assert_eq!(told(Some(r#"{"state":"healthy","changed_at":"now"}"#)), None);
    assert_eq!(
        told(Some(r#"{"state":"of_the_future"}"#)),
        Some((named("healthy"), named("of_the_future")))
    );
    assert_eq!(told(Some("7")), Some((named("of_the_future"), None)));
    let long = format!(r#"{{"state":"{}"}}"#, "x".repeat(5_000));
    assert_eq!(told(Some(&long)), None, "it is not looked into");
}

/// A whole agent that pulls once a minute.
struct Puller(Bench, Vec<Effect>);

impl Puller {
    fn armed() -> Self {
        let (bench, effects) = Bench::armed(StagedFile::Missing);
        Self(bench, effects)
    }

    /// One pull with this answer; what the operator is told of it, beyond what is for debugging.
    fn pull(&mut self, body: &str) -> Vec<(Level, String)> {
        let (call, _) = sent_to(&self.1, "/state");
        let effects = self.0.answer(call, responded(200, body));
        self.0.pass(seconds(60));
        self.1 = self.0.give(Input::Ticked);
        let told = effects.into_iter().filter_map(|effect| {
            let Effect::Tell(notice) = effect else { return None };
            (notice.level != Level::Debug).then_some((notice.level, notice.text))
        });
        told.collect()
    }
}

const SOUND: &str = r#"{"peers":[{"node_id":"a","mesh_ip":"1"},{"node_id":"b","mesh_ip":"1"}],
    "policy":{"fingerprint":"f"},"state":{"metadata":[{"key":"m","value":"1"}],"data":[{"key":"d","value":"1"},
    {"key":"e","value":"1"}]},"executions":[],"sessions":[]}"#;

#[test]
fn each_pull_is_told_by_what_it_changed_and_one_that_changed_nothing_is_not() {
    let mut puller = Puller::armed();
    let told = puller.pull(SOUND);
    assert_eq!(told, [(Level::Info, "the pull changed: peers+2-0~0 policy state".into())]);
    assert_eq!(puller.pull(SOUND), []);
    let told =
        puller.pull(r#"{"peers":[{"node_id":"b","mesh_ip":"2"}],"executions":[],"sessions":[]}"#);
    assert_eq!(told, [(Level::Info, "the pull changed: peers+0-1~1 policy state".into())]);
}

#[test]
fn what_cannot_be_read_is_told_once_while_it_lasts_and_what_is_known_of_it_stays() {
    let mut puller = Puller::armed();
    puller.pull(SOUND);
    let broken = r#"{"peers":[{"node_id":"a","mesh_ip":7},{"node_id":"c"}],"policy":[],
        "state":{"metadata":7,"data":[{"key":"d","value":7},{"key":"e","value":"2"}]},"reports":7,"bridge":7,
        "executions":{},"sessions":7}"#;
    let told = puller.pull(broken);
    let warned: Vec<_> = told.iter().filter(|(level, _)| *level == Level::Warn).collect();
    assert_eq!(warned.len(), 8, "{told:#?}");
    for part in [
        r#"entry 0 ("a") of the pulled peers cannot be read and is passed over: mesh_ip"#,
        "the pulled policy cannot be read, what is known of it is kept",
        r#"entry 0 ("d") of the pulled state.data"#,
        "the pulled sessions cannot be read",
    ] {
        assert!(warned.iter().any(|(_, text)| text.contains(part)), "{part} in {told:#?}");
    }
    let summary = (Level::Info, "the pull changed: peers+1-1~0".to_owned());
    assert_eq!(told.last(), Some(&summary), "a stays, b went, c came");
    assert_eq!(puller.pull(broken), [], "told once");
    let view = puller.0.agent.view();
    assert_eq!(view.metadata["m"], "1");
    assert_eq!((view.data["d"].version, view.data["e"].version), (1, 2));
    assert_eq!(puller.pull(SOUND).len(), 1, "it is well in between");
    assert_eq!(puller.pull(broken).len(), 9, "and told again");
}

#[test]
fn many_entries_that_cannot_be_read_are_told_as_a_number_and_once() {
    let mut puller = Puller::armed();
    let many = |count: usize| {
        format!(r#"{{"executions":[{}],"sessions":[]}}"#, vec!["7"; count].join(","))
    };
    let told = puller.pull(&many(20));
    assert_eq!(told.len(), 9, "{told:#?}");
    assert_eq!(told[8].1, "12 more entries of the pull cannot be read");
    assert_eq!(puller.pull(&many(20)), []);
    let told = puller.pull(&many(10_000));
    assert_eq!(told.len(), 9, "{}", told.len());
    assert_eq!(puller.pull(&many(10_000)), []);
    assert_eq!(puller.pull(&many(10_001)), []);
}

#[test]
fn a_policy_without_a_fingerprint_is_told_once_and_counts_as_changed_each_time() {
    let mut puller = Puller::armed();
    let bare = r#"{"peers":[],"policy":{"rules":[]}}"#;
    let told = puller.pull(bare);
    assert!(
        told.iter().any(|(level, text)| *level == Level::Warn && text.contains("no fingerprint")),
        "{told:?}"
    );
    let changed = [(Level::Info, "the pull changed: policy".to_owned())];
    assert_eq!(puller.pull(bare), changed);
    assert_eq!(puller.pull(bare), changed);
}

#[test]
fn of_a_peer_that_stands_there_twice_the_last_one_counts() {
    let mut puller = Puller::armed();
    let twice =
        r#"{"peers":[{"node_id":"a","mesh_ip":"1"},{"node_id":"a","mesh_ip":"2"}],"sessions":[]}"#;
    assert_eq!(puller.pull(twice), [(Level::Info, "the pull changed: peers+1-0~0".into())]);
    let told = puller.pull(r#"{"peers":[{"node_id":"a","mesh_ip":"2"}],"sessions":[]}"#);
    assert_eq!(told, [], "it is what it was");
}
